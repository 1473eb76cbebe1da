// Proposes comparators and limits for an output from what it is, how it scatters, and what a wrong weight does to it.
import type { OnnxDim } from "../onnx/model.ts";
import type { ComparatorSpec, GoldenOutput, Spread } from "../schema/golden.ts";
import { floorOf } from "./noise-floor.ts";
import { type Guess, guessSemantic } from "./propose-semantic.ts";
import { elementCount, isFloating, type Tensor } from "./tensor.ts";

export interface ProposalInput {
	name: string;
	/** Of all cases. */
	tensors: readonly Tensor[];
	noise?: Spread | undefined;
	/** Smallest change of this output, above the noise, that a changed weight makes and that no other output shows better. */
	smallestMutation?: number | undefined;
	/** Whether the first axis counts samples. */
	batched: boolean;
}

export interface Proposal {
	output: GoldenOutput;
	/** Sentences: what it was taken for, and why these limits. */
	why: string[];
}

/** What two right builds of fp32 may differ by in a real network, whatever was measured on one machine. */
const usualFp32 = 2e-5;
/** Room above the noise floor. */
const noiseRoom = 10;
/** Never nearer to the noise than this, or goldens would fail by luck. */
const leastRoom = 1.5;

export function proposeOutput(input: ProposalInput): Proposal {
	const filled = input.tensors.filter((tensor) => elementCount(tensor.shape) > 0);
	const guess = guessSemantic(input.name, filled);
	const [first] = filled;
	const shared = { semantic: guess.semantic, ...(input.batched && first && first.shape.length > 0 ? { batchAxis: 0 } : {}) };
	const why = [`Taken for ${semanticWords[guess.semantic]}, because ${guess.because}.`];
	if (first === undefined || !isFloating(first.dtype)) {
		const share = guess.semantic === "mask" ? { fp32: 1e-4, fp16: 1e-3, tf32: 1e-3, bf16: 1e-2, int8: 2e-2, fp8: 2e-2 } : 0;
		why.push(guess.semantic === "mask" ? "A share of the pixels may differ, by precision." : "Integers have to be equal.");
		return { output: { ...shared, comparators: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: share }] }, why };
	}
	const limit = fp32Limit(input, floorOf(input.noise, first.dtype));
	why.push(limit.why);
	const [main, ...more] = [{ kind: "relative-l2", tolerance: { fp32: limit.value } } as const, ...taskComparators(guess)];
	return { output: { ...shared, comparators: [main, ...more] }, why };
}

const semanticWords: Readonly<Record<Guess["semantic"], string>> = {
	logits: "logits",
	probabilities: "probabilities",
	boxes: "boxes",
	mask: "a map of labels",
	image: "a picture",
	embedding: "embeddings",
	ids: "ids",
	tensor: "plain numbers",
};

/** Limits by precision where none stands here. */
function taskComparators({ semantic, axis }: Guess): ComparatorSpec[] {
	const along = axis === undefined || axis === -1 ? {} : { axis };
	switch (semantic) {
		case "logits":
		case "probabilities":
			return [
				{ kind: "top-k", k: 1, ...along },
				{ kind: "kl", input: semantic, ...along },
			];
		case "boxes":
			return [{ kind: "max-abs" }];
		case "image":
		case "embedding":
			return [{ kind: "cosine" }];
		default:
			return [];
	}
}

function fp32Limit({ smallestMutation }: ProposalInput, floor: number): { value: number; why: string } {
	const wide = Math.max(usualFp32, noiseRoom * floor);
	const measured = `the noise floor is ${figure(floor)}`;
	if (smallestMutation === undefined || smallestMutation > 2 * wide) {
		return { value: rounded(wide), why: `relative-l2 at fp32 may be ${figure(wide)}: ${measured}.` };
	}
	const tight = Math.max(leastRoom * floor, smallestMutation / 2);
	return {
		value: rounded(tight),
		why: `relative-l2 at fp32 may be ${figure(tight)}: ${measured}, and a weight tensor that is 1 % wrong moves the output by only ${figure(smallestMutation)}.`,
	};
}

/** Two digits, rounded down so that a limit never passes what it was made to catch. */
function rounded(value: number): number {
	const step = 10 ** (Math.floor(Math.log10(value)) - 1);
	return Number((Math.floor(value / step + 1e-9) * step).toPrecision(2));
}

function figure(value: number): string {
	return String(Number(value.toPrecision(2)));
}

/** Whether the first axis of an output counts samples: it is called as the first axis of an input is, or both are 1. */
export function isBatched(output: readonly OnnxDim[] | null, inputs: readonly (readonly OnnxDim[] | null)[]): boolean {
	const first = output?.[0];
	if (output === null || output.length < 2 || first === undefined || first === null) return false;
	return inputs.some((dims) => dims !== null && dims.length >= 2 && dims[0] === first && (typeof first === "string" || first === 1));
}
