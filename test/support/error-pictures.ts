import { Buffer } from "node:buffer";
import type { ErrorMap, GoldenCheck } from "../../generated/result.ts";

export function cellsOf(bytes: readonly number[]): string {
	return Buffer.from(bytes).toString("base64");
}

export function buildErrorMap(overrides: Partial<ErrorMap> = {}): ErrorMap {
	const { rows = 8, columns = 8 } = overrides;
	const cells = cellsOf(Array.from({ length: rows * columns }, (_, cell) => (cell === 0 ? 254 : cell % 128)));
	return {
		rows,
		columns,
		height: 16,
		width: 16,
		axes: [2, 3],
		largest: 0.5,
		cells,
		...overrides,
	};
}

export function buildDrawnCheck(overrides: Partial<GoldenCheck> = {}): GoldenCheck {
	return {
		output: "depth",
		metric: "allclose",
		got: 0.031,
		allowed: 0.001,
		bound: "at-most",
		pass: false,
		severity: "fail",
		elements: 16_384,
		errorMap: buildErrorMap(),
		worst: { index: [0, 0, 0, 0], got: "NaN", expected: 0.25 },
		...overrides,
	};
}
