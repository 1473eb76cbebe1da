// What the graphs cost without running them: multiply-adds, weights and live tensors, and the nodes that changed them.
import type { GraphCost, NodeCostChange } from "../../../../generated/result.ts";
import { cleanName, escapeMarkdown, markdownCode } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { changeText, nodeChangeText, unknownText } from "../graph-cost-format.ts";
import { type Column, folded, html, type Piece, section } from "../html/markup.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";
import { paint, wrapText } from "../terminal-text.ts";

const maxRows = 400;
const maxInComment = 10;
const maxInTerminal = 10;
const title = "Work by the graph";

function sizesText({ shapes }: GraphCost): string {
	const sizes = Object.entries(shapes).map(
		([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`,
	);
	return sizes.slice(0, 6).join(", ");
}

const figures = ["multiplyAdds", "parameters", "weightBytes", "activationBytes"] as const;

/** Sizes of tensors decide nothing by themselves, and follow each change of a shape. */
function isChanged({ base, head }: GraphCost): boolean {
	return base !== null && figures.some((figure) => base[figure] !== head[figure]);
}

const columns: readonly Column<GraphCost>[] = [
	{
		title: "Model",
		heading: true,
		text: (row) => `${subjectName(row)}, ${sizesText(row)}`,
		cell: (row) => html`<b>${subjectName(row)}</b><small>${sizesText(row)}</small>`,
	},
	...(
		[
			["multiply-adds", "multiplyAdds"],
			["parameters", "parameters"],
			["weights", "weightBytes"],
			["live tensors", "activationBytes"],
		] as const
	).map(
		([name, figure]): Column<GraphCost> => ({
			title: name,
			numeric: true,
			text: ({ base, head }) => changeText(base, head, figure),
			sortBy: ({ head }) => head[figure],
		}),
	),
];

const unknownColumn: Column<GraphCost> = {
	title: "unknown",
	wraps: true,
	text: ({ head }) => unknownText(head),
};

const changeColumns: readonly Column<NodeCostChange>[] = [
	{ title: "Node", heading: true, cell: ({ node }) => html`<code>${cleanName(node, 120)}</code>` },
	{ title: "operator", text: ({ base, head }) => cleanName((head ?? base)?.operator ?? "", 60) },
	{ title: "base → head", wraps: true, text: nodeChangeText },
];

function changesPart(row: GraphCost): Piece {
	if (row.changes.length === 0) return null;
	const name = subjectName(row);
	const hidden = row.changed - row.changes.length;
	const rows = { rows: row.changes, most: maxRows, noun: "node" };
	return folded(`${name}: ${counted(row.changed, "changed node")} (${sizesText(row)})`, [
		htmlTable(`changed nodes of ${name}`, changeColumns, rows),
		hidden > 0
			? html`<p class="more">… and ${counted(hidden, "more node")}; trtgate cost lists all.</p>`
			: null,
	]);
}

/** One model is one item, however many sizes it was timed at: the sizes scale the change alike. */
function changedModels(costs: readonly GraphCost[]): GraphCost[] {
	const first = new Map<string, GraphCost>();
	for (const cost of costs) {
		const name = subjectName(cost);
		if (cost.base !== null && cost.base.multiplyAdds !== cost.head.multiplyAdds && !first.has(name))
			first.set(name, cost);
	}
	return [...first.values()];
}

function summary(costs: readonly GraphCost[], most: number): string {
	const changed = changedModels(costs);
	const named = changed
		.slice(0, most)
		.map((cost) => `${subjectName(cost)} ${changeText(cost.base, cost.head, "multiplyAdds")}`);
	const hidden = changed.length - named.length;
	return `${title}, in multiply-adds: ${[...named, ...(hidden > 0 ? [counted(hidden, "more model")] : [])].join("; ")}.`;
}

/** Short, as all folded titles share a line. Without names, which a summary cannot escape. */
function foldedTitle(changed: readonly GraphCost[]): string {
	const [only, ...others] = changed;
	if (only === undefined || others.length > 0)
		return `Graph work: ${counted(changed.length, "model")} changed`;
	const [figures, share = ""] = changeText(only.base, only.head, "multiplyAdds").split(" (");
	return `Graph work: ${figures} multiply-adds${share === "" ? "" : ` (${share}`}`;
}

function changedTable(costs: readonly GraphCost[], most: number): string {
	const rows = changedModels(costs);
	const nodes = rows.flatMap(({ changes }) => changes).slice(0, maxInComment);
	const note = nodes
		.map(
			(change) => `- ${markdownCode(cleanName(change.node, 80))} ${escapeMarkdown(nodeChangeText(change))}`,
		)
		.join("\n");
	return foldedTable(foldedTitle(rows), columns, {
		rows,
		most,
		noun: "model",
		...(note === "" ? {} : { note }),
	});
}

export const graphCostSection = defineSection({
	id: "graph-costs",
	select: ({ result: { graphCosts = [] } }) => (graphCosts.length === 0 ? null : graphCosts),
	markdown: (costs, { rows }) =>
		changedModels(costs).length === 0 ? [] : [changedTable(costs, Math.min(rows, maxInComment))],
	html: (costs) => {
		const shown = costs.some(({ head }) => unknownText(head) !== "") ? [...columns, unknownColumn] : columns;
		const table = htmlTable("work by the graph", shown, { rows: costs, most: maxRows, noun: "model" });
		return costs.some(isChanged)
			? section(title, [table, costs.map(changesPart)], "graph-costs")
			: folded(title, table);
	},
	terminal: (costs, { color, columns: width }) => {
		const changed = changedModels(costs);
		if (changed.length === 0) return [];
		const nodes = changed.flatMap(({ changes }) => changes.slice(0, maxInTerminal));
		return [
			...wrapText(summary(costs, maxInTerminal), width),
			...nodes
				.slice(0, maxInTerminal)
				.map((change) => paint(`  ${cleanName(change.node, 80)} ${nodeChangeText(change)}`, "dim", color)),
		];
	},
});
