// The build gate: the engines of base and head side by side, why an engine was not built, and how each was built.
import type { Arm, BuildRecord, Result } from "../../../../generated/result.ts";
import { buildTimesApart } from "../../build-faults.ts";
import { groupBy } from "../../group.ts";
import { cleanName } from "../../text/escape.ts";
import { buildLabel, counted, subjectName, type Tone } from "../../text/labels.ts";
import { formatBytes, formatDuration } from "../../text/units.ts";
import { cleanMessage, codeSentences, dash } from "../comparison-format.ts";
import { excerptLines, type Highlight, type HighlightSeverity } from "../highlight.ts";
import { type Column, folded, html, logExcerpt, nameOf, type Piece } from "../html/markup.ts";
import { engineKey, type GateIndex, gateKey } from "../index-gates.ts";
import { type Block, type ReportSection, table } from "../section.ts";

type BuildPair = Pick<BuildRecord, "part" | "model" | "engine"> & Record<Arm, BuildRecord | null>;

/** The builds of each engine, base and head side by side, in the order of the result. */
function buildPairs(result: Result): BuildPair[] {
	const pairs = new Map<string, BuildPair>();
	for (const build of result.builds) {
		const key = engineKey(build);
		const { model, engine, part } = build;
		const pair = pairs.get(key) ?? { model, engine, part, base: null, head: null };
		pairs.set(key, { ...pair, [build.arm]: build });
	}
	return [...pairs.values()];
}

/** `2 precision, 1 plugin`; `none`. */
function warningsText({ head }: BuildPair): string {
	const warnings = head?.warnings ?? [];
	if (warnings.length === 0) return "none";
	const shown = warnings.slice(0, 4).map((warning) => `${warning.count} ${cleanName(warning.class, 40)}`);
	return [...shown, ...(warnings.length > 4 ? ["…"] : [])].join(", ");
}

function toneOf({ arm, state, failure }: BuildRecord): Tone {
	if (state === "built") return "ok";
	return arm === "base" || (state === "missing" && failure === undefined) ? "open" : "bad";
}

/** A cached engine's time is that of the run that built it. */
function timeText(build: BuildRecord | null): string {
	if (build === null) return dash;
	if (build.sharedWithBase === true) return "same engine";
	if (build.state !== "built") return buildLabel(build);
	return `${formatDuration(build.durationMs)}${build.fromCache === true ? " (cached)" : ""}`;
}

/** A note on both builds appears once. */
function notesOf({ base, head }: BuildPair): string[] {
	const arms = new Map<string, string[]>();
	for (const build of [base, head])
		for (const note of build?.notes ?? []) arms.set(note, [...(arms.get(note) ?? []), build?.arm ?? ""]);
	const notes = [...arms].map(
		([note, of]) => `${of.length > 1 ? "both" : of.join("")}: ${cleanName(note, 200)}`,
	);
	return [buildTimesApart({ base, head }) ?? [], notes.slice(0, 6)].flat();
}

const timeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `build time ${arm}`,
	numeric: true,
	text: (pair) => timeText(pair[arm]),
	tone: ({ [arm]: build }) =>
		build === null || build.state === "built" || build.sharedWithBase === true ? null : toneOf(build),
	sortBy: (pair) => pair[arm]?.durationMs ?? null,
});

const sizeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `size ${arm}`,
	numeric: true,
	text: ({ [arm]: build }) =>
		build?.engineBytes === undefined || build.state !== "built" ? dash : formatBytes(build.engineBytes),
	sortBy: (pair) => pair[arm]?.engineBytes ?? null,
});

const columns: readonly Column<BuildPair>[] = [
	{
		title: "Engine",
		heading: true,
		text: ({ model, engine, part }) => subjectName({ model, engine, part }),
		cell: ({ model, engine, part }) => nameOf(model, [engine], part),
	},
	{
		title: "head",
		text: ({ head }) => (head === null ? dash : buildLabel(head)),
		tone: ({ head }) => head && toneOf(head),
	},
	timeColumn("base"),
	timeColumn("head"),
	sizeColumn("base"),
	sizeColumn("head"),
	{
		title: "warnings",
		wraps: true,
		text: warningsText,
		cell: (pair) => [warningsText(pair), notesOf(pair).map((note) => html`<small>${note}</small>`)],
	},
];

function recipes(result: Result): Block[] {
	const builds = result.builds.filter(({ recipe = {} }) => Object.keys(recipe).length > 0).slice(0, 100);
	if (builds.length === 0) return [];
	const drawn = builds.map((build) => {
		const recipe = Object.entries(build.recipe ?? {})
			.slice(0, 40)
			.map(([key, value]) => html`<code>${cleanName(key, 60)} = ${cleanName(value, 120)}</code> `);
		return html`<p><b>${subjectName(build)}</b> <span class="mut">${build.arm}</span><br>${recipe}</p>\n`;
	});
	return [{ kind: "details", title: "How each engine was built", blocks: [{ kind: "figure", drawn }] }];
}

function refusal(build: BuildRecord): Piece {
	const { failure } = build;
	if (failure === undefined) return null;
	const lines = excerptLines(failure.excerpt);
	return folded(
		html`${subjectName(build)} <span class="mut">${build.arm}</span>: ${cleanMessage(failure.title, 300)}`,
		html`<p>${cleanMessage(failure.fix)}</p>${lines.length === 0 ? null : logExcerpt(lines)}`,
	);
}

/** A build that preflight forbade is explained by the preflight gate. */
function hasFailed({ state, failure }: BuildRecord): boolean {
	return (state === "missing" && failure !== undefined) || state === "refused" || state === "timed-out";
}

/** A base that does not build is not the change's fault. */
function buildSeverity(head: BuildRecord | undefined, gates: GateIndex): HighlightSeverity {
	if (head === undefined) return "note";
	const status = gates.status("build", head);
	return status === undefined || status === "pass" ? "fail" : status;
}

/** Of builds of one engine that failed in the same way. */
function buildHighlight(builds: readonly BuildRecord[], gates: GateIndex): Highlight[] {
	const head = builds.find(({ arm }) => arm === "head");
	const build = head ?? builds[0];
	if (build === undefined) return [];
	const { failure, log } = build;
	const label = buildLabel(build);
	const isUnusable = label === "unusable";
	const was = label === "failed" || label === "timed out" ? label : `was ${label}`;
	const arms = builds.map(({ arm }) => arm).join(" and ");
	const why = failure === undefined ? label : cleanMessage(failure.title, 300);
	return [
		{
			severity: buildSeverity(head, gates),
			topic: isUnusable ? ["unusable model", "unusable models"] : [`build ${label}`, `builds ${label}`],
			title: `${subjectName(build)} ${isUnusable ? "was not built" : "does not build"} (${arms}): ${why}`,
			sentences: [
				...(isUnusable ? [] : [`The build ${was} after ${formatDuration(build.durationMs)}.`]),
				...codeSentences("Cause", failure?.code),
				...codeSentences("Full log", log),
			],
			fix: failure && cleanMessage(failure.fix),
			excerpt: failure && excerptLines(failure.excerpt),
			explains: gateKey("build", build),
		},
	];
}

export const buildSection: ReportSection = {
	id: "builds",
	formats: ["markdown", "html"],
	show({ result }, { format, detail }) {
		const pairs = buildPairs(result);
		if (pairs.length === 0) return null;
		const built = pairs.filter(({ head }) => head?.state === "built").length;
		const shown = pairs.filter(({ head }) => detail.builtEngines || head?.state !== "built");
		const failed = result.builds.filter(({ failure }) => failure !== undefined).slice(0, 100);
		return {
			title: `Build gate: ${built} of ${counted(pairs.length, "engine")} built`,
			blocks: [
				shown.length === 0
					? { kind: "sentence", text: "Times and sizes are in `report.html`." }
					: table("build gate", columns, shown, { noun: "engine" }),
				...(format === "html"
					? ([{ kind: "figure", drawn: failed.map(refusal) }, ...recipes(result)] as const)
					: []),
			],
		};
	},
	highlights(result, gates) {
		const groups = groupBy(result.builds.filter(hasFailed), (build) =>
			JSON.stringify([engineKey(build), build.state, build.failure?.title]),
		);
		return [...groups.values()].flatMap((builds) => buildHighlight(builds, gates));
	},
};
