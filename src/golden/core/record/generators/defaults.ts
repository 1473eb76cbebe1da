// Chooses a generator for each input by its type, its name and what the model does with it, or parses the one given.
import type { DType } from "../../../../../generated/golden.ts";
import { didYouMean } from "../../../../core/found.ts";
import type { InputValues } from "../../../../core/onnx/input-values.ts";
import type { OnnxDim } from "../../../../core/onnx/model.ts";
import { quoteName } from "../../../../core/text/escape.ts";
import { counted, listNames } from "../../../../core/text/labels.ts";
import { elementCount, isFloating, own } from "../../tensor/tensor.ts";
import { type GeneratorKind, type GeneratorSpec, generatorKinds, imageLayout } from "./generate.ts";

export interface InputToFill {
	name: string;
	dtype: DType;
	axes: readonly OnnxDim[] | null;
	shape: readonly number[];
}

export interface DefaultGenerator {
	role: "data" | "setting";
	specs: readonly GeneratorSpec[];
	why?: string;
}

export function defaultGenerators(
	inputs: readonly InputToFill[],
	values: ReadonlyMap<string, InputValues>,
): Map<string, DefaultGenerator | null> {
	const valuesOf = ({ name }: InputToFill) => values.get(name) ?? { kind: "unknown" };
	const states = inputs.filter((input) => isState(input, valuesOf(input)));
	const generatorOf = (input: InputToFill) => {
		const known = valuesOf(input);
		if (states.includes(input) && states.length < inputs.length)
			return setting({ kind: "zeros" }, "a state at its beginning");
		if (known.kind === "unknown" && isParameters(input, inputs)) return null;
		return defaultOf(input, known) ?? (known.kind === "rows" ? placesIn(inputs, known) : null);
	};
	return new Map(inputs.map((input) => [input.name, generatorOf(input)]));
}

function defaultOf(input: InputToFill, values: InputValues) {
	const { name, dtype, shape } = input;
	if (isPositions(input, values)) return setting({ kind: "positions" }, "places in the sequence");
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

/** Drawn ones would ask for what no user asks. */
function isPositions({ name, dtype, shape }: InputToFill, values: InputValues) {
	const last = (shape.at(-1) ?? 1) - 1;
	const fits = values.kind !== "range" || (values.low <= 0 && values.high >= last);
	return /position(s|_?ids?)?$/i.test(name) && !isFloating(dtype) && shape.length === 2 && fits;
}

function placesIn(inputs: readonly InputToFill[], values: Extract<InputValues, { kind: "rows" }>) {
	const smallest = inputs
		.flatMap(({ axes, shape }) =>
			(axes ?? []).flatMap((axis, at) => (axis === values.axis ? [shape[at] ?? 1] : [])),
		)
		.reduce((least, size) => Math.min(least, size), Infinity);
	if (smallest < 1 || !Number.isFinite(smallest)) return null;
	return data(
		{ kind: "tokens", range: [0 - values.shift, smallest - 1 - values.shift] },
		`places along the axis ${values.axis}`,
	);
}

function wholeNumbers(dtype: DType, values: InputValues) {
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

function looksLikePicture(shape: readonly number[]): boolean {
	const { channels, height, width } = imageLayout(shape);
	return shape.length === 4 && [1, 3, 4].includes(channels) && height >= 8 && width >= 8;
}

const mostParameters = 8;

/** A few numbers of unknown meaning beside the data, such as scales of a voice. */
function isParameters({ name, dtype, axes }: InputToFill, inputs: readonly InputToFill[]) {
	const [count] = axes ?? [];
	const isVector = axes?.length === 1 && typeof count === "number" && count >= 2 && count <= mostParameters;
	return isVector && isFloating(dtype) && !/mask/i.test(name) && inputs.some(({ shape }) => shape.length > 1);
}

function isScalar({ axes, shape }: InputToFill) {
	const declared = axes ?? shape;
	return declared.length === 0 || (declared.length === 1 && declared[0] === 1);
}

const stateNames =
	/^(h|c|hx|cx)_?\d*(_?(in|n|prev|init))?$|(^|[_.])(hidden|state|cell|cache|past)(_?(in|prev|init|state|key_values))?_?\d*($|[_.])/i;

function isState({ name, dtype }: InputToFill, values: InputValues) {
	return (
		isFloating(dtype) && (values.kind === "state" || (stateNames.test(name) && !/hidden_states$/i.test(name)))
	);
}

const lengthNames = /(?:^|_|\b)(?:lengths?|lens?)$/i;

function isLength({ name, shape }: InputToFill, values: InputValues) {
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

type ParsedGenerator =
	| { state: "ok"; input: string; specs: readonly GeneratorSpec[] }
	| { state: "wrong"; problem: string; fix: string };

const drawn: ReadonlySet<GeneratorKind> = new Set(["normal", "uniform", "image", "tokens"]);
const ranged: ReadonlySet<GeneratorKind> = new Set(["uniform", "image", "tokens"]);
const fix =
	"Write INPUT=KIND, as in --generator image=image:0..1, --generator ids=tokens:0..30521 or --generator rate=const:16000; several by turns with +.";
const number = String.raw`-?[\d.]+(?:e[+-]?\d+)?`;

/** `input=kind[:low..high][+kind…]`; the input's name may hold `=`, the kinds may not. */
export function parseGenerator(text: string): ParsedGenerator {
	const at = text.lastIndexOf("=");
	if (at <= 0) return { state: "wrong", problem: `${JSON.stringify(text)} names no input and kind`, fix };
	const specs: GeneratorSpec[] = [];
	for (const part of text.slice(at + 1).split(/\+(?=[a-z])/)) {
		const spec = parseSpec(part);
		if (typeof spec === "string") return { state: "wrong", problem: spec, fix };
		specs.push(spec);
	}
	return { state: "ok", input: text.slice(0, at), specs };
}

function parseSpec(text: string): GeneratorSpec | string {
	const [name = "", range] = text.split(/:(.*)/s);
	const kind = generatorKinds.find((known) => known === name);
	if (kind === undefined) {
		const meant = didYouMean(name, generatorKinds);
		const hint = meant === undefined ? `known are ${generatorKinds.join(", ")}` : `did you mean ${meant}?`;
		return `there is no generator ${JSON.stringify(name)}; ${hint}`;
	}
	if (kind === "const") {
		const value = new RegExp(`^${number}$`, "i").test(range ?? "") ? Number(range) : NaN;
		if (Number.isFinite(value)) return { kind, range: [value, value] };
		return `const takes a number, such as const:16000, and got ${JSON.stringify(range ?? "")}`;
	}
	if (range === undefined) return { kind };
	if (!ranged.has(kind)) return `${kind} takes no range`;
	const [low = NaN, high = NaN] =
		new RegExp(`^(${number})\\.\\.(${number})$`, "i").exec(range)?.slice(1).map(Number) ?? [];
	return low < high ? { kind, range: [low, high] } : `${JSON.stringify(range)} is not a range such as 0..255`;
}

export function formatGenerator(specs: readonly GeneratorSpec[]): string {
	return specs
		.map(({ kind, range }) => {
			if (range === undefined) return kind;
			return kind === "const" ? `const:${range[0]}` : `${kind}:${range[0]}..${range[1]}`;
		})
		.join("+");
}

export function isDrawn(specs: readonly GeneratorSpec[]): boolean {
	return specs.some(({ kind }) => drawn.has(kind));
}

export function isGiven(how: string): boolean {
	return how === "given" || how.startsWith("given as ");
}

export const drawnText = ", SplitMix64";
const mostNamed = 3;

/** Names the inputs whose values were drawn: those of few numbers, which may be settings, else all. null: there are none. */
export function describeDrawn(
	how: Readonly<Record<string, string>>,
	inputs: Readonly<Record<string, { shape: readonly number[] }>>,
): { what: string; fix: string } | null {
	const names = Object.keys(how).filter((name) => how[name]?.includes(drawnText) === true);
	const few = names.filter((name) => elementCount(own(inputs, name)?.shape ?? []) <= mostParameters);
	const named = few.length > 0 ? few : names;
	const [first] = named;
	if (first === undefined) return null;
	const list = listNames(
		named.map((name) => quoteName(name)),
		mostNamed,
	);
	const what = `${list} ${named.length === 1 ? "was" : "were"} drawn as noise`;
	const example = few.length > 0 ? "const:…" : "KIND:LOW..HIGH";
	return {
		what,
		fix: `Give values, as in --generator ${quoteName(first, "")}=${example}, or real ones with --inputs.`,
	};
}

const generatedKinds: readonly (readonly [RegExp, string])[] = [
	[/(^|\+)image/, "synthetic images"],
	[/(^|\+)tokens/, "random whole numbers"],
	[/(^|\+)(normal|uniform)/, "random numbers"],
];

export function describeWorth(how: Readonly<Record<string, string>>, cases: number): string {
	const all = Object.entries(how);
	const given = all.map(([, one]) => one).filter(isGiven);
	if (given.length > 0) {
		const generated = all
			.filter(([, one]) => !isGiven(one))
			.map(
				([name, one]) => `${quoteName(name, "")} ${quoteName(one.replace(/, SplitMix64| \(.*/g, ""), "")}`,
			);
		return `Inputs: ${[describeGiven(given, cases), generated.join(", ")].filter(Boolean).join("; ")}.`;
	}
	const kinds = generatedKinds.flatMap(([pattern, words]) =>
		all.some(([, one]) => pattern.test(one)) ? words : [],
	);
	if (kinds.length === 0) return "Inputs: constants.";
	return `Inputs: ${kinds.join(" and ")}. They test the arithmetic, not the accuracy of the model; pass real inputs with --inputs.`;
}

function describeGiven(given: readonly string[], cases: number) {
	const [, kind, pattern = ""] = /^given as (\w+)s \((.*)\)$/m.exec(given.join("\n")) ?? [];
	return kind === undefined
		? counted(cases, "real case")
		: `${counted(cases, `real ${kind}`)} (${quoteName(pattern, "")})`;
}
