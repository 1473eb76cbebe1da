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
	title: `Found at run noise ${percent(runCv)}`,
	about: "Share of jobs in which a head that is slower by so much is called slower, %.",
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
			"Share of jobs without a change in which the head is called slower, %, by run noise (coefficient of variation between processes).",
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
			"The same, drawn from what an H200 and an H100 measured: runs of one build, rebuilds of one model with and without a shared timing cache, one plan file on three machines.",
		right: "never",
		columns: recorded.map((world) => ({ title: world.name, world, effect: 0 })),
	},
	{
		title: "False alarms under faults",
		about: "The same at run noise 0.2 %, with something wrong in both arms alike.",
		right: "never",
		columns: faulty(0),
	},
	power(0.002),
	power(0.01),
	{
		title: "Found on recordings, +3 %",
		about: "Share of jobs with a head slower by 3 % that is called slower, %. Between three machines stored milliseconds differ by more.",
		right: "always",
		columns: recorded.map((world) => ({ title: world.name, world, effect: 0.03 })),
	},
	{
		title: "Found under faults, +3 %",
		about: "Share of jobs with a head slower by 3 % that is called slower, %.",
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
	return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "--:"))), ...rows.map(line)].join("\n");
}

/** Mean over all cells: power costs what false alarms cost. */
function costRow(rule: Rule, cells: readonly Cell[]): string[] {
	const mean = (of: (cell: Cell) => number): string => (cells.reduce((sum, cell) => sum + of(cell), 0) / cells.length).toFixed(1);
	return [rule.name, mean(({ processes }) => processes), mean(({ gpuSeconds }) => gpuSeconds), rule.source];
}

export function renderMarkdown(scores: Scores): string {
	const parts = groups.map(({ title, about, columns }, group) => {
		const rows = [...scores].map(([{ name }, cells]) => [name, ...(cells[group] ?? []).map(cellText)]);
		return `## ${title}\n\n${about}\n\n${table(["rule", ...columns.map((column) => column.title)], rows)}`;
	});
	const costs = [...scores].map(([rule, cells]) => costRow(rule, cells.flat()));
	const cost = table(["rule", "processes", "GPU-seconds", "where it is written down"], costs);
	return `${parts.join("\n\n")}\n\n## What a verdict costs\n\nMeans over all cells above. A run of trtgate takes 1.4 s with its start, its two pilots 1.6 s each; a default run of trtexec 3.8 s. Builds are not counted: three builds of each arm without a shared timing cache took 300 s for the recorded nets, two with one 57 s. Earlier nights of rules on stored history are not counted either.\n\n${cost}\n`;
}

const size = { cell: 46, row: 24, left: 232, gap: 14, top: 190 } as const;

/** From white to the colour of what is wrong, or of what is right. */
function shade(share: number, right: Group["right"]): string {
	const [r, g, b] = right === "never" ? [197, 48, 48] : [39, 122, 74];
	const strength = right === "never" ? Math.min(1, share * 2) : share;
	const mix = (channel: number): number => Math.round(255 + (channel - 255) * strength * 0.85);
	return `rgb(${mix(r)},${mix(g)},${mix(b)})`;
}

/** A grid: rules down, cells across; red is a false alarm, green a change that was found. */
export function renderPicture(scores: Scores): string {
	let x = size.left;
	const marks: string[] = [];
	const rows = [...scores];
	const text = (value: string, at: string, more = ""): string =>
		`<text ${at} ${more}>${value.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</text>`;
	for (const [group, { title, right, columns }] of groups.entries()) {
		marks.push(
			text(
				title.replace(/ on (recorded.*|the noise model)/, (_, what) => (what.startsWith("rec") ? " on recordings" : ", noise model")),
				`x="${x}" y="16"`,
				'font-weight="600"',
			),
		);
		for (const [index, column] of columns.entries()) {
			marks.push(text(column.title, `transform="translate(${x + size.cell / 2 + 4} ${size.top - 8}) rotate(-55)"`));
			for (const [row, [, cells]] of rows.entries()) {
				const cell = cells[group]?.[index];
				if (cell === undefined) continue;
				const y = size.top + row * size.row;
				const dark = (right === "never" ? 2 * cell.slower : cell.slower) > 0.6;
				marks.push(`<rect x="${x}" y="${y}" width="${size.cell - 2}" height="${size.row - 2}" fill="${shade(cell.slower, right)}"/>`);
				marks.push(text(cellText(cell), `x="${x + size.cell / 2 - 1}" y="${y + 15}" text-anchor="middle"`, dark ? 'fill="#fff"' : ""));
			}
			x += size.cell;
		}
		x += size.gap;
	}
	const names = rows.map(([{ name }], row) =>
		text(name, `x="8" y="${size.top + row * size.row + 15}"`, name.startsWith("trtgate") ? 'font-weight="600"' : ""),
	);
	const height = size.top + rows.length * size.row + 10;
	const width = x + 90;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui,sans-serif" font-size="12" fill="#1f2328"><title>False alarms (red) and changes found (green) of each rule, %</title><rect width="${width}" height="${height}" fill="#fff"/>${[...names, ...marks].join("")}</svg>\n`;
}
