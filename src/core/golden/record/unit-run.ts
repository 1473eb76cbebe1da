// What another build's last operator may do: builds approximate Sigmoid to one rounding of 1, however small the value is.
import { largestFinite } from "../compare/difference.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { LabelledRun, RunOutputs } from "./noise-floor.ts";

/** One rounding of binary32 at 1. ONNX Runtime's native Sigmoid and that of WebAssembly differ by up to twice as much at 0.004. */
const unit = 2 ** -24;
/** Scores reach it in some case; what stays below has another scale of its own. */
const scorePeak = 0.1;

/** The reference with each score moved by one rounding of 1, up and down by turns; null where no output looks like scores. */
export function unitRun(reference: RunOutputs): LabelledRun | null {
	const names = new Set(reference.flatMap((outputs) => Object.keys(outputs).filter((name) => areScores(name, reference))));
	if (names.size === 0) return null;
	const outputs = reference.map((all) =>
		Object.fromEntries(Object.entries(all).map(([name, tensor]) => [name, names.has(name) ? moved(tensor) : tensor])),
	);
	return { label: "each score one rounding of 1 away", outputs };
}

/** Float32 values of 0 or more. */
function areScores(name: string, reference: RunOutputs): boolean {
	const tensors = reference.flatMap((outputs) => outputs[name] ?? []);
	const isScore = (tensor: Tensor): boolean => tensor.dtype === "float32" && floatsOf(tensor).every((value) => value >= 0);
	return tensors.some((tensor) => largestFinite(tensor) >= scorePeak) && tensors.every(isScore);
}

function moved(tensor: Tensor): Tensor {
	const values = floatsOf(tensor).map((value, index) => Math.max(0, value + (index % 2 === 0 ? unit : -unit)));
	return { ...tensor, data: new Uint8Array(values.buffer) };
}

/** A copy: the bytes of a tensor may start anywhere. */
function floatsOf({ data }: Tensor): Float32Array<ArrayBuffer> {
	return new Float32Array(data.slice().buffer);
}
