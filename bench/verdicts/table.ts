// The truth table: which cells there are, and how they read as Markdown and as a picture.
import type { Random } from "../run-model.ts";
import { type Rule, rules } from "./rules.ts";
import { type Cell, score } from "./score.ts";
import { faults, recorded, simulated, type World } from "./worlds.ts";

export interface Column {
	title: string;
	world: World;
	effect: number;
}

export interface Group {
	title: string;
	about: string;
	/** What is right: never (false alarms), or always (found). */
	right: "never" | "always";
	columns: readonly Column[];
}

const percent = (share: number): string => `${+(share * 100).toFixed(2)} %`;
const effects = [0.005, 0.01, 0.02, 0.03, 0.05, 0.1] as const;
const power = (runCv: number): Group => ({
	title: `Slowdowns detected at run noise ${percent(runCv)}`,
	about: "Share of jobs in which a head that is slower by this much is reported as slower, %.",
	right: "always",
	columns: effects.map((effect) => ({ title: `+${percent(effect)}`, world: simulated(runCv), effect })),
});
const faulty = (effect: number): Column[] =>
	Object.entries(faults).map(([title, fault]: [string, (random: Random) => (order: number) => number]) => ({
		...{ title, effect },
		world: simulated(0.002, title, fault),
	}));

export const groups: readonly Group[] = [
	{
		title: "False alarms on the noise model",
		about:
			"Share of jobs without a change in which the head is reported as slower, %, by run noise (coefficient of variation between processes).",
		right: "never",
		columns: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03].map((runCv) => ({
			title: percent(runCv),
			world: simulated(runCv),
			effect: 0,
		})),
	},
	{
		title: "False alarms on recorded runs, builds and machines",
		about:
			"The same, drawn from measurements on an H200 and an H100: runs of one build, rebuilds of one model with and without a shared timing cache, one plan file on three machines, and two plan files on three machines (a detector with and without four more convolutions, its difference of +5.33, +5.36 and +5.12 % removed).",
		right: "never",
		columns: recorded.map((world) => ({ title: world.name, world, effect: 0 })),
	},
	{
		title: "False alarms under faults",
		about: "The same at run noise 0.2 %, with the same fault on both sides.",
		right: "never",
		columns: faulty(0),
	},
	power(0.002),
	power(0.01),
	{
		title: "Slowdowns of 3 % detected on recordings",
		about:
			"Share of jobs in which a head that is slower by 3 % is reported as slower, %. Across the three machines, stored milliseconds differ by more.",
		right: "always",
		columns: recorded.map((world) => ({ title: world.name, world, effect: 0.03 })),
	},
	{
		title: "Slowdowns of 3 % detected under faults",
		about: "Share of jobs in which a head that is slower by 3 % is reported as slower, %.",
		right: "always",
		columns: faulty(0.03),
	},
];

export type Scores = ReadonlyMap<Rule, readonly (readonly Cell[])[]>;

/** @param part of the replicates. */
export function scoreAll(part: number, onRule: (rule: Rule) => void): Scores {
	return new Map(
		rules.map((rule) => {
			onRule(rule);
			return [rule, groups.map(({ columns }) => columns.map((column) => scoreCell(rule, column, part)))];
		}),
	);
}

/** Ours are rare, and need more jobs to be seen. */
export function scoreCell(rule: Rule, { world, effect }: Column, part: number): Cell {
	const replicates = Math.ceil(part * (rule.name.startsWith("trtgate") ? 1000 : 400));
	return score(rule, { world, effect, replicates });
}

export const cellText = ({ slower }: Cell): string => (100 * slower).toFixed(1);

function line(cells: readonly string[]): string {
	return `| ${cells.join(" | ")} |`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "--:"))), ...rows.map(line)].join(
		"\n",
	);
}

/** Mean over all cells: power costs what false alarms cost. */
function costRow(rule: Rule, cells: readonly Cell[]): string[] {
	const mean = (of: (cell: Cell) => number): string =>
		(cells.reduce((sum, cell) => sum + of(cell), 0) / cells.length).toFixed(1);
	return [rule.name, mean(({ processes }) => processes), mean(({ gpuSeconds }) => gpuSeconds), rule.source];
}

export function renderMarkdown(scores: Scores): string {
	const parts = groups.map(({ title, about, columns }, group) => {
		const rows = [...scores].map(([{ name }, cells]) => [name, ...(cells[group] ?? []).map(cellText)]);
		return `## ${title}\n\n${about}\n\n${table(["rule", ...columns.map((column) => column.title)], rows)}`;
	});
	const costs = [...scores].map(([rule, cells]) => costRow(rule, cells.flat()));
	const cost = table(["rule", "processes", "GPU-seconds", "source"], costs);
	return `${parts.join("\n\n")}\n\n## What a verdict costs\n\nMeans over all cells above. A run of trtgate takes 1.4 s including its start, its two pilots 1.6 s each; a default run of trtexec 3.8 s. Not counted: builds (for the recorded networks, three each of base and head without a shared timing cache took 300 s, one each with it 57 s) and the earlier nights of rules that use stored history.\n\n${cost}\n`;
}

const size = { cell: 46, row: 24, left: 232, gap: 18, head: 250 } as const;

/** From white to red for false alarms, to green for detected changes. */
function shade(share: number, right: Group["right"]): string {
	const [r, g, b] = right === "never" ? [197, 48, 48] : [39, 122, 74];
	const strength = right === "never" ? Math.min(1, share * 2) : share;
	const mix = (channel: number): number => Math.round(255 + (channel - 255) * strength * 0.85);
	return `rgb(${mix(r)},${mix(g)},${mix(b)})`;
}

const text = (value: string, at: string, more = ""): string =>
	`<text ${at} ${more}>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;

/** The rows of a group's table in the page: rule, then cells. */
function rowsOf(page: string, title: string): string[][] {
	const [, body = ""] = page.split(`\n## ${title}\n`);
	const lines = body.split("\n## ", 1)[0]?.split("\n") ?? [];
	return lines
		.filter((one) => one.startsWith("| "))
		.slice(2)
		.map((one) => one.slice(2, -2).split(" | "));
}

/** Groups of one kind side by side, below `top`. */
function band(page: string, right: Group["right"], top: number): { marks: string[]; width: number } {
	let x = size.left;
	const marks: string[] = [];
	for (const { title, columns } of groups.filter((group) => group.right === right)) {
		marks.push(
			text(
				title.replace(/^False alarms on recorded.*/, "False alarms on recordings"),
				`x="${x}" y="${top + 16}"`,
				'font-weight="600"',
			),
		);
		for (const [index, column] of columns.entries())
			marks.push(
				text(
					column.title,
					`transform="translate(${x + index * size.cell + size.cell / 2 + 4} ${top + size.head - 8}) rotate(-60)"`,
				),
			);
		for (const [row, [name = "", ...cells]] of rowsOf(page, title).entries()) {
			const y = top + size.head + row * size.row;
			if (x === size.left)
				marks.push(text(name, `x="8" y="${y + 15}"`, name.startsWith("trtgate") ? 'font-weight="600"' : ""));
			for (const [index, cell] of cells.entries()) {
				const share = Number(cell) / 100;
				const at = x + index * size.cell;
				const isDark = (right === "never" ? 2 * share : share) > 0.6;
				marks.push(
					`<rect x="${at}" y="${y}" width="${size.cell - 2}" height="${size.row - 2}" fill="${shade(share, right)}"/>`,
				);
				marks.push(
					text(
						cell,
						`x="${at + size.cell / 2 - 1}" y="${y + 15}" text-anchor="middle"`,
						isDark ? 'fill="#fff"' : "",
					),
				);
			}
		}
		x += columns.length * size.cell + size.gap;
	}
	return { marks, width: x };
}

/** A grid of the page's tables: rules down, conditions across; red is a false alarm, green a change that was found. */
export function renderPicture(page: string): string {
	const tall = size.head + rules.length * size.row + 24;
	const bands = [band(page, "never", 0), band(page, "always", tall)];
	const width = Math.max(...bands.map((one) => one.width)) + 110;
	const marks = bands.flatMap((one) => one.marks).join("");
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${2 * tall}" width="${width}" height="${2 * tall}" font-family="system-ui,sans-serif" font-size="12" fill="#1f2328"><title>False alarms (red) and changes found (green) of each rule, %</title><rect width="${width}" height="${2 * tall}" fill="#fff"/>${marks}</svg>\n`;
}
