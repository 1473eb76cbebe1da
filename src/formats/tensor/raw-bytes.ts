// From the bytes of any file to a tensor: the first ones and the last ones, with padding where there are too few.
import { encodeTensor } from "../../core/golden/record/generators/encode.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { BytesPreprocess, DType } from "../../core/schema/golden.ts";

interface BytesInput {
	dtype: DType;
	/** Where neither head nor tail is given; null: all of the file. */
	length: number | null;
	shapeOf(elements: number): readonly number[];
}

/** Padding stands behind the first bytes and before the last ones. */
export function tensorOfBytes(file: Uint8Array, input: BytesInput, how: BytesPreprocess): Tensor {
	const bytes = how.strip === true ? stripped(file) : file;
	const tail = how.tail ?? 0;
	const head = how.head ?? (how.tail === undefined ? (input.length ?? bytes.length) : 0);
	const padding = how.padding ?? 0;
	return encodeTensor(
		input.dtype,
		input.shapeOf(head + tail),
		(at) => (at < head ? bytes[at] : bytes[bytes.length - head - tail + at]) ?? padding,
	);
}

/** ASCII's white space, as Python's bytes.strip() has it. */
function isSpace(byte: number | undefined): boolean {
	return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

function stripped(bytes: Uint8Array): Uint8Array {
	let [start, end] = [0, bytes.length];
	while (start < end && isSpace(bytes[start])) start += 1;
	while (end > start && isSpace(bytes[end - 1])) end -= 1;
	return bytes.subarray(start, end);
}
