// What the graphs cost without running them, and the nodes that changed it.
import type { GraphCost, NodeCostChange } from "../../../../generated/result.ts";
import { cleanName, quoted } from "../../text/escape.ts";
import { counted, subjectName } from "../../text/labels.ts";
import { changeText, graphFigures, nodeChangeText, unknownText } from "../graph-cost-text.ts";
import { type Column, html } from "../html/markup.ts";
import { type Block, details, type ReportSection, table } from "../section.ts";

const maxNodes = 10;

function sizesText({ shapes }: GraphCost): string {
	return Object.entries(shapes)
		.slice(0, 6)
		.map(([name, shape]) => `${cleanName(name, 40)} ${shape.slice(0, 12).join("×")}`)
		.join(", ");
}

const columns: readonly Column<GraphCost>[] = [
	{
		title: "Model",
		heading: true,
		text: (row) => `${subjectName(row)}, ${sizesText(row)}`,
		cell: (row) => html`<b>${subjectName(row)}</b><small>${sizesText(row)}</small>`,
	},
	...graphFigures.map(
		([name, figure]): Column<GraphCost> => ({
			title: name,
			numeric: true,
			text: ({ base, head }) => changeText(base, head, figure),
			sortBy: ({ head }) => head[figure],
		}),
	),
	{ title: "unknown", wraps: true, formats: ["html"], text: ({ head }) => unknownText(head) },
];

const nodeColumns: readonly Column<NodeCostChange>[] = [
	{ title: "Node", heading: true, text: ({ node }) => quoted(node, 120) },
	{ title: "operator", text: ({ base, head }) => cleanName((head ?? base)?.operator ?? "", 60) },
	{ title: "base → head", wraps: true, text: nodeChangeText },
];

function nodesOf(row: GraphCost): Block[] {
	if (row.changes.length === 0) return [];
	const name = subjectName(row);
	const more = { noun: "node", hidden: row.changed - row.changes.length };
	return details(`${name}: ${counted(row.changed, "changed node")} (${sizesText(row)})`, [
		table(`changed nodes of ${name}`, nodeColumns, row.changes, more),
	]);
}

/** Lists each model once: its sizes scale the change alike. */
function changedModels(costs: readonly GraphCost[]): GraphCost[] {
	const changed = costs.filter(({ base, head }) => base !== null && base.multiplyAdds !== head.multiplyAdds);
	return [...new Map(changed.toReversed().map((cost) => [subjectName(cost), cost])).values()].toReversed();
}

/** Short and without names, because all folded titles share a line. */
function shortTitle(changed: readonly GraphCost[]): string {
	const [only, second] = changed;
	if (only === undefined || second !== undefined)
		return `Graph work: ${counted(changed.length, "model")} changed`;
	return `Graph work: ${changeText(only.base, only.head, "multiplyAdds").replace(/( \(|$)/, " multiply-adds$1")}`;
}

export const graphCostSection: ReportSection = {
	id: "graph-costs",
	show({ result: { graphCosts = [] } }, { format }) {
		if (graphCosts.length === 0) return null;
		if (format === "html") {
			// Sizes of tensors follow each change of a shape.
			const isChanged = graphCosts.some(
				({ base, head }) => base !== null && graphFigures.some(([, figure]) => base[figure] !== head[figure]),
			);
			const all = table("work by the graph", columns, graphCosts, { noun: "model" });
			return {
				title: "Work by the graph",
				isFolded: !isChanged,
				blocks: [all, ...graphCosts.flatMap(nodesOf)],
			};
		}
		const changed = changedModels(graphCosts);
		if (changed.length === 0) return null;
		const items = changed
			.flatMap(({ changes }) => changes)
			.slice(0, maxNodes)
			.map((change) => `${quoted(change.node, 80)} ${nodeChangeText(change)}`);
		return {
			title: shortTitle(changed),
			blocks: [table("work by the graph", columns, changed, { noun: "model" }), { kind: "list", items }],
		};
	},
};
