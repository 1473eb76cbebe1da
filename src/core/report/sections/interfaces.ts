// Models whose inputs or outputs differ between base and head: a table of what was and what is.
import type { InterfaceChange, InterfaceRow, InterfaceValue } from "../../../../generated/result.ts";
import { groupBy } from "../../group.ts";
import { cleanName } from "../../text/escape.ts";
import { counted, interfaceText, subjectName } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import type { Highlight } from "../highlight.ts";
import type { Column } from "../html/markup.ts";
import { type GateIndex, gateKey, subjectKey } from "../index-gates.ts";
import { type ReportSection, table } from "../section.ts";

const maxNamed = 6;

interface Line {
	change: InterfaceChange;
	row: InterfaceRow;
}

function valueText(value: InterfaceValue | null, absent: string): string {
	if (value === null) return absent;
	return `${cleanName(value.name, 80)} ${cleanName(value.dtype, 40)} ${cleanName(value.shape, 120)}`;
}

const columns: readonly Column<Line>[] = [
	{ title: "Model", heading: true, text: ({ change }) => subjectName(change) },
	{ title: "", text: ({ row }) => row.side },
	{ title: "base", code: true, text: ({ row }) => valueText(row.base, "none") },
	{
		title: "head",
		code: true,
		text: ({ row }) => valueText(row.head, row.side === "workload" ? "no longer runs" : "removed"),
	},
];

/** The model is the same; its engine is built for other sizes. */
function isOfSizes({ side }: InterfaceRow): boolean {
	return side === "size" || side === "workload";
}

/** A dimension's name begins a sentence as it is. */
function sentenceOf(row: InterfaceRow): string {
	const text = cleanMessage(interfaceText(row), 400);
	return `${row.side === "size" ? text : text.charAt(0).toUpperCase() + text.slice(1)}.`;
}

/** Of all that changed of one engine: narrower sizes and the workloads that they exclude are one change. */
function highlightOf(changes: readonly InterfaceChange[], gates: GateIndex): Highlight[] {
	const [change] = changes;
	const status = change && gates.status("interface", change);
	if (change === undefined || status === undefined) return [];
	const rows = changes.flatMap((one) => one.rows);
	const isUndone = rows.every(isOfSizes)
		? "If the change is unintended, restore the sizes under `dims` or `profiles` in trtgate.yml. If it is intended"
		: "If the change is unintended, export the model with the old interface. If it is intended, record its golden again";
	return [
		{
			severity: status === "fail" ? "fail" : "warn",
			topic: ["changed interface", "changed interfaces"],
			title: `${subjectName(change)}: the interface changed (${counted(rows.length, "difference")})`,
			sentences: [
				...rows.slice(0, maxNamed).map(sentenceOf),
				...(rows.length > maxNamed ? [`${rows.length - maxNamed} more differ.`] : []),
			],
			fix: `${isUndone}, adapt what feeds and reads the engine, and let the target branch set \`gates: { interface: warn, not-comparable: neutral }\` for this model first: its rules judge the change.`,
			explains: gateKey("interface", change),
		},
	];
}

export const interfaceSection: ReportSection = {
	id: "interfaces",
	formats: ["markdown", "html"],
	show({ result: { interfaceChanges = [] } }) {
		const lines = interfaceChanges.flatMap((change) => change.rows.map((row) => ({ change, row })));
		if (lines.length === 0) return null;
		const subjects = new Set(interfaceChanges.map(subjectKey)).size;
		return {
			title: `${counted(subjects, "changed interface")}, base → head`,
			blocks: [table("changed interfaces", columns, lines, { noun: "row" })],
		};
	},
	highlights: ({ interfaceChanges = [] }, gates) =>
		[...groupBy(interfaceChanges, subjectKey).values()].flatMap((changes) => highlightOf(changes, gates)),
};
