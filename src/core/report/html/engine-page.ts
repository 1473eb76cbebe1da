// Pages of their own for comparisons of engines, and for one engine; nothing is loaded, and they can be sent by themselves.
import { factsOfGroups, type TitledEngine } from "../engine-alone.ts";
import { summaryText, type TitledDiff } from "../engine-report.ts";
import { enginePart } from "./engine.ts";
import { type Column, coded, html, moreText, type Piece, section, sortableTable } from "./markup.ts";
import { renderPage } from "./report.ts";

export function renderEnginePage(diffs: readonly TitledDiff[]): string {
	return page(
		"engines compared",
		diffs.map(({ title, diff }) => ({ title, body: enginePart(diff, title) })),
	);
}

export function renderEngineAlonePage(engines: readonly TitledEngine[]): string {
	return page(
		"where the time goes",
		engines.map((engine) => ({ title: engine.title, body: alonePart(engine) })),
	);
}

const mostRows = 1000;

function alonePart({ title, alone }: TitledEngine): Piece {
	const { unit, rows } = factsOfGroups(alone);
	const longestMs = alone.groups.reduce((most, { part }) => Math.max(most, part.meanMs ?? 0), 0);
	const timed = rows.map((row, at) => ({ ...row, ms: alone.groups[at]?.part.meanMs ?? null }));
	const columns: Column<(typeof timed)[number]>[] = [
		{ title: "ONNX nodes", heading: true, cell: ({ name }) => coded(name) },
		{
			title: `time, ${unit}`,
			numeric: true,
			cell: ({ time }) => html`<b>${time || "–"}</b>`,
			sortBy: ({ ms }) => ms,
		},
		{ title: "share", numeric: true, cell: ({ share }) => share || "–", sortBy: ({ ms }) => ms },
		{
			title: "",
			cell: ({ ms }) =>
				html`<svg class="gold" viewBox="0 0 170 12" aria-hidden="true"><rect class="own" width="${longestMs > 0 ? Math.round((170 * (ms ?? 0)) / longestMs) : 0}" height="12" rx="2"/></svg>`,
			sortBy: ({ ms }) => ms,
		},
		{ title: "precision", cell: ({ precision }) => precision || "–" },
		{ title: "bytes, operations, limit", wraps: true, cell: ({ work }) => work.join(" · ") },
	];
	return [
		html`<p>${summaryText(alone.summary)}.</p>`,
		alone.warnings.map((warning) => html`<p class="notice">${coded(warning)}</p>`),
		sortableTable(`groups of ONNX nodes of ${title}`, columns, timed.slice(0, mostRows)),
		moreText(timed.length - mostRows, "groups"),
	];
}

function page(about: string, parts: readonly { title: string; body: Piece }[]): string {
	const sections = parts.map(({ title, body }, at) => section(title, body, `engine-${at + 1}`));
	return renderPage(
		`trtgate: ${about}`,
		html`<main>
${sections}</main>
`,
	);
}
