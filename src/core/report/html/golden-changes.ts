// The section of goldens that are not the same in base and head: what moved, by how much, which limits, who says why.
import type { GoldenChange, MovedOutput, Result, ToleranceChange } from "../../schema/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { movedText, revisionText, whyText } from "../highlights-golden-change.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import { moreText, pill, section } from "./parts.ts";
import { type Column, sortableTable } from "./table.ts";

const mostChanges = 100;
const mostRows = 100;

const movedColumns: readonly Column<MovedOutput>[] = [
	{
		title: "Output",
		heading: true,
		cell: ({ output, case: name }) => html`<b>${cleanName(output, 60)}</b><small>${cleanName(name, 60)}</small>`,
	},
	{ title: "moved by", wraps: true, cell: movedText, sortBy: ({ relativeL2 }) => (typeof relativeL2 === "number" ? relativeL2 : 1e300) },
];

const limitText = (value: ToleranceChange["base"]): string =>
	typeof value === "number" ? formatValue(value) : cleanName(value ?? "default", 40);

const limitColumns: readonly Column<ToleranceChange>[] = [
	{ title: "Limit", heading: true, cell: ({ output, kind }) => html`<b>${cleanName(output, 60)}</b><small>${cleanName(kind, 40)}</small>` },
	{ title: "of", wraps: true, cell: ({ what }) => cleanName(what, 80) },
	{ title: "base", numeric: true, cell: ({ base }) => limitText(base) },
	{ title: "head", numeric: true, cell: ({ head }) => limitText(head) },
	{ title: "", cell: ({ looser }) => (looser ? pill("looser", "bad") : pill("tighter or new", "plain")) },
];

function changePart(change: GoldenChange): Markup {
	const { moved, movedTotal, tolerances, weakened, notes } = change;
	return html`<h3>${cleanName(change.model)} <small>${cleanName(change.path, 120)} · ${revisionText(change)}</small> ${pill("needs review", weakened.length > 0 ? "bad" : "warn")}</h3>
${weakened.length === 0 ? null : html`<ul>${weakened.slice(0, mostRows).map((text) => html`<li>${pill("weaker", "bad")} ${cleanMessage(text, 400)}</li>`)}</ul>\n`}<p>${whyText(change)}</p>
${notes.map((text) => html`<p>${cleanMessage(text, 400)}</p>\n`)}${moved.length === 0 ? null : sortableTable("outputs that moved", movedColumns, moved.slice(0, mostRows))}${moreText(movedTotal - Math.min(mostRows, moved.length), "outputs")}${tolerances.length === 0 ? null : sortableTable("limits that changed", limitColumns, tolerances.slice(0, mostRows))}${moreText(tolerances.length - mostRows, "limits")}`;
}

export function goldenChangeSection(result: Result): Piece {
	const changes = result.goldenChanges ?? [];
	if (changes.length === 0) return null;
	const body = changes.slice(0, mostChanges).map(changePart);
	return section(
		`${counted(changes.length, "golden")} changed`,
		[body, moreText(changes.length - mostChanges, "goldens")],
		"golden-changes",
	);
}
