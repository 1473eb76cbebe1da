// Makes the inputs of golden cases from a seed: the same bytes for the same seed, on every machine.
import type { DType } from "../../../../../generated/golden.ts";
import { isFloating, type Tensor } from "../../tensor/tensor.ts";
import { encodeTensor } from "./encode.ts";
import { imageValues } from "./image.ts";
import type { GeneratorSpec } from "./spec.ts";
import { splitMix64 } from "./split-mix.ts";

export interface GeneratedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	specs: readonly GeneratorSpec[];
	positions?: number;
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
	{ dtype, shape, positions = 1 }: GeneratedInput,
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
		case "const":
			return () => whole(low);
		case "length":
			return () => positions;
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
const alternating = (name: string, value: number): BoundaryFill => ({
	name,
	valueAt: (index) => (index % 2 === 0 ? value : -value),
});

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
		return floats.map((fill) => ({
			...fill,
			valueAt: (index) => Math.max(-65_504, Math.min(65_504, fill.valueAt(index))),
		}));
	if (dtype.includes("float")) return floats;
	const [low, high] = dtype === "bool" ? [0, 1] : (range ?? [0, largest[dtype] ?? 1]);
	return [
		constant("lowest", low),
		constant("highest", high),
		{ name: "ends", valueAt: (index) => (index % 2 === 0 ? low : high) },
	];
}
