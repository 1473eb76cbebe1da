// What a manifest says of a tensor file, in bytes and in words.
import { formatShape, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import type { DType, TensorFile } from "../../core/schema/golden.ts";

/** Bytes of the values; may be beyond any file where the manifest is hostile. */
export function neededBytes(file: Pick<TensorFile, "dtype" | "shape">): number {
	return tensorBytes(file);
}

export function formatLayout(file: { dtype: DType | string; shape: readonly number[] }): string {
	return `${file.dtype} ${formatShape(file.shape)}`;
}
