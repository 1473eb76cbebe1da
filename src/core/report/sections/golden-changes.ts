// Goldens that are not the same in base and head: what moved, by how much, which limits changed, and the stated reason.
import type { GoldenChange, MovedOutput, Result, ToleranceChange } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { formatValue } from "../../text/units.ts";
import { cleanMessage } from "../comparison-format.ts";
import { movedText } from "../golden-format.ts";
import type { Highlight, Phrase } from "../highlight.ts";
import { type Column, html, type Markup, moreText, pill, section, sortableTable } from "../html/markup.ts";
import { type GateIndex, gateKey } from "../index-gates.ts";
import { defineSection } from "../section.ts";

const maxChanged = 6;
const maxChanges = 100;
const maxRows = 100;

const movedColumns: readonly Column<MovedOutput>[] = [
	{
		title: "Output",
		heading: true,
		cell: ({ output, case: name }) =>
			html`<b>${cleanName(output, 60)}</b><small>${cleanName(name, 60)}</small>`,
	},
	{
		title: "moved by",
		wraps: true,
		cell: movedText,
		sortBy: ({ relativeL2 }) => (typeof relativeL2 === "number" ? relativeL2 : 1e300),
	},
];

const limitText = (value: ToleranceChange["base"]): string =>
	typeof value === "number" ? formatValue(value) : cleanName(value ?? "default", 40);

const limitColumns: readonly Column<ToleranceChange>[] = [
	{
		title: "Limit",
		heading: true,
		cell: ({ output, kind }) => html`<b>${cleanName(output, 60)}</b><small>${cleanName(kind, 40)}</small>`,
	},
	{ title: "of", wraps: true, cell: ({ what }) => cleanName(what, 80) },
	{ title: "base", numeric: true, cell: ({ base }) => limitText(base) },
	{ title: "head", numeric: true, cell: ({ head }) => limitText(head) },
	{ title: "", cell: ({ looser }) => (looser ? pill("looser", "bad") : pill("tighter or new", "plain")) },
];

function changePart(change: GoldenChange): Markup {
	const { moved, movedTotal, tolerances, weakened, notes } = change;
	return html`<h3>${cleanName(change.model)} <small>${cleanName(change.path, 120)} · ${revisionText(change)}</small> ${pill("needs review", weakened.length > 0 ? "bad" : "warn")}</h3>
${weakened.length === 0 ? null : html`<ul>${weakened.slice(0, maxRows).map((text) => html`<li>${pill("weaker", "bad")} ${cleanMessage(text, 400)}</li>`)}</ul>\n`}<p>${whyText(change)}</p>
${notes.map((text) => html`<p>${cleanMessage(text, 400)}</p>\n`)}${moved.length === 0 ? null : sortableTable("outputs that moved", movedColumns, moved.slice(0, maxRows))}${moreText(movedTotal - Math.min(maxRows, moved.length), "outputs")}${tolerances.length === 0 ? null : sortableTable("limits that changed", limitColumns, tolerances.slice(0, maxRows))}${moreText(tolerances.length - maxRows, "limits")}`;
}

function whyText({ reason, author }: GoldenChange): string {
	const who = author === undefined ? "The author" : cleanName(author, 80);
	return reason === undefined ? "No reason was given." : `${who} wrote: “${cleanMessage(reason, 300)}”`;
}

function revisionText({ base, head }: GoldenChange): string {
	const [from, to] = [cleanName(base ?? "none", 60), cleanName(head ?? "removed", 60)];
	return from === to ? from : `${from} → ${to}`;
}

function sentencesOf(change: GoldenChange): Phrase[] {
	const { weakened, moved, movedTotal, notes, tolerances } = change;
	const [first] = moved;
	const tighter = tolerances.filter(({ looser }) => !looser).length;
	return [
		...weakened.slice(0, maxChanged).map((text): Phrase => [`WEAKER: ${cleanMessage(text, 300)}`]),
		...(weakened.length > maxChanged
			? [[`${counted(weakened.length - maxChanged, "more item")} became weaker.`]]
			: []),
		...(first === undefined
			? []
			: [
					[
						`${counted(movedTotal, "output")} moved, furthest `,
						{ code: cleanName(first.output) },
						" of case ",
						{ code: cleanName(first.case, 60) },
						`: ${movedText(first)}.`,
					],
				]),
		...(tighter === 0 ? [] : [[`${counted(tighter, "limit")} became tighter or is new.`]]),
		...notes.slice(0, 4).map((text): Phrase => [cleanMessage(text, 300)]),
		...(change.reason === undefined ? [] : [[whyText(change)]]),
	];
}

function changeHighlight(change: GoldenChange, gates: GateIndex): Highlight {
	const weaker = change.weakened.length > 0;
	return {
		severity: gates.status("golden-change", { model: change.model }) === "fail" ? "fail" : "warn",
		topic: weaker ? ["weakened golden", "weakened goldens"] : ["changed golden", "changed goldens"],
		title: `${cleanName(change.model)}: the golden changed and needs review${weaker ? ": it is WEAKER" : ""} (${revisionText(change)})`,
		sentences: sentencesOf(change),
		fix: "Approve it only if the old golden was wrong or the new one is intended.",
	};
}

function changeHighlights(result: Result, gates: GateIndex): Highlight[] {
	const changes = (result.goldenChanges ?? []).filter(
		({ model }) => gates.status("golden-change", { model }) !== undefined,
	);
	return changes.map((change) => ({
		...changeHighlight(change, gates),
		explains: gateKey("golden-change", { model: change.model }),
	}));
}

export const goldenChangeSection = defineSection({
	id: "golden-changes",
	select: ({ result: { goldenChanges = [] } }) => (goldenChanges.length === 0 ? null : goldenChanges),
	html: (changes) =>
		section(
			`${counted(changes.length, "golden")} changed`,
			[changes.slice(0, maxChanges).map(changePart), moreText(changes.length - maxChanges, "goldens")],
			"golden-changes",
		),
	highlights: changeHighlights,
});
