// What a graph costs, as text: its figures, how they changed, and which node changed how.
import type { GraphFigures, NodeCost, NodeCostChange } from "../../../generated/result.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { formatBytes, formatCount, formatLarge, formatPercent } from "../text/units.ts";

export const graphFigures = [
	["multiply-adds", "multiplyAdds"],
	["parameters", "parameters"],
	["weights", "weightBytes"],
	["live tensors", "activationBytes"],
] as const;

type Figure = (typeof graphFigures)[number][1];

/** `≥` where something is not known. */
function figureText(figures: GraphFigures, figure: Figure): string {
	const isLeast =
		figure === "multiplyAdds"
			? figures.unknownNodes > 0
			: figure === "activationBytes" && figures.unknownTensors > 0;
	const value = figures[figure];
	return `${isLeast ? "≥ " : ""}${figure.endsWith("Bytes") ? formatBytes(value) : formatLarge(value)}`;
}

/** `3.20 G → 4.10 G (+28.1 %)`; one figure where both sides have it. */
export function changeText(base: GraphFigures | null, head: GraphFigures, figure: Figure): string {
	if (base === null || base[figure] === head[figure]) return figureText(head, figure);
	return `${figureText(base, figure)} → ${figureText(head, figure)}${shareText(base[figure], head[figure])}`;
}

function shareText(base: number, head: number): string {
	if (base === 0) return "";
	const change = head / base - 1;
	return ` (${formatPercent(change, { sign: true, digits: Math.abs(change) < 5e-4 ? 2 : 1 })})`;
}

/** What is missing in the figures; "" where nothing is. */
export function unknownText({ nodes, unknownNodes, tensors, unknownTensors }: GraphFigures): string {
	return [
		...(unknownNodes === 0
			? []
			: [`multiply-adds of ${formatCount(unknownNodes)} of ${counted(nodes, "node")}`]),
		...(unknownTensors === 0
			? []
			: [`sizes of ${formatCount(unknownTensors)} of ${counted(tensors, "tensor")}`]),
	].join(" and ");
}

function workText({ multiplyAdds }: NodeCost): string {
	return multiplyAdds === null ? "unknown" : formatLarge(multiplyAdds);
}

/** `1.23 M → 9.31 M multiply-adds: weights 6,400 → 596,224`. */
export function nodeChangeText({ base, head }: NodeCostChange): string {
	const one = head ?? base;
	if (one === null) return "";
	if (base === null || head === null) {
		const weights = one.weights === 0 ? "" : `, ${formatCount(one.weights)} weights`;
		return `${base === null ? "added" : "removed"}: ${workText(one)} multiply-adds${weights}`;
	}
	const why = [
		...(base.operator === head.operator ? [] : [`${base.operator} → ${head.operator}`]),
		...(base.weights === head.weights
			? []
			: [`weights ${formatCount(base.weights)} → ${formatCount(head.weights)}`]),
		...(base.output === head.output
			? []
			: [`output ${cleanName(base.output, 60)} → ${cleanName(head.output, 60)}`]),
	].join(", ");
	if (base.multiplyAdds === head.multiplyAdds) return why;
	return `${workText(base)} → ${workText(head)} multiply-adds${why === "" ? "" : `: ${why}`}`;
}
