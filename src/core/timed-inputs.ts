// The inputs of timed runs: as configured, else to suit the model, made from a seed: the same bytes everywhere.

import type { DType } from "../../generated/golden.ts";
import {
	type DefaultGenerator,
	defaultGenerators,
	positionsBeside,
} from "../golden/core/record/generators/defaults.ts";
import { encodeTensor } from "../golden/core/record/generators/encode.ts";
import { tooLarge } from "../golden/core/tensor/tensor.ts";
import type { InputConfig } from "./config/config.ts";
import { ConfigError } from "./errors.ts";
import { type InputValues, valuesOfInputs } from "./onnx/input-values.ts";
import { feeds, type OnnxModel, toDType } from "./onnx/model.ts";
import { normalSource, uniformSource } from "./stats/random.ts";

export interface FilledInput {
	dtype: DType;
	shape: readonly number[];
	fill: Fill;
}

type Fill = NonNullable<InputConfig["fill"]> | readonly [low: number, high: number];

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

/** Inputs are drawn whole, in memory: more is a mistake in the sizes. */
const mostBytes = 2 ** 31;
const smallerFix =
	"Give smaller sizes under `dims` or `shape`; a fixed size has to be corrected in the ONNX file.";

/** @throws ConfigError for an input of more than 2 GiB. */
export type ShapesToInputs = (
	shapes: Readonly<Record<string, readonly number[]>>,
) => (FilledInput & { name: string })[];

export function timedInputsOf(
	model: OnnxModel,
	inputs: Readonly<Record<string, InputConfig>>,
): ShapesToInputs {
	const found = feeds(model.graph);
	let values: ReadonlyMap<string, InputValues> | undefined;
	return (shapes) => {
		const sized = found.map(({ name, dtype, dims }) => ({
			name,
			dtype: toDType(dtype) ?? "float32",
			axes: dims,
			shape: shapes[name] ?? [],
		}));
		values ??= valuesOfInputs(
			model,
			sized.map(({ name }) => name),
		);
		const defaults = defaultGenerators(sized, values);
		return sized.map(({ axes, ...input }) => {
			const fault = tooLarge(input, mostBytes);
			if (fault !== null) throw new ConfigError({ code: "config-value", message: fault, fix: smallerFix });
			const given = Object.hasOwn(inputs, input.name) ? inputs[input.name]?.fill : undefined;
			return {
				...input,
				fill: given ?? fillBy(defaults.get(input.name), positionsBeside(input.name, sized)),
			};
		});
	};
}

function fillBy(generator: DefaultGenerator | null | undefined, positions: number) {
	const { kind, range } = generator?.specs[0] ?? { kind: "normal" };
	if (kind === "zeros" || kind === "ones") return kind;
	if (kind === "length") return positions;
	if (kind === "positions") return "zeros";
	if (kind === "const") return range?.[0] ?? 0;
	return kind === "tokens" && range !== undefined ? range : "normal";
}
