// Makes the inputs of golden cases from a seed: the same bytes for the same seed, on every machine.

import { didYouMean } from "../../../config/did-you-mean.ts";
import type { OnnxModel, OnnxNode } from "../../../onnx/model.ts";
import type { DType } from "../../../schema/golden.ts";
import { isFloating, type Tensor } from "../../tensor/tensor.ts";
import { encodeTensor } from "./encode.ts";
import { imageLayout, imageValues } from "./image.ts";
import { splitMix64 } from "./split-mix.ts";

export interface GeneratedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	/** Taken by turns, one for each case. */
	specs: readonly GeneratorSpec[];
}

/** Size of the table that an integer input indexes, if known: tokens lie below it. */
type Vocabulary = number | undefined;

/** The default generator of an input. */
export function defaultGenerator(input: { dtype: DType; shape: readonly number[]; name: string }, vocabulary: Vocabulary): GeneratorSpec[] {
	if (!isFloating(input.dtype)) return [integerDefault(input, vocabulary)];
	const { channels, height, width } = imageLayout(input.shape);
	const isPicture = input.shape.length === 4 && [1, 3, 4].includes(channels) && height >= 8 && width >= 8;
	return [{ kind: isPicture ? "image" : "normal" }];
}

function integerDefault({ dtype, name }: { dtype: DType; name: string }, vocabulary: Vocabulary): GeneratorSpec {
	if (vocabulary !== undefined) return { kind: "tokens", range: [0, vocabulary - 1] };
	if (dtype === "uint8") return { kind: "image" };
	// A mask of ones lets a model see all of its input.
	return /mask/i.test(name) ? { kind: "ones" } : { kind: "tokens", range: [0, 1] };
}

/** @returns the tensor, and the kind of values in it. */
export function generateInput(
	input: GeneratedInput,
	draw: { seed: number; caseIndex: number; inputIndex: number },
): { tensor: Tensor; kind: string } {
	const { dtype, shape, specs } = input;
	const spec = specs[draw.caseIndex % specs.length] ?? { kind: "normal" };
	if (spec.kind === "boundary") {
		const fills = boundaryFills(dtype, spec.range);
		const fill = fills[Math.floor(draw.caseIndex / specs.length) % fills.length];
		if (fill !== undefined) return { tensor: encodeTensor(dtype, shape, fill.valueAt), kind: fill.name };
	}
	return { tensor: encodeTensor(dtype, shape, valuesOf(spec, input, draw)), kind: spec.kind };
}

function valuesOf(
	spec: GeneratorSpec,
	{ dtype, shape }: GeneratedInput,
	draw: { seed: number; caseIndex: number; inputIndex: number },
): (index: number) => number {
	const random = splitMix64(draw.seed, [draw.caseIndex, draw.inputIndex]);
	const float = isFloating(dtype);
	const [low, high] = spec.range ?? (dtype === "uint8" ? [0, 255] : [0, 1]);
	const whole = (value: number): number => (float ? value : Math.round(value));
	switch (spec.kind) {
		case "zeros":
			return () => 0;
		case "ones":
			return () => 1;
		case "tokens":
			return () => low + random.below(high - low + 1);
		case "uniform":
			return () => whole(low + (high - low) * random.uniform());
		case "image": {
			const values = imageValues(shape, random);
			return (index) => whole(low + (high - low) * (values[index] as number));
		}
		default:
			return () => whole(random.normal());
	}
}

interface BoundaryFill {
	name: string;
	valueAt(index: number): number;
}

const constant = (name: string, value: number): BoundaryFill => ({ name, valueAt: () => value });
const alternating = (name: string, value: number): BoundaryFill => ({ name, valueAt: (index) => (index % 2 === 0 ? value : -value) });

/** Includes the largest binary16, which every float engine must accept, and a binary32 denormal that GPUs may flush to zero. */
const floats: readonly BoundaryFill[] = [
	constant("zeros", 0),
	constant("ones", 1),
	alternating("signs", 1),
	constant("denormals", 1e-40),
	alternating("half-max", 65_504),
	alternating("max", 3.4028234663852886e38),
];

const largest: Partial<Record<DType, number>> = { int8: 127, uint8: 255, int16: 32_767, uint16: 65_535 };

/** Integers stay within the range where one is given: an index beyond it is a fault of the input, not of the engine. */
function boundaryFills(dtype: DType, range: readonly [number, number] | undefined): readonly BoundaryFill[] {
	if (dtype === "float16")
		return floats.map((fill) => ({ ...fill, valueAt: (index) => Math.max(-65_504, Math.min(65_504, fill.valueAt(index))) }));
	if (dtype.includes("float")) return floats;
	const [low, high] = dtype === "bool" ? [0, 1] : (range ?? [0, largest[dtype] ?? 1]);
	return [constant("lowest", low), constant("highest", high), { name: "ends", valueAt: (index) => (index % 2 === 0 ? low : high) }];
}

/** Operators that hand the ids on unchanged. */
const passing: ReadonlySet<string> = new Set(["Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose"]);

/** The smallest table that the input reaches by Gather; undefined where it reaches none. */
export function vocabularyOf(model: OnnxModel, input: string): Vocabulary {
	const { nodes, initializers } = model.graph;
	const tables = new Map(initializers.map((weight) => [weight.name, weight.dims]));
	const names = new Set([input]);
	let smallest: number | undefined;
	// Nodes of an ONNX graph stand in the order in which they can run, so that one pass follows every path.
	for (const node of nodes) {
		const [first = "", second = ""] = node.inputs;
		if (passing.has(node.op) && names.has(first)) for (const output of node.outputs) names.add(output);
		const dims = node.op === "Gather" && names.has(second) ? tables.get(first) : undefined;
		const size = dims?.[axisOf(node, dims.length)];
		if (size !== undefined && size > 0) smallest = Math.min(smallest ?? size, size);
	}
	return smallest;
}

function axisOf(node: OnnxNode, rank: number): number {
	const value = node.attributes.find((attribute) => attribute.name === "axis")?.value;
	const axis = typeof value === "number" ? value : 0;
	return axis < 0 ? axis + rank : axis;
}

const generatorKinds = ["normal", "uniform", "image", "tokens", "boundary", "zeros", "ones"] as const;
type GeneratorKind = (typeof generatorKinds)[number];

export interface GeneratorSpec {
	kind: GeneratorKind;
	/** Both ends included for tokens; of uniform and image the interval of the values. */
	range?: readonly [low: number, high: number];
}

type ParsedGenerator = { state: "ok"; input: string; specs: readonly GeneratorSpec[] } | { state: "wrong"; problem: string; fix: string };

const ranged: ReadonlySet<GeneratorKind> = new Set(["uniform", "image", "tokens"]);
const form = "Write INPUT=KIND, as in --generator image=image:0..1 or --generator ids=tokens:0..30521; several by turns with +.";

/** `input=kind[:low..high][+kind…]`; the input's name may hold `=`, the kinds may not. */
export function parseGenerator(text: string): ParsedGenerator {
	const at = text.lastIndexOf("=");
	if (at <= 0) return { state: "wrong", problem: `${JSON.stringify(text)} names no input and kind`, fix: form };
	const specs: GeneratorSpec[] = [];
	for (const part of text.slice(at + 1).split("+")) {
		const spec = parseSpec(part);
		if (typeof spec === "string") return { state: "wrong", problem: spec, fix: form };
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
	if (range === undefined) return { kind };
	const ends = /^(-?[\d.]+(?:e[+-]?\d+)?)\.\.(-?[\d.]+(?:e[+-]?\d+)?)$/i.exec(range);
	const [low, high] = [Number(ends?.[1] ?? Number.NaN), Number(ends?.[2] ?? Number.NaN)];
	if (!ranged.has(kind)) return `${kind} takes no range`;
	if (!(low < high)) return `${JSON.stringify(range)} is no range, such as 0..255`;
	return { kind, range: [low, high] };
}

export function formatGenerator(specs: readonly GeneratorSpec[]): string {
	return specs.map(({ kind, range }) => (range === undefined ? kind : `${kind}:${range[0]}..${range[1]}`)).join("+");
}
