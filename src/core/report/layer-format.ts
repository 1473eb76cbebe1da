// Times of layers as text, in one unit for all layers of a workload.

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
