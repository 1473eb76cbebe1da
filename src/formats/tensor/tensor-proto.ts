// Reads ONNX TensorProto files (.pb), which test data sets of ONNX models contain.
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { elementTypeOfCode, toDType } from "../../core/onnx/model.ts";
import { isPacked } from "../../golden/core/tensor/small-numbers.ts";
import { elementBytes, elementCount, type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import { type Field, readFields, readVarint } from "./protobuf.ts";
import { checkLayout, formatLayout, tensorInvalid } from "./refusal.ts";

const fieldOf = { dims: 1, dataType: 2, segment: 3, int32s: 5, raw: 9, external: 13, location: 14 };

/** The field of values if there is no raw_data (comments of onnx.proto); else int32_data. */
const typedField: Readonly<Partial<Record<DType, number>>> = {
	float32: 4,
	int64: 7,
	float64: 10,
	uint32: 11,
	uint64: 11,
};

interface Draft {
	dims: bigint[];
	code: number;
	raw: Uint8Array | null;
	typed: Map<number, Field[]>;
	refused: string | null;
}

const maxRank = 16;

export function decodeTensorProto(bytes: Uint8Array, file: TensorFile): Tensor {
	const { draft, layout, fault } = readDraft(bytes);
	if (fault !== null) throw tensorInvalid(file, "an ONNX TensorProto", fault);
	if (draft.refused !== null) {
		const fix = "Save with onnx.numpy_helper.from_array.";
		throw tensorInvalid(file, "the values inside the file", draft.refused, fix);
	}
	checkLayout(layout, file);
	const { dtype, shape } = file;
	const data = draft.raw === null ? typedValues(draft, file) : rawValues(draft.raw, file);
	return { dtype, shape, data };
}

export function describeTensorProto(
	bytes: Uint8Array,
	file: Pick<TensorFile, "path">,
): { dtype: DType; shape: number[] } {
	const { layout, dtype, fault } = readDraft(bytes);
	const { shape } = layout;
	if (fault === null && dtype !== null && shape.length <= maxRank && shape.every(Number.isSafeInteger))
		return { dtype, shape };
	throw tensorInvalid(file, "an ONNX TensorProto of numbers", fault ?? formatLayout(layout));
}

function readDraft(bytes: Uint8Array) {
	const draft: Draft = { dims: [], code: 0, raw: null, typed: new Map(), refused: null };
	const problem = readFields(bytes, (field) => takeField(draft, field));
	const type = elementTypeOfCode(draft.code);
	const dtype = toDType(type);
	const layout = { dtype: dtype ?? type, shape: draft.dims.map(Number) };
	return { draft, layout, dtype, fault: problem?.got ?? null };
}

function takeField(draft: Draft, field: Field) {
	const { number, bytes } = field;
	if (number === fieldOf.dims)
		// One dimension beyond the largest rank shows that there are too many.
		draft.dims.push(...varints(field, maxRank + 1 - draft.dims.length));
	else if (number === fieldOf.dataType) draft.code = Number(firstVarint(field));
	else if (number === fieldOf.raw) draft.raw = bytes;
	else if (number === fieldOf.segment) draft.refused = "a segment of a tensor";
	else if (number === fieldOf.external) draft.refused = "values in another file";
	else if (number !== fieldOf.location) {
		const fields = draft.typed.get(number) ?? [];
		fields.push(field);
		draft.typed.set(number, fields);
	} else if (firstVarint(field) !== 0n) draft.refused = "values in another file";
}

function rawValues(raw: Uint8Array, file: TensorFile) {
	const needed = tensorBytes(file);
	if (raw.length !== needed)
		throw tensorInvalid(file, `${needed} bytes for ${formatLayout(file)}`, `${raw.length} bytes`);
	return raw.byteOffset % elementBytes[file.dtype] === 0 ? raw : raw.slice();
}

function typedValues({ typed }: Draft, file: TensorFile) {
	const { dtype } = file;
	const fields = typed.get(typedField[dtype] ?? fieldOf.int32s) ?? [];
	// Each typed value holds two 4-bit numbers.
	const needed = isPacked(dtype) ? tensorBytes(file) : elementCount(file.shape);
	const wrong = (got: number | string) =>
		tensorInvalid(file, `${needed} values for ${formatLayout(file)}`, `${got} values`);
	// Nothing is allocated for values that cannot be there: each takes at least a byte.
	const present = fields.reduce((sum, field) => sum + field.bytes.length, 0);
	if (present < needed) throw wrong(`at most ${present}`);
	const out = new Uint8Array(tensorBytes(file));
	const size = Math.ceil(elementBytes[dtype]);
	const isFixed = dtype === "float32" || dtype === "float64";
	const count = isFixed ? copyFixed(fields, out) / size : copyVarints(fields, out, size);
	if (count !== needed) throw wrong(count > needed ? `more than ${needed}` : count);
	return out;
}

function copyFixed(fields: readonly Field[], out: Uint8Array) {
	let at = 0;
	for (const { bytes } of fields) {
		if (at + bytes.length <= out.length) out.set(bytes, at);
		at += bytes.length;
	}
	return at;
}

/** Takes the low bytes: two's complement, or the bits of a 16-bit float. @returns the number of values. */
function copyVarints(fields: readonly Field[], out: Uint8Array, size: number) {
	const capacity = out.length / size;
	let count = 0;
	for (const field of fields)
		for (let value of varints(field, capacity + 1 - count)) {
			for (let i = 0; count < capacity && i < size; i += 1) {
				out[count * size + i] = Number(value & 0xffn);
				value >>= 8n;
			}
			count += 1;
		}
	return count;
}

function* varints({ bytes }: Field, limit: number) {
	let at = 0;
	for (let count = 0; count < limit && at < bytes.length; count += 1) {
		const varint = readVarint(bytes, at);
		if (varint === null) return;
		yield varint.value;
		at = varint.end;
	}
}

function firstVarint(field: Field) {
	return readVarint(field.bytes, 0)?.value ?? 0n;
}
