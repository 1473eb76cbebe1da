// Makes the inputs of golden cases from a seed: the same bytes for the same seed, on every machine.
import type { DType } from "../../../schema/golden.ts";
import { isFloating, type Tensor } from "../../tensor/tensor.ts";
import { boundaryFills } from "./boundary.ts";
import { encodeTensor } from "./encode.ts";
import { imageLayout, imageValues } from "./image.ts";
import type { GeneratorSpec } from "./spec.ts";
import { splitMix64 } from "./split-mix.ts";

export interface GeneratedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	/** Taken by turns, one for each case. */
	specs: readonly GeneratorSpec[];
}

/** Entries of a table that an integer input looks up, where the model tells: tokens lie below it. */
export type Vocabulary = number | undefined;

/** What suits an input of which nothing is said. */
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

/** @returns the tensor, and the name of what the turn chose. */
export function generateInput(
	input: GeneratedInput,
	turn: { seed: number; caseIndex: number; inputIndex: number },
): { tensor: Tensor; kind: string } {
	const { dtype, shape, specs } = input;
	const spec = specs[turn.caseIndex % specs.length] ?? { kind: "normal" };
	if (spec.kind === "boundary") {
		const fills = boundaryFills(dtype, spec.range);
		const fill = fills[Math.floor(turn.caseIndex / specs.length) % fills.length];
		if (fill !== undefined) return { tensor: encodeTensor(dtype, shape, fill.valueAt), kind: fill.name };
	}
	return { tensor: encodeTensor(dtype, shape, valuesOf(spec, input, turn)), kind: spec.kind };
}

function valuesOf(
	spec: GeneratorSpec,
	{ dtype, shape }: GeneratedInput,
	turn: { seed: number; caseIndex: number; inputIndex: number },
): (index: number) => number {
	const random = splitMix64(turn.seed, [turn.caseIndex, turn.inputIndex]);
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
