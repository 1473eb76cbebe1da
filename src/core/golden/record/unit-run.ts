// Rounding that runs of one build do not show: sigmoids of two implementations differ by a rounding of 1, however small their values are.
import { placeSlice } from "../tensor/slice.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { forEachValue, tensorStatistics } from "../tensor/values.ts";
import type { LabelledRun, RunOutputs } from "./noise-floor.ts";
import { guessSemantic } from "./propose-semantic.ts";
import { findScaleParts } from "./scales.ts";

/** Native ONNX Runtime and WebAssembly differ by this in the scores of a YOLOv8 (root mean square), whether they are 1e-6 or 0.1. */
const unit = 2 ** -24;
const minPeak = 0.01;

/** The reference with that rounding in all values from 0 to 1 but softmaxes, whose small values are exact to the last digit. null: there are none. */
export function unitRun(reference: RunOutputs): LabelledRun | null {
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const covers = new Map(names.flatMap((name) => scoresOf(name, reference)));
	if (covers.size === 0) return null;
	const outputs = reference.map((named) =>
		Object.fromEntries(
			Object.entries(named).flatMap(([name, tensor]) => {
				const isScore = covers.get(name);
				return isScore === undefined ? [] : [[name, shaken(tensor, isScore(tensor))]];
			}),
		),
	);
	return { label: "each score one rounding of 1 away", outputs };
}

type IsScore = (flat: number) => boolean;

function scoresOf(name: string, reference: RunOutputs): [string, (tensor: Tensor) => IsScore][] {
	const tensors = reference
		.flatMap((outputs) => outputs[name] ?? [])
		.filter(({ shape }) => elementCount(shape) > 0);
	if (tensors.length === 0 || tensors.some(({ dtype }) => dtype !== "float32")) return [];
	const statistics = tensors.map(tensorStatistics);
	if (Math.max(...statistics.map(({ max }) => max ?? 0)) < minPeak) return [];
	const { semantic } = guessSemantic(name, tensors);
	if (semantic === "probabilities" || semantic === "embedding") return [];
	const isShare = statistics.every(({ min, max }) => min !== null && max !== null && min >= 0 && max <= 1);
	if (isShare) return [[name, () => () => true]];
	const part = findScaleParts(tensors).find(({ kind }) => kind === "scores");
	return part === undefined ? [] : [[name, ({ shape }) => insideOf(placeSlice(part.slice, shape), shape)]];
}

function insideOf(placed: ReturnType<typeof placeSlice>, shape: readonly number[]): IsScore {
	if (placed === null) return () => true;
	const inner = elementCount(shape.slice(placed.axis + 1));
	const size = shape[placed.axis] ?? 1;
	const chosen = new Set(
		placed.ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at)),
	);
	return (flat) => chosen.has(Math.floor(flat / inner) % size);
}

function shaken(tensor: Tensor, isScore: IsScore): Tensor {
	const out = new Float32Array(elementCount(tensor.shape));
	forEachValue(tensor, (value, flat) => {
		const moves = value > 0 && value < 1 && isScore(flat);
		out[flat] = moves ? Math.min(1, Math.abs(value + (flat % 2 === 0 ? unit : -unit))) : value;
	});
	return { ...tensor, data: new Uint8Array(out.buffer) };
}
