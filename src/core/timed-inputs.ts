// Chooses the inputs of timed runs: as configured, else to suit the model.

import {
	type DefaultGenerator,
	defaultGenerators,
	positionsBeside,
} from "../golden/core/record/generators/defaults.ts";
import { tooLarge } from "../golden/core/tensor/tensor.ts";
import type { InputConfig } from "./config/config.ts";
import { ConfigError } from "./errors.ts";
import type { FilledInput } from "./fill.ts";
import { toDType } from "./onnx/element-type.ts";
import { type InputValues, valuesOfInputs } from "./onnx/input-values.ts";
import { feeds, type OnnxModel } from "./onnx/model.ts";

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
