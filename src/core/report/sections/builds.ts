// The build gate: the engines of base and head side by side, why an engine was not built, and how each was built.

import type { Arm, BuildRecord, Result } from "../../../../generated/result.ts";
import { buildTimesApart } from "../../build-faults.ts";
import { groupBy } from "../../group.ts";
import { cleanName } from "../../text/escape.ts";
import { buildLabel, counted, subjectName, type Tone } from "../../text/labels.ts";
import { formatBytes, formatDuration } from "../../text/units.ts";
import type { Detail } from "../budget.ts";
import { cleanMessage, dash } from "../comparison-format.ts";
import { excerptLines, type Highlight, type HighlightSeverity } from "../highlight.ts";
import {
	type Column,
	folded,
	html,
	logExcerpt,
	type Markup,
	type Piece,
	partLine,
	pill,
	section,
} from "../html/markup.ts";
import { engineKey, type GateIndex, gateKey } from "../index-gates.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";

const maxRows = 500;

interface BuildPair {
	part: string | undefined;
	model: string;
	engine: string;
	base: BuildRecord | null;
	head: BuildRecord | null;
}

/** The builds of each engine, base and head side by side, in the order of the result. */
export function buildPairs(result: Result): BuildPair[] {
	const pairs = new Map<string, BuildPair>();
	for (const build of result.builds) {
		const key = engineKey(build);
		const { model, engine, part } = build;
		const pair = pairs.get(key) ?? { model, engine, part, base: null, head: null };
		pairs.set(key, { ...pair, [build.arm]: build });
	}
	return [...pairs.values()];
}

export function engineSizeText(build: BuildRecord | null): string {
	return build?.engineBytes === undefined || build.state !== "built" ? "–" : formatBytes(build.engineBytes);
}

/** `2 precision, 1 plugin`; `none`. */
export function warningsText(build: BuildRecord | null): string {
	if (build === null || build.warnings.length === 0) return "none";
	const shown = build.warnings
		.slice(0, 4)
		.map((warning) => `${warning.count} ${cleanName(warning.class, 40)}`);
	return [...shown, ...(build.warnings.length > 4 ? ["…"] : [])].join(", ");
}
const stateTones: Readonly<Record<BuildRecord["state"], Tone>> = {
	built: "ok",
	refused: "bad",
	"timed-out": "bad",
	missing: "open",
	skipped: "bad",
};

function toneOf({ state, failure }: BuildRecord): Tone {
	return state === "missing" && failure !== undefined ? "bad" : stateTones[state];
}

/** A cached engine's time is that of the run that built it. */
function timeText(build: BuildRecord | null): string {
	if (build === null) return dash;
	if (build.sharedWithBase === true) return "same engine";
	return build.state === "built"
		? `${formatDuration(build.durationMs)}${build.fromCache === true ? " (cached)" : ""}`
		: buildLabel(build);
}

function timeCell(build: BuildRecord | null): Piece {
	const text = timeText(build);
	if (build === null || build.state === "built" || build.sharedWithBase === true) return text;
	return pill(text, build.arm === "head" ? toneOf(build) : "open");
}

/** A note on both builds appears once. */
function notesCell({ base, head }: BuildPair): Piece {
	const arms = new Map<string, string[]>();
	for (const build of [base, head]) {
		for (const note of build?.notes ?? []) arms.set(note, [...(arms.get(note) ?? []), build?.arm ?? ""]);
	}
	const notes = [...arms].map(
		([note, of]) => `${of.length > 1 ? "both" : of.join("")}: ${cleanName(note, 200)}`,
	);
	const apart = buildTimesApart({ base, head });
	return [...(apart === null ? [] : [apart]), ...notes.slice(0, 6)].map(
		(note) => html`<small>${note}</small>`,
	);
}

const timeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `build time ${arm}`,
	numeric: true,
	text: (pair) => timeText(pair[arm]),
	cell: (pair) => timeCell(pair[arm]),
	sortBy: (pair) => pair[arm]?.durationMs ?? null,
});
const sizeColumn = (arm: Arm): Column<BuildPair> => ({
	title: `size ${arm}`,
	numeric: true,
	text: (pair) => engineSizeText(pair[arm]),
	sortBy: (pair) => pair[arm]?.engineBytes ?? null,
});

const columns: readonly Column<BuildPair>[] = [
	{
		title: "Engine",
		heading: true,
		text: ({ model, engine, part }) => subjectName({ model, engine, part }),
		cell: ({ model, engine, part }) =>
			html`<b>${cleanName(model)}</b> <span>${cleanName(engine)}</span>${partLine(part)}`,
	},
	{
		title: "head",
		text: ({ head }) => (head === null ? dash : buildLabel(head)),
		cell: ({ head }) => (head === null ? dash : pill(buildLabel(head), toneOf(head))),
	},
	timeColumn("base"),
	timeColumn("head"),
	sizeColumn("base"),
	sizeColumn("head"),
	{
		title: "warnings",
		wraps: true,
		text: ({ head }) => warningsText(head),
		cell: (pair) => html`${warningsText(pair.head)}${notesCell(pair)}`,
	},
];

function recipes(result: Result): Piece {
	const builds = result.builds
		.filter((build) => build.recipe !== undefined && Object.keys(build.recipe).length > 0)
		.slice(0, 100);
	if (builds.length === 0) return null;
	const rows = builds.map((build) => {
		const recipe = Object.entries(build.recipe ?? {})
			.slice(0, 40)
			.map(([key, value]) => `${cleanName(key, 60)} = ${cleanName(value, 120)}`);
		return html`<p><b>${subjectName(build)}</b> <span class="mut">${build.arm}</span><br>${recipe.map((entry) => html`<code>${entry}</code> `)}</p>\n`;
	});
	return folded("How each engine was built", rows);
}

function refusal(build: BuildRecord): Markup {
	const { failure } = build;
	if (failure === undefined) return html``;
	const lines = excerptLines(failure.excerpt);
	const title = html`${subjectName(build)} <span class="mut">${build.arm}</span>: ${cleanMessage(failure.title, 300)}`;
	return folded(
		title,
		html`<p>${cleanMessage(failure.fix)}</p>${lines.length === 0 ? null : logExcerpt(lines)}`,
	);
}

/** A build that preflight forbade is explained by the preflight gate. */
function hasFailed(build: BuildRecord): boolean {
	const isUnusable = build.state === "missing" && build.failure !== undefined;
	return isUnusable || build.state === "refused" || build.state === "timed-out";
}

/** Builds of one engine that failed in the same way, one or both sides: each has one highlight. */
function sameFailures(builds: readonly BuildRecord[]): BuildRecord[][] {
	const groups = groupBy(builds.filter(hasFailed), (build) =>
		JSON.stringify([engineKey(build), build.state, build.failure?.title]),
	);
	return [...groups.values()];
}

function buildSeverity(builds: readonly BuildRecord[], gates: GateIndex): HighlightSeverity {
	const head = builds.find((build) => build.arm === "head");
	// A base that does not build is not the change's fault.
	if (head === undefined) return "note";
	const status = gates.status("build", head);
	return status === undefined || status === "pass" ? "fail" : status;
}

function wasBuilt(label: string): string {
	return label === "failed" || label === "timed out" ? label : `was ${label}`;
}

function buildHighlight(builds: readonly BuildRecord[], gates: GateIndex): Highlight[] {
	const build = builds.find(({ arm }) => arm === "head") ?? builds[0];
	if (build === undefined) return [];
	const { failure } = build;
	const label = buildLabel(build);
	const arms = builds.map(({ arm }) => arm).join(" and ");
	const excerpt = excerptLines(failure?.excerpt ?? []);
	const highlight: Highlight = {
		severity: buildSeverity(builds, gates),
		topic:
			label === "unusable" ? ["unusable model", "unusable models"] : [`build ${label}`, `builds ${label}`],
		title: `${subjectName(build)} ${label === "unusable" ? "was not built" : "does not build"} (${arms}): ${failure === undefined ? label : cleanMessage(failure.title, 300)}`,
		sentences: [
			...(label === "unusable"
				? []
				: [[`The build ${wasBuilt(label)} after ${formatDuration(build.durationMs)}.`]]),
			...(failure === undefined ? [] : [["Cause: ", { code: cleanMessage(failure.code, 80) }, "."]]),
			...(build.log === undefined ? [] : [["Full log: ", { code: cleanMessage(build.log, 200) }, "."]]),
		],
		fix: failure === undefined ? undefined : cleanMessage(failure.fix),
		...(excerpt.length === 0 ? {} : { excerpt }),
		explains: gateKey("build", build),
	};
	return [highlight];
}

interface Facts {
	result: Result;
	title: string;
	pairs: readonly BuildPair[];
}

function markdownBlock({ title, pairs }: Facts, { builtEngines, rows: most }: Detail): string {
	const rows = pairs.filter((pair) => builtEngines || pair.head?.state !== "built");
	if (rows.length === 0) return foldedMarkdown(title, "Times and sizes are in `report.html`.");
	return foldedTable(title, columns, { rows, most, noun: "engine" });
}

export const buildSection = defineSection({
	id: "builds",
	select: ({ result }) => {
		const pairs = buildPairs(result);
		const built = pairs.filter((pair) => pair.head?.state === "built").length;
		return pairs.length === 0
			? null
			: { result, title: `Build gate: ${built} of ${counted(pairs.length, "engine")} built`, pairs };
	},
	markdown: (facts, detail) => [markdownBlock(facts, detail)],
	html: ({ result, title, pairs }) => {
		const failed = result.builds.filter((build) => build.failure !== undefined).slice(0, 100);
		const table = htmlTable("build gate", columns, { rows: pairs, most: maxRows, noun: "engine" });
		return section(title, [table, failed.map(refusal), recipes(result)], "builds");
	},
	highlights: (result, gates) =>
		sameFailures(result.builds).flatMap((builds) => buildHighlight(builds, gates)),
});
