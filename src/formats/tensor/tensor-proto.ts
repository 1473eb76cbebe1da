// ONNX TensorProto files (.pb), as the test data sets beside ONNX models hold them.

import type { DType, TensorFile } from "../../../generated/golden.ts";
import { isPacked } from "../../core/golden/tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../../core/golden/tensor/tensor.ts";
import { elementTypeOfCode, toDType } from "../../core/onnx/element-type.ts";
import { type Field, readFields, readVarint } from "./protobuf.ts";
import { checkLayout, formatLayout, tensorInvalid } from "./refusal.ts";

const fieldOf = {
	dims: 1,
	dataType: 2,
	segment: 3,
	floats: 4,
	int32s: 5,
	strings: 6,
	int64s: 7,
	raw: 9,
	doubles: 10,
	name: 8,
	uint64s: 11,
	external: 13,
	location: 14,
};

/** Which typed field holds the values where raw_data does not (comments of onnx.proto); else int32_data. */
const typedField: Readonly<Partial<Record<DType, number>>> = {
	float32: fieldOf.floats,
	float64: fieldOf.doubles,
	int64: fieldOf.int64s,
	uint32: fieldOf.uint64s,
	uint64: fieldOf.uint64s,
};

interface Draft {
	dims: bigint[];
	code: number;
	name: string;
	raw: Uint8Array | null;
	typed: Map<number, Field[]>;
	refused: string | null;
}

const maxRank = 16;

export function decodeTensorProto(bytes: Uint8Array, file: TensorFile, path: string): Tensor {
	const { draft, got } = readDraft(bytes);
	if (got !== null) throw tensorInvalid(path, "an ONNX TensorProto", got);
	if (draft.refused !== null)
		throw tensorInvalid(
			path,
			"the values inside the file",
			draft.refused,
			"Save with onnx.numpy_helper.from_array.",
		);
	checkLayout(draft.layout, file, path);
	const { dtype, shape } = file;
	const data = draft.raw === null ? typedValues(draft, file, path) : rawValues(draft.raw, file, path);
	return { dtype, shape, data };
}

/**
 * Dtype, shape and name that a file says of itself, for files that no manifest describes.
 * @throws ConfigError tensor-invalid where it is no tensor, or of a type that no golden holds.
 */
export function describeTensorProto(
	bytes: Uint8Array,
	path: string,
): { dtype: DType; shape: number[]; name: string } {
	const { draft, got } = readDraft(bytes);
	const { layout, name } = draft;
	const dtype = toDType(elementTypeOfCode(draft.code));
	if (
		got === null &&
		dtype !== null &&
		layout.shape.length <= maxRank &&
		layout.shape.every(Number.isSafeInteger)
	)
		return { dtype, shape: layout.shape, name };
	throw tensorInvalid(path, "an ONNX TensorProto of numbers", got ?? formatLayout(layout));
}

function readDraft(bytes: Uint8Array) {
	const draft: Draft = { dims: [], code: 0, name: "", raw: null, typed: new Map(), refused: null };
	const problem = readFields(bytes, (field) => takeField(draft, field));
	const type = elementTypeOfCode(draft.code);
	const layout = { dtype: toDType(type) ?? type, shape: draft.dims.map(Number) };
	return { draft: { ...draft, layout }, got: problem?.got ?? null };
}

function takeField(draft: Draft, field: Field): void {
	switch (field.number) {
		case fieldOf.dims:
			// One more than the largest rank is enough to see that it is too large.
			for (const dim of varints(field, maxRank + 1 - draft.dims.length)) draft.dims.push(dim);
			break;
		case fieldOf.dataType:
			draft.code = Number(firstVarint(field));
			break;
		case fieldOf.name:
			draft.name = new TextDecoder().decode(field.bytes);
			break;
		case fieldOf.raw:
			draft.raw = field.bytes;
			break;
		case fieldOf.segment:
			draft.refused = "a segment of a tensor";
			break;
		case fieldOf.external:
			draft.refused = "values in another file";
			break;
		case fieldOf.location:
			if (firstVarint(field) !== 0n) draft.refused = "values in another file";
			break;
		default: {
			const fields = draft.typed.get(field.number) ?? [];
			fields.push(field);
			draft.typed.set(field.number, fields);
		}
	}
}

function rawValues(raw: Uint8Array, file: TensorFile, path: string): Uint8Array {
	const needed = tensorBytes(file);
	if (raw.length !== needed)
		throw tensorInvalid(path, `${needed} bytes for ${formatLayout(file)}`, `${raw.length} bytes`);
	return raw.byteOffset % elementBytes[file.dtype] === 0 ? raw : raw.slice();
}

function typedValues(draft: Draft, file: TensorFile, path: string): Uint8Array {
	const fields = draft.typed.get(typedField[file.dtype] ?? fieldOf.int32s) ?? [];
	// Two 4-bit numbers stand in one typed value.
	const needed = isPacked(file.dtype) ? tensorBytes(file) : elementCount(file.shape);
	const wrong = (got: number | string): Error =>
		tensorInvalid(path, `${needed} values for ${formatLayout(file)}`, `${got} values`);
	// Each value takes at least a byte, so that nothing is allocated for values that cannot be there.
	const present = fields.reduce((sum, field) => sum + field.bytes.length, 0);
	if (present < needed) throw wrong(`at most ${present}`);
	const out = new Uint8Array(tensorBytes(file));
	const fixed = file.dtype === "float32" || file.dtype === "float64";
	const count = fixed
		? copyFixed(fields, out) / elementBytes[file.dtype]
		: copyVarints(fields, out, file.dtype);
	if (count !== needed) throw wrong(count > needed ? `more than ${needed}` : count);
	return out;
}

/** @returns the bytes that were there. */
function copyFixed(fields: readonly Field[], out: Uint8Array): number {
	let at = 0;
	for (const { bytes } of fields) {
		if (at + bytes.length <= out.length) out.set(bytes, at);
		at += bytes.length;
	}
	return at;
}

/** Writes the low bytes of each varint: two's complement and bit patterns of 16-bit floats are both just that. @returns the values. */
function copyVarints(fields: readonly Field[], out: Uint8Array, dtype: DType): number {
	const size = Math.ceil(elementBytes[dtype]);
	const capacity = out.length / size;
	let count = 0;
	for (const field of fields) {
		for (const value of varints(field, capacity + 1 - count)) {
			if (count < capacity) writeLow(out, count * size, { value, size });
			count += 1;
		}
	}
	return count;
}

function writeLow(out: Uint8Array, at: number, low: { value: bigint; size: number }): void {
	let remaining = low.value;
	for (let i = 0; i < low.size; i += 1) {
		out[at + i] = Number(remaining & 0xffn);
		remaining >>= 8n;
	}
}

function* varints(field: Field, limit: number): Generator<bigint> {
	let at = 0;
	for (let count = 0; count < limit && at < field.bytes.length; count += 1) {
		const varint = readVarint(field.bytes, at);
		if (varint === null) return;
		yield varint.value;
		at = varint.end;
	}
}

function firstVarint(field: Field): bigint {
	return readVarint(field.bytes, 0)?.value ?? 0n;
}
