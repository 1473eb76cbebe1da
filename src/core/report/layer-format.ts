// Times of layers, or their instructions, as text, in one unit for all layers of a workload.
import type { LayerUnitName } from "../../../generated/result.ts";

const minus = "\u2212";

export interface LayerUnit {
	name: "ms" | "µs" | "M instructions";
	of: "time" | "work";
	/** `7.53`, without the unit. */
	format(ms: number): string;
	formatChange(ms: number): string;
}

/** Layers of one engine are compared with each other, so all use the unit that fits the slowest. */
export function layerUnit(longestMs: number, unit?: LayerUnitName): LayerUnit {
	const isLong = longestMs >= 1 || unit !== undefined;
	const digits = isLong && unit === undefined ? 3 : 2;
	const format = (ms: number): string => {
		const text = (isLong ? ms : ms * 1000).toFixed(digits);
		return Number(text) < 0 ? minus + text.slice(1) : text.replace(/^-/, "");
	};
	return {
		name: unit ?? (isLong ? "ms" : "µs"),
		of: unit === undefined ? "time" : "work",
		format,
		formatChange: (ms) =>
			Number.parseFloat(format(Math.abs(ms))) > 0 && ms > 0 ? `+${format(ms)}` : format(ms),
	};
}
