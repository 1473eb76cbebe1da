// Reads TensorProto, without large payloads, and AttributeProto, with graphs only by their location.
import {
	elementBits,
	elementTypeOfCode,
	type OnnxAttribute,
	type OnnxDType,
	type OnnxInitializer,
	tensorBytes,
	toDType,
} from "../../core/onnx/model.ts";
import { type FloatFormat, floatOf } from "../../golden/core/tensor/small-numbers.ts";
import { valuesOf } from "../../golden/core/tensor/values.ts";
import { limits } from "./head.ts";
import type { NumberKind, Span, WireReader } from "./wire.ts";

export const spans = new WeakMap<OnnxInitializer, Span>();

/** Fields of onnx.proto that hold values by type; string_data is 6. */
const typedFields: Readonly<Record<number, NumberKind>> = {
	4: "float",
	5: "int32",
	7: "int64",
	10: "double",
	11: "uint64",
};
const mostRawBytes = limits.valueElements * 16;
const mostTypedBytes = limits.valueElements * 10;

function emptyDraft() {
	return {
		name: "",
		dtype: "undefined" as OnnxDType,
		dims: [] as number[],
		span: null as Span | null,
		raw: null as Uint8Array | null,
		rawBytes: null as number | null,
		typed: [] as number[],
		typedBytes: 0,
		pairs: new Map<string, string>(),
		isExternal: false,
	};
}

type Draft = ReturnType<typeof emptyDraft>;

export function readTensor(wire: WireReader): OnnxInitializer {
	wire.keep(4);
	const draft = emptyDraft();
	wire.message((field) => readField(wire, field, draft));
	const tensor = finish(wire, draft);
	if (draft.span !== null) spans.set(tensor, draft.span);
	return tensor;
}

function readField(wire: WireReader, field: number, draft: Draft) {
	const typed = typedFields[field];
	if (typed !== undefined) readTyped(wire, typed, draft);
	else if (field === 1) wire.numbers("int64", (size) => addDim(wire, draft.dims, size));
	else if (field === 2) draft.dtype = elementTypeOfCode(wire.number("int32"));
	else if (field === 6) draft.typedBytes += wire.peekLength();
	else if (field === 8) draft.name = wire.text();
	else if (field === 9) {
		draft.span = wire.span();
		draft.rawBytes = draft.span.end - draft.span.start;
		draft.raw = draft.rawBytes > mostRawBytes ? null : wire.bytes(draft.span);
	} else if (field === 13) readPair(wire, draft.pairs);
	else if (field === 14) draft.isExternal = wire.number("int32") === 1;
}

function readPair(wire: WireReader, pairs: Map<string, string>) {
	let [key, value] = ["", ""];
	wire.message((field) => {
		if (field === 1) key = wire.text();
		else if (field === 2) value = wire.text();
	});
	pairs.set(key, value);
}

function addDim(wire: WireReader, dims: number[], size: number) {
	if (dims.length >= limits.rank) throw wire.fault(`has a tensor of more than ${limits.rank} dimensions`);
	if (size < 0) throw wire.fault(`has a tensor with a negative dimension (${size})`);
	wire.keep();
	dims.push(size);
}

function readTyped(wire: WireReader, kind: NumberKind, draft: Draft) {
	const bytes = wire.peekLength();
	draft.typedBytes += bytes;
	// Packed floats can be changed in place as raw ones can.
	if (draft.rawBytes === null && (kind === "float" || kind === "double")) draft.span = wire.peek();
	if (bytes > mostTypedBytes) return;
	wire.numbers(kind, (value) => {
		if (draft.typed.length <= limits.valueElements) draft.typed.push(value);
	});
}

function finish(wire: WireReader, draft: Draft): OnnxInitializer {
	const { name, dtype, dims, raw, rawBytes, typed, typedBytes } = draft;
	const elements = dims.reduce((product, size) => product * size, 1);
	if (draft.isExternal) {
		const external = externalData(wire, name, draft.pairs);
		const bytes = external.length ?? tensorBytes(dtype, elements) ?? 0;
		return { name, dtype, dims, bytes, storage: "external", external };
	}
	const storage = rawBytes !== null ? "raw" : typedBytes > 0 ? "typed" : "none";
	const given = { name, dtype, dims, bytes: rawBytes ?? typedBytes, storage } as const;
	if (elements > limits.valueElements || (rawBytes !== null && raw === null)) return given;
	const values = raw === null ? typedValues(dtype, typed, elements) : rawValues(dtype, raw, elements);
	return values === null ? given : { ...given, values };
}

function externalData(wire: WireReader, tensor: string, pairs: ReadonlyMap<string, string>) {
	const size = (key: string) => {
		const text = pairs.get(key);
		if (text === undefined || text === "") return null;
		const value = Number(text);
		if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
		throw wire.fault(
			`gives ${JSON.stringify(text.slice(0, 40))} as ${key} of the external data of tensor ${JSON.stringify(tensor.slice(0, 80))}`,
		);
	};
	return { location: pairs.get("location") ?? "", offset: size("offset") ?? 0, length: size("length") };
}

/** SparseTensorProto: values 1 (which carries the name), indices 2, dims 3. */
export function readSparseTensor(wire: WireReader): OnnxInitializer {
	let tensor: OnnxInitializer = { name: "", dtype: "undefined", dims: [], bytes: 0, storage: "none" };
	let indexBytes = 0;
	const dims: number[] = [];
	wire.message((field) => {
		if (field === 1) tensor = readTensor(wire);
		else if (field === 2) indexBytes = readTensor(wire).bytes;
		else if (field === 3) wire.numbers("int64", (size) => addDim(wire, dims, size));
	});
	const { values: _, ...rest } = tensor;
	return { ...rest, dims, bytes: rest.bytes + indexBytes, sparse: true };
}

/** Formats of the ONNX page "Float stored in 8 bits". */
const rareFloats: Partial<Record<OnnxDType, FloatFormat>> = {
	float8e4m3fnuz: { exponentBits: 4, fractionBits: 3, bias: 8, special: "unsigned-zero" },
	float8e5m2fnuz: { exponentBits: 5, fractionBits: 2, bias: 16, special: "unsigned-zero" },
};

function rawValues(dtype: OnnxDType, raw: Uint8Array, elements: number) {
	if (tensorBytes(dtype, elements) !== raw.length) return null;
	const common = toDType(dtype);
	if (common !== null) return [...valuesOf({ dtype: common, shape: [elements], data: raw })];
	const bits = elementBits(dtype) ?? 8;
	if (bits > 8) return null;
	return Array.from({ length: elements }, (_, index) => {
		const bit = index * bits;
		const pattern = ((raw[Math.floor(bit / 8)] ?? 0) >>> (bit % 8)) & ((1 << bits) - 1);
		const format = rareFloats[dtype];
		if (format !== undefined) return floatOf(pattern, format);
		if (dtype === "float8e8m0") return pattern === 255 ? NaN : 2 ** (pattern - 127);
		return dtype === "int2" && pattern > 1 ? pattern - 4 : pattern;
	});
}

/** Values of float_data, int32_data and similar fields; int32_data holds small floats and packed nibbles as bits. */
function typedValues(dtype: OnnxDType, entries: readonly number[], elements: number) {
	const bits = elementBits(dtype);
	if (bits === null || dtype.startsWith("complex")) return null;
	if (bits < 8 || dtype.startsWith("float8")) return rawValues(dtype, Uint8Array.from(entries), elements);
	if (dtype === "float16" || dtype === "bfloat16")
		return rawValues(dtype, new Uint8Array(Uint16Array.from(entries).buffer), elements);
	return entries.length === elements ? [...entries] : null;
}

function emptyAttribute() {
	return {
		name: "",
		reference: "",
		type: 0,
		value: null as OnnxAttribute["value"],
		numbers: [] as number[],
		texts: [] as string[],
		isLong: false,
		tensor: null as OnnxInitializer | null,
		graphs: [] as Span[],
	};
}

type AttributeDraft = ReturnType<typeof emptyAttribute>;

export function readAttribute(wire: WireReader): { attribute: OnnxAttribute; graphs: readonly Span[] } {
	wire.keep(2);
	const draft = emptyAttribute();
	wire.message((field) => readAttributeField(wire, field, draft));
	const { name, tensor, reference, graphs } = draft;
	const attribute: OnnxAttribute = { name, value: givenValue(draft) };
	if (tensor !== null) attribute.tensor = tensor;
	if (reference !== "") attribute.reference = reference;
	return { attribute, graphs };
}

/** Fields of onnx.proto: name 1, f 2, i 3, s 4, t 5, g 6, floats 7, ints 8, strings 9, graphs 11, type 20, ref_attr_name 21. */
function readAttributeField(wire: WireReader, field: number, draft: AttributeDraft) {
	if (field === 1) draft.name = wire.text();
	else if (field === 2) draft.value = wire.number("float");
	else if (field === 3) draft.value = wire.number("int64");
	else if (field === 4) {
		draft.value = wire.shortText(limits.attributeTextBytes);
		draft.isLong = draft.value === null;
	} else if (field === 5) draft.tensor = readTensor(wire);
	else if (field === 6 || field === 11) {
		wire.keep(8);
		draft.graphs.push(wire.span());
	} else if (field === 7) addNumbers(wire, "float", draft);
	else if (field === 8) addNumbers(wire, "int64", draft);
	else if (field === 9) addText(wire, draft);
	else if (field === 20) draft.type = wire.number("int32");
	else if (field === 21) draft.reference = wire.text();
}

/** A number takes one to ten bytes. */
function addNumbers(wire: WireReader, kind: "float" | "int64", draft: AttributeDraft) {
	draft.isLong ||= wire.peekLength() > limits.attributeEntries * 10;
	if (draft.isLong) return;
	wire.numbers(kind, (value) => {
		draft.isLong ||= draft.numbers.length >= limits.attributeEntries;
		if (draft.isLong) return;
		wire.keep();
		draft.numbers.push(value);
	});
}

function addText(wire: WireReader, draft: AttributeDraft) {
	const isFull = draft.texts.length >= limits.attributeEntries;
	const text = isFull ? null : wire.shortText(limits.attributeTextBytes);
	if (text === null) draft.isLong = true;
	else draft.texts.push(text);
}

function givenValue({ isLong, reference, numbers, texts, value, type }: AttributeDraft) {
	if (isLong || reference !== "") return null;
	if (numbers.length > 0) return numbers;
	if (texts.length > 0) return texts;
	// Writers may omit a value that is zero or empty: f 1, i 2, s 3, floats 6, ints 7, strings 8.
	const omitted = [null, 0, 0, "", null, null, [], [], []];
	return value ?? omitted[type] ?? null;
}
