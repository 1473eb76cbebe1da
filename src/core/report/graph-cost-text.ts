// Renders what a graph costs for a terminal: totals, operators, the nodes that cost most, and what changed.
import type { CostFacts } from "../onnx/cost/compare.ts";
import { quoteName } from "../onnx/quote.ts";
import { counted } from "../text/labels.ts";
import { formatCount, formatLarge, formatPercent } from "../text/units.ts";
import { changeText, graphFigures, nodeChangeText, unknownText } from "./graph-cost-format.ts";

type Facts = CostFacts["head"];

const maxOperators = 12;

/** @param most nodes that are listed. */
export function renderCosts({ head, base, changes = [] }: CostFacts, most: number): string {
	const blocks = [
		totals(head, base ?? null),
		operatorLines(head),
		...(base === undefined ? [nodeLines(head, most)] : []),
	];
	if (base !== undefined) {
		const shown = changes.slice(0, most).map((change) => `${change.node} ${nodeChangeText(change)}`);
		blocks.push([
			changes.length === 0
				? "No node differs in multiply-adds or weights."
				: `${counted(changes.length, "changed node")}, base → head`,
			...indented(shown, changes.length - shown.length),
		]);
	}
	return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function totals(head: Facts, base: Facts | null): string[] {
	const rows = graphFigures.map(
		([label, figure]) => [label, changeText(base?.figures ?? null, head.figures, figure)] as const,
	);
	const unknown = unknownText(head.figures);
	return [
		["model", base === null ? head.path : `${base.path} → ${head.path}`] as const,
		["sizes", sizesText(head)] as const,
		...rows,
		...(unknown === "" ? [] : [["unknown", `${unknown}; figures with ≥ are lower bounds`] as const]),
	].map(([label, text]) => `${label.padEnd(14)} ${text}`);
}

function sizesText({ shapes }: Facts): string {
	return Object.entries(shapes)
		.map(([name, shape]) => `${quoteName(name, "")} ${shape.length === 0 ? "scalar" : shape.join("×")}`)
		.join(", ");
}

function operatorLines({ operators, figures }: Facts): string[] {
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

function nodeLines({ nodes }: Facts, most: number): string[] {
	const order = (cost: number | null): number => cost ?? Number.POSITIVE_INFINITY;
	const ranked = nodes
		.filter(({ multiplyAdds }) => multiplyAdds !== 0)
		.sort((a, b) => order(b.multiplyAdds) - order(a.multiplyAdds));
	const shown = ranked.slice(0, most).map(({ node, operator, multiplyAdds, weights, output, why }) => {
		const work = multiplyAdds === null ? `unknown: ${why}` : `${formatLarge(multiplyAdds)} multiply-adds`;
		return `${node} (${operator}) ${work}, ${formatCount(weights)} weights, output ${output}`;
	});
	return ["Nodes with most multiply-adds", ...indented(shown, ranked.length - shown.length)];
}

function indented(lines: readonly string[], hidden: number): string[] {
	return [...lines, ...(hidden > 0 ? [`… and ${formatCount(hidden)} more; --json lists all`] : [])].map(
		(line) => `  ${line}`,
	);
}
