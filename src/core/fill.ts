// Makes the inputs of timed runs from a seed: the same bytes everywhere.

import type { DType } from "../../generated/golden.ts";
import { encodeTensor } from "../golden/core/record/generators/encode.ts";
import type { InputConfig } from "./config/config.ts";
import { normalSource, uniformSource } from "./stats/random.ts";

export interface FilledInput {
	dtype: DType;
	shape: readonly number[];
	fill: Fill;
}

export type Fill = NonNullable<InputConfig["fill"]> | readonly [low: number, high: number];

/**
 * Little-endian. `index` distinguishes the inputs. For `normal` and `uniform`, integers and bools are 0 or 1: valid as
 * token, index and mask.
 */
export function fillInput(input: FilledInput, seed: number, index: number): Uint8Array {
	const uniform = uniformSource(seed + Math.imul(index, 0x85ebca6b));
	return encodeTensor(input.dtype, input.shape, drawer(input, uniform)).data;
}

function drawer(input: FilledInput, uniform: () => number) {
	const { fill } = input;
	if (typeof fill === "number") return () => fill;
	if (typeof fill !== "string") return () => fill[0] + Math.floor(uniform() * (fill[1] - fill[0] + 1));
	if (input.fill === "zeros") return () => 0;
	if (input.fill === "ones") return () => 1;
	if (!input.dtype.includes("float")) return () => (uniform() < 0.5 ? 0 : 1);
	return input.fill === "uniform" ? uniform : normalSource(uniform);
}
