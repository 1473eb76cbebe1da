// Reads one tensor of a safetensors file: a JSON header with offsets, then the values.

import type { DType, TensorFile } from "../../../generated/golden.ts";
import { fieldsOf, isObject, parseJson } from "../../core/found.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import {
	checkLayout,
	formatLayout,
	type MemberFile,
	memberMissing,
	tensorInvalid,
} from "../tensor/refusal.ts";

const dtypeNames: Readonly<Record<string, DType>> = {
	F64: "float64",
	F32: "float32",
	F16: "float16",
	BF16: "bfloat16",
	F8_E4M3: "float8e4m3fn",
	F8_E5M2: "float8e5m2",
	F4: "float4e2m1",
	I64: "int64",
	I32: "int32",
	I16: "int16",
	I8: "int8",
	U64: "uint64",
	U32: "uint32",
	U16: "uint16",
	U8: "uint8",
	BOOL: "bool",
};

const lengthBytes = 8;
/** The format allows 100 MB; a hundred thousand tensors take less. */
const maxHeaderBytes = 16 * 1024 * 1024;

export function decodeSafetensor(source: ByteSource, file: TensorFile & MemberFile): Tensor {
	const span = findSpan(source, file);
	checkLayout({ ...span, dtype: dtypeOf(span) ?? span.dtype }, file);
	return readSpan(source, span, file);
}

/** Uses the layout that the file itself states. @throws ConfigError tensor-invalid. */
export function decodeOwnSafetensor(source: ByteSource, file: MemberFile): Tensor {
	const span = findSpan(source, file);
	const dtype = dtypeOf(span);
	if (dtype === undefined) throw tensorInvalid(file, "numbers or bools", span.dtype);
	return readSpan(source, span, { ...file, dtype, shape: span.shape });
}

function dtypeOf({ dtype }: TensorSpan) {
	return Object.hasOwn(dtypeNames, dtype) ? dtypeNames[dtype] : undefined;
}

function findSpan(source: ByteSource, file: MemberFile) {
	const { entries, dataAt } = readHeader(source, file);
	const names = Object.keys(entries).filter((name) => name !== "__metadata__");
	if (!names.includes(file.member)) throw memberMissing(file, names);
	const { dtype, shape, data_offsets: offsets } = fieldsOf(entries[file.member]);
	const [start = 1, end = 0] = isSizes(offsets) ? offsets : [];
	if (typeof dtype === "string" && isSizes(shape) && start <= end)
		return { dtype, shape, start: dataAt + start, end: dataAt + end };
	throw tensorInvalid(file, "dtype, shape and data_offsets of the tensor", "something else in the header");
}

function readSpan(
	source: ByteSource,
	{ start, end }: TensorSpan,
	file: Pick<TensorFile, "path" | "dtype" | "shape">,
) {
	const { dtype, shape } = file;
	const needed = tensorBytes(file);
	if (end - start === needed && end <= source.size)
		return { dtype, shape, data: source.read(start, needed).slice() };
	const expected = `${needed} bytes inside the file for ${formatLayout(file)}`;
	throw tensorInvalid(file, expected, `bytes ${start} to ${end} of ${source.size}`);
}

function readHeader(source: ByteSource, file: MemberFile) {
	const wrong = (got: string) => tensorInvalid(file, "a safetensors file", got);
	if (source.size < lengthBytes) throw wrong(`${source.size} bytes`);
	const head = source.read(0, lengthBytes);
	const length = new DataView(head.buffer, head.byteOffset, lengthBytes).getBigUint64(0, true);
	if (length > BigInt(maxHeaderBytes))
		throw wrong(`a header of ${length} bytes, where ${maxHeaderBytes} are read`);
	const dataAt = lengthBytes + Number(length);
	if (dataAt > source.size) throw wrong("a header that ends beyond the file");
	const entries = parseJson(source.read(lengthBytes, Number(length)));
	if (isObject(entries)) return { entries, dataAt };
	throw wrong("a header that is not a JSON object");
}

interface TensorSpan {
	dtype: string;
	shape: number[];
	start: number;
	end: number;
}

function isSizes(value: unknown): value is number[] {
	return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}
