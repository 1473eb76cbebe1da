// Chooses a generator for each input, by its type and name and by what the model does with it.

import type { DType } from "../../../../../generated/golden.ts";
import type { InputValues } from "../../../../core/onnx/input-values.ts";
import type { OnnxDim } from "../../../../core/onnx/model.ts";
import { isFloating } from "../../tensor/tensor.ts";
import { imageLayout } from "./generate.ts";
import type { GeneratorSpec } from "./spec.ts";

export interface InputToFill {
	name: string;
	dtype: DType;
	axes: readonly OnnxDim[] | null;
	shape: readonly number[];
}

/** setting: an input beside the data, such as a switch, a length, a mask or a state. */
export interface DefaultGenerator {
	role: "data" | "setting";
	specs: readonly [GeneratorSpec];
	why?: string;
}

export function defaultGenerators(
	inputs: readonly InputToFill[],
	values: ReadonlyMap<string, InputValues>,
): Map<string, DefaultGenerator | null> {
	const valuesOf = ({ name }: InputToFill): InputValues => values.get(name) ?? { kind: "unknown" };
	const states = inputs.filter((input) => isState(input, valuesOf(input)));
	const generatorOf = (input: InputToFill): DefaultGenerator | null => {
		const known = valuesOf(input);
		if (states.includes(input) && states.length < inputs.length)
			return setting({ kind: "zeros" }, "a state at its beginning");
		if (known.kind === "unknown" && isParameters(input, inputs)) return null;
		return defaultOf(input, known) ?? (known.kind === "rows" ? placesIn(inputs, known) : null);
	};
	return new Map(inputs.map((input) => [input.name, generatorOf(input)]));
}

function defaultOf(input: InputToFill, values: InputValues): DefaultGenerator | null {
	const { name, dtype, shape } = input;
	if (values.kind === "range")
		return data({ kind: "tokens", range: [Math.ceil(values.low), Math.floor(values.high)] }, values.why);
	if (values.kind === "unused") return setting({ kind: "zeros" }, "the model does not read it");
	if (/mask/i.test(name) && !looksLikePicture(shape))
		return setting({ kind: "ones" }, "a mask that hides nothing");
	if (!isFloating(dtype) && isLength(input, values))
		return setting({ kind: "length" }, "the length of the other inputs");
	if (values.kind === "size") return null;
	const isSwitch = isScalar(input);
	if (isSwitch && values.kind === "choice") return setting(constant(values.values[0] ?? 0), values.why);
	if (isSwitch) return null;
	return isFloating(dtype)
		? data({ kind: looksLikePicture(shape) ? "image" : "normal" })
		: wholeNumbers(dtype, values);
}

function placesIn(
	inputs: readonly InputToFill[],
	values: Extract<InputValues, { kind: "rows" }>,
): DefaultGenerator | null {
	const smallest = inputs
		.flatMap(({ axes, shape }) =>
			(axes ?? []).flatMap((axis, at) => (axis === values.axis ? [shape[at] ?? 1] : [])),
		)
		.reduce((least, size) => Math.min(least, size), Number.POSITIVE_INFINITY);
	if (smallest < 1 || !Number.isFinite(smallest)) return null;
	return data(
		{ kind: "tokens", range: [0 - values.shift, smallest - 1 - values.shift] },
		`places along the axis ${values.axis}`,
	);
}

function wholeNumbers(dtype: DType, values: InputValues): DefaultGenerator | null {
	if (dtype === "uint8") return data({ kind: "image" });
	if (dtype === "int8") return data({ kind: "tokens", range: [-128, 127] }, "all values of int8");
	if (dtype === "bool") return data({ kind: "tokens", range: [0, 1] });
	if (values.kind !== "choice" || !values.only) return null;
	return data(
		{ kind: "tokens", range: [Math.min(0, ...values.values), Math.max(1, ...values.values)] },
		values.why,
	);
}

function data(spec: GeneratorSpec, why?: string): DefaultGenerator {
	return { role: "data", specs: [spec], why };
}

function setting(spec: GeneratorSpec, why: string): DefaultGenerator {
	return { role: "setting", specs: [spec], why };
}

function constant(value: number): GeneratorSpec {
	return { kind: "const", range: [value, value] };
}

export function looksLikePicture(shape: readonly number[]): boolean {
	const { channels, height, width } = imageLayout(shape);
	return shape.length === 4 && [1, 3, 4].includes(channels) && height >= 8 && width >= 8;
}

const mostParameters = 8;

/** A few numbers of unknown meaning beside the data, such as scales of a voice. */
function isParameters({ name, dtype, axes }: InputToFill, inputs: readonly InputToFill[]): boolean {
	const [count] = axes ?? [];
	const isVector = axes?.length === 1 && typeof count === "number" && count >= 2 && count <= mostParameters;
	return isVector && isFloating(dtype) && !/mask/i.test(name) && inputs.some(({ shape }) => shape.length > 1);
}

function isScalar({ axes, shape }: InputToFill): boolean {
	const declared = axes ?? shape;
	return declared.length === 0 || (declared.length === 1 && declared[0] === 1);
}

const stateNames =
	/^(h|c|hx|cx)_?\d*(_?(in|n|prev|init))?$|(^|[_.])(hidden|state|cell|cache|past)(_?(in|prev|init|state|key_values))?_?\d*($|[_.])/i;

function isState({ name, dtype }: InputToFill, values: InputValues): boolean {
	return (
		isFloating(dtype) && (values.kind === "state" || (stateNames.test(name) && !/hidden_states$/i.test(name)))
	);
}

const lengthNames = /(?:^|_|\b)(?:lengths?|lens?)$/i;

function isLength({ name, shape }: InputToFill, values: InputValues): boolean {
	return shape.length <= 1 && (values.kind === "length" || lengthNames.test(name));
}

/** From the first other input with several axes: its last open axis behind the first, else its second. */
export function positionsBeside(
	name: string,
	inputs: readonly Pick<InputToFill, "name" | "axes" | "shape">[],
): number {
	for (const { name: other, axes, shape } of inputs) {
		if (other === name || shape.length < 2) continue;
		const open = (axes ?? []).findLastIndex((axis, index) => index > 0 && typeof axis !== "number");
		return shape[open > 0 ? open : 1] ?? 1;
	}
	return 1;
}
