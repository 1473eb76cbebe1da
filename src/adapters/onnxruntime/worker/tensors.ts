// Little-endian bytes to ONNX Runtime's tensors and back.
import type { DType } from "../../../../generated/golden.ts";
import type { Ort, OrtTensor } from "./runtime.ts";

type View = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

const views: Partial<Record<DType, { view: View; bytes: number }>> = {
	float32: { view: Float32Array, bytes: 4 },
	float64: { view: Float64Array, bytes: 8 },
	float16: { view: Uint16Array, bytes: 2 },
	int8: { view: Int8Array, bytes: 1 },
	uint8: { view: Uint8Array, bytes: 1 },
	int16: { view: Int16Array, bytes: 2 },
	uint16: { view: Uint16Array, bytes: 2 },
	int32: { view: Int32Array, bytes: 4 },
	uint32: { view: Uint32Array, bytes: 4 },
	int64: { view: BigInt64Array, bytes: 8 },
	uint64: { view: BigUint64Array, bytes: 8 },
	bool: { view: Uint8Array, bytes: 1 },
};

/** `bytes` may be reused by the tensor. */
export function toOrtTensor(
	ort: Ort,
	value: { name: string; dtype: DType; shape: readonly number[] },
	bytes: Uint8Array,
): OrtTensor {
	const { name, dtype, shape } = value;
	const known = views[dtype];
	if (known === undefined)
		throw new Error(`Input ${name} is ${dtype}, which ONNX Runtime's JavaScript API cannot feed.`);
	const { view, bytes: size } = known;
	const data = new view(aligned(bytes, size), 0, bytes.length / size);
	const make = ort.Tensor as unknown as new (
		type: string,
		data: unknown,
		dims: readonly number[],
	) => OrtTensor;
	const tensor = new make(dtype, data, shape);
	// Node 24 has Float16Array, to which the constructor converts, but the native addon does not support it.
	if (dtype === "float16") Object.defineProperty(tensor, "data", { value: data });
	return tensor;
}

function aligned(bytes: Uint8Array, size: number): ArrayBuffer {
	const { buffer, byteOffset, length } = bytes;
	if (
		buffer instanceof ArrayBuffer &&
		byteOffset === 0 &&
		buffer.byteLength === length &&
		length % size === 0
	)
		return buffer;
	return Uint8Array.from(bytes).buffer;
}

export interface OutputBytes {
	dtype: DType;
	shape: number[];
	bytes: Uint8Array;
}

/** @throws Error for strings and other types that no golden can hold. */
export function fromOrtTensor(name: string, tensor: OrtTensor): OutputBytes {
	const { type, dims, data } = tensor;
	if (!Object.hasOwn(views, type) || !ArrayBuffer.isView(data))
		throw new Error(`Output ${name} is ${type}, which cannot be compared.`);
	return {
		dtype: type as DType,
		shape: [...dims],
		bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
	};
}
