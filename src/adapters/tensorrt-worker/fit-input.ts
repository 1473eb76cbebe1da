// Gives an input the type that the engine takes, where that keeps every value.
import type { Tensor } from "../../core/golden/tensor/tensor.ts";

/**
 * TensorRT 8 takes int32 where the ONNX model has int64. Other types are left as they are: the worker refuses them by name.
 * A returned text explains why a value does not fit.
 */
export function fitInput(tensor: Tensor, dtype: string): Tensor | string {
	if (tensor.dtype !== "int64" || dtype !== "int32") return tensor;
	const count = tensor.data.length / 8;
	const from = new DataView(tensor.data.buffer, tensor.data.byteOffset, tensor.data.byteLength);
	const data = new Uint8Array(count * 4);
	const to = new DataView(data.buffer);
	for (let index = 0; index < count; index += 1) {
		const value = from.getBigInt64(index * 8, true);
		if (value !== BigInt.asIntN(32, value)) return `holds ${value}, which the engine's int32 does not hold`;
		to.setInt32(index * 4, Number(value), true);
	}
	return { dtype: "int32", shape: tensor.shape, data };
}
