// Makes the inputs of golden cases from a seed: the same bytes for the same seed, on every machine.
import type { DType } from "../../../../../generated/golden.ts";
import { isFloating, type Tensor } from "../../tensor/tensor.ts";
import { encodeTensor } from "./encode.ts";
import { imageValues } from "./image.ts";
import type { GeneratorKind, GeneratorSpec } from "./spec.ts";
import { splitMix64 } from "./split-mix.ts";

export interface GeneratedInput {
	name: string;
	dtype: DType;
	shape: readonly number[];
	specs: readonly GeneratorSpec[];
	positions?: number;
}

export function generateInput(
	{ dtype, shape, specs, positions = 1 }: GeneratedInput,
	draw: { seed: number; caseIndex: number; inputIndex: number },
): { tensor: Tensor; kind: GeneratorKind } {
	const { kind, range }: GeneratorSpec = specs[draw.caseIndex % specs.length] ?? { kind: "normal" };
	const random = splitMix64(draw.seed, [draw.caseIndex, draw.inputIndex]);
	const [low, high] = range ?? (dtype === "uint8" ? [0, 255] : [0, 1]);
	const whole = (value: number): number => (isFloating(dtype) ? value : Math.round(value));
	const pixels = kind === "image" ? imageValues(shape, random) : [];
	const valueAt: Readonly<Record<GeneratorKind, (index: number) => number>> = {
		zeros: () => 0,
		ones: () => 1,
		const: () => whole(low),
		length: () => positions,
		tokens: () => low + random.below(high - low + 1),
		uniform: () => whole(low + (high - low) * random.uniform()),
		image: (index) => whole(low + (high - low) * (pixels[index] ?? 0)),
		normal: () => whole(random.normal()),
	};
	return { tensor: encodeTensor(dtype, shape, valueAt[kind]), kind };
}
