// Models whose inputs or outputs differ between base and head: a table of what was and what is.
import type { InterfaceChange, InterfaceRow, InterfaceValue, Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, interfaceText, subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import { type Column, html, section } from "../html/markup.ts";
import { type GateIndex, gateKey } from "../index-gates.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";

const maxNamed = 6;
const maxRows = 200;

interface Line {
	change: InterfaceChange;
	row: InterfaceRow;
}

function valueText(value: InterfaceValue | null): string {
	return value === null
		? "–"
		: `${cleanName(value.name, 80)} ${cleanName(value.dtype, 40)} ${cleanName(value.shape, 120)}`;
}

const side = (arm: "base" | "head"): Column<Line> => ({
	title: arm,
	wraps: true,
	text: ({ row }) => valueText(row[arm]),
	cell: ({ row }) => html`<code>${valueText(row[arm])}</code>`,
});

const columns: readonly Column<Line>[] = [
	{
		title: "Model",
		heading: true,
		text: ({ change }) => subjectName(change),
		cell: ({ change }) => html`<b>${subjectName(change)}</b>`,
	},
	{ title: "", text: ({ row }) => row.side },
	side("base"),
	side("head"),
];

function highlightOf(change: InterfaceChange, gates: GateIndex): Highlight {
	const { rows } = change;
	const status = gates.status("interface", change);
	return {
		severity: status === "fail" ? "fail" : "warn",
		topic: ["changed interface", "changed interfaces"],
		title: `${subjectName(change)}: the interface changed (${counted(rows.length, "difference")})`,
		sentences: [
			...rows.slice(0, maxNamed).map((row) => [`${sentenceOf(row)}.`]),
			...(rows.length > maxNamed ? [[`${rows.length - maxNamed} more differ.`]] : []),
		],
		fix: `${rows.every(isOfSizes) ? ofSizes : ofModel}, adapt what feeds and reads the engine, and let the target branch set \`gates: { interface: warn, not-comparable: neutral }\` for this model first: its rules judge the change.`,
	};
}

const ofModel =
	"If the change is unintended, export the model with the old interface. If it is intended, record its golden again";
const ofSizes =
	"If the change is unintended, restore the sizes under `dims` or `profiles` in trtgate.yml. If it is intended";

/** The model is the same; its engine is built for other sizes. */
function isOfSizes({ side: of }: InterfaceRow): boolean {
	return of === "size" || of === "workload";
}

/** A dimension's name begins a sentence as it is. */
function sentenceOf(row: InterfaceRow): string {
	const text = cleanMessage(interfaceText(row), 400);
	return row.side === "size" ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

function interfaceHighlights(result: Result, gates: GateIndex): Highlight[] {
	const changes = (result.interfaceChanges ?? []).filter(
		(change) => gates.status("interface", change) !== undefined,
	);
	return changes.map((change) => ({ ...highlightOf(change, gates), explains: gateKey("interface", change) }));
}

export const interfaceSection = defineSection({
	id: "interfaces",
	select: ({ result: { interfaceChanges = [] } }) => {
		const lines = interfaceChanges.flatMap((change) => change.rows.map((row): Line => ({ change, row })));
		return lines.length === 0
			? null
			: { title: `${counted(interfaceChanges.length, "changed interface")}, base → head`, lines };
	},
	markdown: ({ title, lines: rows }, { rows: most }) => [
		foldedTable(title, columns, { rows, most, noun: "row" }),
	],
	html: ({ title, lines: rows }) =>
		section(
			title,
			htmlTable("changed interfaces", columns, { rows, most: maxRows, noun: "row" }),
			"interfaces",
		),
	highlights: interfaceHighlights,
});
