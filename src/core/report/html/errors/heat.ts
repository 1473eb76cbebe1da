// The colours of an error map: ten steps from the smallest to the largest difference, and what each step stands for.
export const heatSteps = 10;

/** Bytes of a cell, as result.json has them. */
const largestByte = 254;
export const notFiniteByte = 255;

export interface Heat {
	kind: "linear" | "logarithmic";
	/** Step of a cell's byte from 1 to 254, counted from 0. */
	stepOf(byte: number): number;
	/** Share of the largest difference that ends a share of the colour bar. */
	valueAt(place: number): number;
}

const linear: Heat = {
	kind: "linear",
	stepOf: (byte) => Math.min(heatSteps - 1, Math.floor(((byte - 1) / largestByte) * heatSteps)),
	valueAt: (place) => place,
};

const logarithmic: Heat = {
	kind: "logarithmic",
	stepOf: (byte) => Math.min(heatSteps - 1, Math.floor((Math.log(byte) / Math.log(largestByte)) * heatSteps)),
	valueAt: (place) => largestByte ** (place - 1),
};

/** Where one peak would leave all else in the palest step, decades instead of shares. */
export function heatOf(bytes: Uint8Array): Heat {
	const seen = bytes.filter((byte) => byte > 0 && byte !== notFiniteByte).sort();
	const median = seen[Math.floor(seen.length / 2)] ?? largestByte;
	return median <= largestByte / heatSteps ? logarithmic : linear;
}
