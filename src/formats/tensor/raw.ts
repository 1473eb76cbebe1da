// Raw tensors: row-major little-endian values and nothing else, as trtexec reads and writes them.
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import { formatLayout, neededBytes } from "./layout.ts";
import { tensorInvalid } from "./refusal.ts";

export function decodeRaw(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	const needed = neededBytes(file);
	if (bytes.length !== needed) {
		throw tensorInvalid(path, { expected: `${needed} bytes for ${formatLayout(file)}`, got: `${bytes.length} bytes` });
	}
	return { dtype: file.dtype, shape: file.shape, data: bytes };
}
