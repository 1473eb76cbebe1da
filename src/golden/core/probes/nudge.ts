// Inputs off by a rounding: how far that moves an output, the precision explains.

import type { Precision } from "../../../../generated/golden.ts";
import { canEncode, encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import { valuesOf } from "../tensor/values.ts";
import type { Tensors } from "./context.ts";

/** Unit roundoff of the least precise type that an engine of this precision may compute in; fp32 may be TF32. */
const roundoff: Readonly<Record<Precision, number>> = {
	fp64: 2 ** -53,
	fp32: 2 ** -11,
	tf32: 2 ** -11,
	fp16: 2 ** -11,
	bf16: 2 ** -8,
	int8: 2 ** -8,
	fp8: 2 ** -4,
	int4: 2 ** -4,
	fp4: 2 ** -3,
};

/** Each element of floats up or down by the roundoff, of 16-bit inputs by one step at least; null if there are no floats. */
export function nudge(inputs: Tensors, precision: Precision): Tensors | null {
	const made: Record<string, Tensor> = Object.create(null);
	let isMoved = false;
	for (const [name, tensor] of Object.entries(inputs)) {
		made[name] = tensor;
		const { dtype, shape } = tensor;
		if (!isFloating(dtype) || !canEncode(dtype)) continue;
		const step = Math.max(
			roundoff[precision],
			dtype === "float16" ? 2 ** -10 : dtype === "bfloat16" ? 2 ** -7 : 0,
		);
		const values = valuesOf(tensor);
		// Multiplied so that neighbours and rows get other signs.
		const sign = (index: number) => (Math.imul(index + 1, 0x9e3779b1) >>> 31 === 0 ? 1 : -1);
		made[name] = encodeTensor(dtype, shape, (index) => (values[index] ?? 0) * (1 + sign(index) * step));
		isMoved = true;
	}
	return isMoved ? made : null;
}
