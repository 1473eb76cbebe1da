// What the graphs cost without running them, and the nodes that changed it.
import type { GraphCost, GraphFigures, NodeCost, NodeCostChange } from "../../../../generated/result.ts";
import type { CostFacts } from "../../onnx/cost/compare.ts";
import { cleanName, quoted, quoteName } from "../../text/escape.ts";
import { counted, present, shapesText, subjectName } from "../../text/labels.ts";
import { formatBytes, formatCount, formatLarge, formatPercent } from "../../text/units.ts";
import { html } from "../html/markup.ts";
import {
	type Column,
	details,
	heading,
	long,
	numeric,
	plain,
	type ReportSection,
	table,
} from "../section.ts";

const graphFigures = [
	["multiply-adds", "multiplyAdds"],
	["parameters", "parameters"],
	["weights", "weightBytes"],
	["live tensors", "activationBytes"],
] as const;

type Figure = (typeof graphFigures)[number][1];

/** How many nodes or tensors a figure leaves out, which makes it a lower bound. */
function leftOut({ unknownNodes, unknownTensors }: GraphFigures, figure: Figure) {
	if (figure === "multiplyAdds") return unknownNodes;
	return figure === "activationBytes" ? unknownTensors : 0;
}

function figureText(figures: GraphFigures, figure: Figure) {
	const format = figure.endsWith("Bytes") ? formatBytes : formatLarge;
	return `${leftOut(figures, figure) > 0 ? "≥ " : ""}${format(figures[figure])}`;
}

function changeText(base: GraphFigures | null, head: GraphFigures, figure: Figure) {
	if (base === null || base[figure] === head[figure]) return figureText(head, figure);
	const change = head[figure] / base[figure] - 1;
	const digits = Math.abs(change) < 5e-4 ? 2 : 1;
	// Less of a lower bound is not known to be less.
	const isTold =
		leftOut(base, figure) === leftOut(head, figure) || leftOut(change > 0 ? base : head, figure) === 0;
	const share = base[figure] === 0 || !isTold ? "" : ` (${formatPercent(change, { sign: true, digits })})`;
	return `${figureText(base, figure)} → ${figureText(head, figure)}${share}`;
}

function unknownText({ nodes, unknownNodes, tensors, unknownTensors }: GraphFigures) {
	return present([
		unknownNodes > 0 && `multiply-adds of ${formatCount(unknownNodes)} of ${counted(nodes, "node")}`,
		unknownTensors > 0 && `sizes of ${formatCount(unknownTensors)} of ${counted(tensors, "tensor")}`,
	]).join(" and ");
}

function workText({ multiplyAdds }: NodeCost) {
	return multiplyAdds === null ? "unknown" : formatLarge(multiplyAdds);
}

export function nodeChangeText({ base, head }: NodeCostChange): string {
	if (base === null || head === null) {
		const one = head ?? base;
		if (one === null) return "";
		const weights = one.weights === 0 ? "" : `, ${formatCount(one.weights)} weights`;
		return `${base === null ? "added" : "removed"}: ${workText(one)} multiply-adds${weights}`;
	}
	const changes = [
		["", base.operator, head.operator],
		["weights ", formatCount(base.weights), formatCount(head.weights)],
		["output ", cleanName(base.output, 60), cleanName(head.output, 60)],
	] as const;
	const why = changes
		.flatMap(([what, from, to]) => (from === to ? [] : [`${what}${from} → ${to}`]))
		.join(", ");
	if (base.multiplyAdds === head.multiplyAdds) return why;
	return `${workText(base)} → ${workText(head)} multiply-adds${why === "" ? "" : `: ${why}`}`;
}

type Facts = CostFacts["head"];

const maxOperators = 12;

export function renderCosts({ head, base, changes = [] }: CostFacts, most: number): string {
	const changed = changes.slice(0, most).map((change) => `${change.node} ${nodeChangeText(change)}`);
	const blocks = [
		totals(head, base ?? null),
		operatorLines(head),
		base === undefined
			? nodeLines(head, most)
			: [
					changes.length === 0
						? "No node differs in multiply-adds or weights."
						: `${counted(changes.length, "changed node")}, base → head`,
					...indented(changed, changes.length - changed.length),
				],
	];
	return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function totals(head: Facts, base: Facts | null) {
	const unknown = unknownText(head.figures);
	const sizes = Object.entries(head.shapes).map(
		([name, shape]) => `${quoteName(name, "")} ${shape.length === 0 ? "scalar" : shape.join("×")}`,
	);
	const rows = [
		["model", base === null ? head.path : `${base.path} → ${head.path}`],
		["sizes", sizes.join(", ")],
		...graphFigures.map(([label, figure]) => [
			label,
			changeText(base?.figures ?? null, head.figures, figure),
		]),
		...(unknown === "" ? [] : [["unknown", `${unknown}; figures with ≥ are lower bounds`]]),
	];
	return rows.map(([label = "", text = ""]) => `${label.padEnd(14)} ${text}`);
}

function operatorLines({ operators, figures }: Facts) {
	const notable = operators.filter(
		({ multiplyAdds, weights, unknown }) => multiplyAdds + unknown > 0 || weights > figures.parameters / 100,
	);
	const shown = notable.slice(0, maxOperators).map(({ operator, nodes, multiplyAdds, weights, unknown }) => {
		const share =
			figures.multiplyAdds === 0 ? "" : ` (${formatPercent(multiplyAdds / figures.multiplyAdds)})`;
		const open = unknown === 0 ? "" : `, ${formatCount(unknown)} unknown`;
		return `${operator} × ${formatCount(nodes)}: ${formatLarge(multiplyAdds)} multiply-adds${share}, ${formatCount(weights)} weights${open}`;
	});
	return ["By operator", ...indented(shown, notable.length - shown.length)];
}

function nodeLines({ nodes }: Facts, most: number) {
	const order = (cost: number | null) => cost ?? Infinity;
	const ranked = nodes
		.filter(({ multiplyAdds }) => multiplyAdds !== 0)
		.sort((a, b) => order(b.multiplyAdds) - order(a.multiplyAdds));
	const shown = ranked.slice(0, most).map(({ node, operator, multiplyAdds, weights, output, why }) => {
		const work = multiplyAdds === null ? `unknown: ${why}` : `${formatLarge(multiplyAdds)} multiply-adds`;
		return `${node} (${operator}) ${work}, ${formatCount(weights)} weights, output ${output}`;
	});
	return ["Nodes with most multiply-adds", ...indented(shown, ranked.length - shown.length)];
}

function indented(lines: readonly string[], hidden: number) {
	const more = hidden > 0 ? [`… and ${formatCount(hidden)} more; --json lists all`] : [];
	return [...lines, ...more].map((line) => `  ${line}`);
}

const maxNodes = 10;

function sizesText({ shapes }: GraphCost) {
	return shapesText(shapes).join(", ");
}

const columns: readonly Column<GraphCost>[] = [
	heading("Model", (row) => `${subjectName(row)}, ${sizesText(row)}`, {
		cell: (row) => html`<b>${subjectName(row)}</b><small>${sizesText(row)}</small>`,
	}),
	...graphFigures.map(([name, figure]) =>
		numeric<GraphCost>(name, ({ base, head }) => changeText(base, head, figure), {
			sortBy: ({ head }) => head[figure],
		}),
	),
	long("unknown", ({ head }) => unknownText(head), { formats: ["html"] }),
];

const nodeColumns: readonly Column<NodeCostChange>[] = [
	heading("Node", ({ node }) => quoted(node, 120)),
	plain("operator", ({ base, head }) => cleanName((head ?? base)?.operator ?? "", 60)),
	long("base → head", nodeChangeText),
];

function nodesOf(row: GraphCost) {
	if (row.changes.length === 0) return [];
	const name = subjectName(row);
	const more = { noun: "node", hidden: row.changed - row.changes.length };
	return details(`${name}: ${counted(row.changed, "changed node")} (${sizesText(row)})`, [
		table(`changed nodes of ${name}`, nodeColumns, row.changes, more),
	]);
}

function changedModels(costs: readonly GraphCost[]) {
	const changed = costs.filter(({ base, head }) => base !== null && base.multiplyAdds !== head.multiplyAdds);
	return [...new Map(changed.toReversed().map((cost) => [subjectName(cost), cost])).values()].toReversed();
}

/** Short and without names, because all folded titles share a line. */
function shortTitle(changed: readonly GraphCost[]) {
	const [only] = changed;
	if (only === undefined || changed.length > 1)
		return `Graph work: ${counted(changed.length, "model")} changed`;
	return `Graph work: ${changeText(only.base, only.head, "multiplyAdds").replace(/( \(|$)/, " multiply-adds$1")}`;
}

export const graphCostSection: ReportSection = {
	id: "graph-costs",
	show({ result: { graphCosts = [] } }, { format }) {
		if (graphCosts.length === 0) return null;
		const tableOf = (rows: readonly GraphCost[]) =>
			table("work by the graph", columns, rows, { noun: "model" });
		if (format === "html") {
			const isChanged = graphCosts.some(
				({ base, head }) => base !== null && graphFigures.some(([, figure]) => base[figure] !== head[figure]),
			);
			const blocks = [tableOf(graphCosts), ...graphCosts.flatMap(nodesOf)];
			return { title: "Work by the graph", isFolded: !isChanged, blocks };
		}
		const changed = changedModels(graphCosts);
		if (changed.length === 0) return null;
		const items = changed
			.flatMap((row) => row.changes.map((change) => ({ row, change })))
			.slice(0, maxNodes)
			.map(({ row, change }) => {
				const of = changed.length === 1 ? "" : `${subjectName(row)}: `;
				return `${of}${quoted(change.node, 80)} ${nodeChangeText(change)}`;
			});
		return { title: shortTitle(changed), blocks: [tableOf(changed), { kind: "list", items }] };
	},
};
