// The build gate: both arms' engines side by side, and the logs of those that were refused.

import { buildTimesApart } from "../../build-faults.ts";
import type { BuildRecord, Result } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { buildLabel, counted, subjectName, type Tone } from "../../text/labels.ts";
import { formatDuration } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { type BuildPair, buildPairs, engineSizeText, warningsText } from "../facts.ts";
import { excerptLines } from "../highlights-build.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { folded, logExcerpt, moreText, partLine, pill, section } from "./parts.ts";
import { type Column, sortableTable } from "./table.ts";

const mostRows = 500;

const stateTones: Readonly<Record<BuildRecord["state"], Tone>> = {
	built: "ok",
	refused: "bad",
	"timed-out": "bad",
	missing: "open",
	skipped: "bad",
};

function timeCell(build: BuildRecord | null): Piece {
	if (build === null) return "–";
	return build.state === "built"
		? html`${formatDuration(build.durationMs)}${build.fromCache === true ? html`<small>from the cache, then</small>` : null}`
		: pill(buildLabel(build), build.arm === "head" ? stateTones[build.state] : "open");
}

/** What is true of both builds is said once. */
function notesCell({ base, head }: BuildPair): Piece {
	const arms = new Map<string, string[]>();
	for (const build of [base, head]) {
		for (const note of build?.notes ?? []) arms.set(note, [...(arms.get(note) ?? []), build?.arm ?? ""]);
	}
	const notes = [...arms].map(([note, of]) => `${of.length > 1 ? "both" : of.join("")}: ${cleanName(note, 200)}`);
	const apart = buildTimesApart({ base, head });
	return [...(apart === null ? [] : [apart]), ...notes.slice(0, 6)].map((note) => html`<small>${note}</small>`);
}

const columns: readonly Column<BuildPair>[] = [
	{
		title: "Engine",
		heading: true,
		cell: ({ model, engine, part }) => html`<b>${cleanName(model)}</b> <span>${cleanName(engine)}</span>${partLine(part)}`,
	},
	{ title: "head", cell: ({ head }) => (head === null ? "–" : pill(buildLabel(head), stateTones[head.state])) },
	{ title: "build base", numeric: true, cell: ({ base }) => timeCell(base), sortBy: ({ base }) => base?.durationMs ?? null },
	{ title: "build head", numeric: true, cell: ({ head }) => timeCell(head), sortBy: ({ head }) => head?.durationMs ?? null },
	{ title: "engine base", numeric: true, cell: ({ base }) => engineSizeText(base), sortBy: ({ base }) => base?.engineBytes ?? null },
	{ title: "engine head", numeric: true, cell: ({ head }) => engineSizeText(head), sortBy: ({ head }) => head?.engineBytes ?? null },
	{ title: "warnings, notes", wraps: true, cell: (pair) => html`${warningsText(pair.head)}${notesCell(pair)}` },
];

function recipes(result: Result): Piece {
	const told = result.builds.filter((build) => build.recipe !== undefined && Object.keys(build.recipe).length > 0).slice(0, 100);
	if (told.length === 0) return null;
	const rows = told.map((build) => {
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
	return folded(title, html`<p>${cleanMessage(failure.fix)}</p>${lines.length === 0 ? null : logExcerpt(lines)}`);
}

export function buildSection(result: Result): Piece {
	const pairs = buildPairs(result);
	if (pairs.length === 0) return null;
	const built = pairs.filter((pair) => pair.head?.state === "built").length;
	const failed = result.builds.filter((build) => build.failure !== undefined).slice(0, 100);
	const body = [
		sortableTable("build gate", columns, pairs.slice(0, mostRows)),
		moreText(pairs.length - mostRows, "engines"),
		failed.map(refusal),
		recipes(result),
	];
	return section(`Build gate: ${built} of ${counted(pairs.length, "engine")} built`, body, "builds");
}
