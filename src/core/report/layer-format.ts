// The layers of an engine and their times as text, in one unit for all layers of a workload.
import { type LayerChange, matchLayers } from "../explain/layers.ts";
import type { ArmLayers, WorkloadLayers } from "../schema/result.ts";
import { cleanName } from "../text/escape.ts";

const minus = "\u2212";

export interface LayerUnit {
	name: "ms" | "µs";
	/** `7.53`, without the unit. */
	format(ms: number): string;
	/** `+0.89`. */
	formatChange(ms: number): string;
}

/** Layers of one engine are compared with each other, so all use the unit that fits the slowest. */
export function layerUnit(longestMs: number): LayerUnit {
	const isLong = longestMs >= 1;
	const format = (ms: number): string => {
		const text = (isLong ? ms : ms * 1000).toFixed(isLong ? 3 : 2);
		return Number(text) < 0 ? minus + text.slice(1) : text.replace(/^-/, "");
	};
	return {
		name: isLong ? "ms" : "µs",
		format,
		formatChange: (ms) => (Number.parseFloat(format(Math.abs(ms))) > 0 && ms > 0 ? `+${format(ms)}` : format(ms)),
	};
}

export function isWhole({ count, layers }: ArmLayers): boolean {
	return layers.length >= count;
}

/** Which kernel a layer runs, and in what precision, where that is not as in the base. */
export function differenceLabels({ base, head }: LayerChange): string[] {
	if (base === null || head === null) return [base === null ? "new" : "gone"];
	const [from, to] = [base.precision, head.precision];
	const isOtherKernel = base.tactic !== undefined && head.tactic !== undefined && base.tactic !== head.tactic;
	return [
		...(from !== undefined && to !== undefined && from !== to ? [`${cleanName(from, 20)} → ${cleanName(to, 20)}`] : []),
		...(isOtherKernel ? ["another kernel"] : []),
	];
}

interface Changed {
	changes: readonly LayerChange[];
	unit: LayerUnit;
	base: ArmLayers;
	head: ArmLayers;
}

export function changedLayers(layers: WorkloadLayers | undefined): Changed | null {
	if (layers?.base == null || layers.head == null) return null;
	const { base, head } = layers;
	const longest = [...base.layers, ...head.layers].reduce((most, { meanMs }) => Math.max(most, meanMs), 0);
	return { changes: matchLayers(base, head), unit: layerUnit(longest), base, head };
}
