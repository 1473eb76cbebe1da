// Reads AttributeProto: scalars, short lists and tensors; graphs only by their location.
import { elementTypeOfCode } from "../../core/onnx/element-type.ts";
import type { OnnxAttribute, OnnxDim, OnnxInitializer, OnnxValue } from "../../core/onnx/model.ts";
import { limits } from "./cursor.ts";
import { readTensor } from "./tensor.ts";
import type { Span, WireReader } from "./wire.ts";

function emptyDraft() {
	return {
		name: "",
		reference: "",
		/** AttributeProto.AttributeType, 0 if the file (IR < 2) states none. */
		type: 0,
		value: null as OnnxAttribute["value"],
		numbers: [] as number[],
		texts: [] as string[],
		isLong: false,
		tensor: null as OnnxInitializer | null,
		graphs: [] as Span[],
	};
}

type Draft = ReturnType<typeof emptyDraft>;

/** Graphs are read later, by their location. */
export function readAttribute(wire: WireReader): { attribute: OnnxAttribute; graphs: readonly Span[] } {
	wire.keep(2);
	const draft = emptyDraft();
	wire.message((field) => readAttributeField(wire, field, draft));
	const attribute: OnnxAttribute = { name: draft.name, value: attributeValue(draft) };
	if (draft.tensor !== null) attribute.tensor = draft.tensor;
	if (draft.reference !== "") attribute.reference = draft.reference;
	return { attribute, graphs: draft.graphs };
}

/** Fields of onnx.proto: name 1, f 2, i 3, s 4, t 5, g 6, floats 7, ints 8, strings 9, graphs 11, type 20, ref_attr_name 21. */
function readAttributeField(wire: WireReader, field: number, draft: Draft): void {
	if (field === 1) draft.name = wire.text();
	else if (field === 2) draft.value = wire.float();
	else if (field === 3) draft.value = wire.int64();
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
	else if (field === 20) draft.type = wire.int32();
	else if (field === 21) draft.reference = wire.text();
}

/** A varint or float takes at least one byte, so a payload longer than that in bytes may still be short in entries. */
function addNumbers(wire: WireReader, kind: "float" | "int64", draft: Draft): void {
	draft.isLong ||= wire.peekLength() > limits.attributeEntries * 10;
	if (draft.isLong) return;
	wire.numbers(kind, (value) => {
		draft.isLong ||= draft.numbers.length >= limits.attributeEntries;
		if (draft.isLong) return;
		wire.keep();
		draft.numbers.push(value);
	});
}

function addText(wire: WireReader, draft: Draft): void {
	const text =
		draft.texts.length < limits.attributeEntries ? wire.shortText(limits.attributeTextBytes) : null;
	if (text === null) draft.isLong = true;
	else draft.texts.push(text);
}

/** AttributeType of values that writers may omit if zero or empty. */
const defaults: Readonly<Record<number, () => OnnxAttribute["value"]>> = {
	1: () => 0,
	2: () => 0,
	3: () => "",
	6: () => [],
	7: () => [],
	8: () => [],
};

function attributeValue(draft: Draft): OnnxAttribute["value"] {
	if (draft.isLong || draft.reference !== "") return null;
	if (draft.numbers.length > 0) return draft.numbers;
	if (draft.texts.length > 0) return draft.texts;
	return draft.value ?? defaults[draft.type]?.() ?? null;
}

// Reads ValueInfoProto and the types in it.

type ValueType = Pick<OnnxValue, "kind" | "dtype" | "dims">;

/** Fields of onnx.proto: name 1, type 2. */
export function readValueInfo(wire: WireReader, readDims = readShape): OnnxValue {
	wire.keep(2);
	let name = "";
	let type: ValueType = { kind: "unknown", dtype: "undefined", dims: null };
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 2) type = readType(wire, readDims);
	});
	return { name, ...type };
}

/** TypeProto: tensor 1, sequence 4, map 5, opaque 7, sparse tensor 8, optional 9. */
function readType(wire: WireReader, readDims = readShape): ValueType {
	let type: ValueType = { kind: "unknown", dtype: "undefined", dims: null };
	wire.message((field) => {
		if (field === 1) type = readTensorType(wire, "tensor", readDims);
		else if (field === 8) type = readTensorType(wire, "sparse-tensor", readDims);
		else if (field === 4) type = readContainer(wire, "sequence");
		else if (field === 5) type = readContainer(wire, "map");
		else if (field === 9) type = readContainer(wire, "optional");
	});
	return type;
}

/** Element type: field 1 of sequences and optionals, field 2 of maps (whose field 1 is the key's code). */
function readContainer(wire: WireReader, kind: "sequence" | "map" | "optional"): ValueType {
	const elementField = kind === "map" ? 2 : 1;
	let dtype: OnnxValue["dtype"] = "undefined";
	wire.message((field) => {
		if (field === elementField) dtype = readType(wire).dtype;
	});
	return { kind, dtype, dims: null };
}

function readTensorType(
	wire: WireReader,
	kind: "tensor" | "sparse-tensor",
	readDims: typeof readShape,
): ValueType {
	let dtype: OnnxValue["dtype"] = "undefined";
	let dims: OnnxDim[] | null = null;
	wire.message((field) => {
		if (field === 1) dtype = elementTypeOfCode(wire.int32());
		else if (field === 2) dims = readDims(wire);
	});
	return { kind, dtype, dims };
}

function readShape(wire: WireReader): OnnxDim[] | null {
	const dims: OnnxDim[] = [];
	wire.message((field) => {
		if (field !== 1) return;
		if (dims.length >= limits.rank) throw wire.fault(`has a tensor of more than ${limits.rank} dimensions`);
		wire.keep();
		dims.push(readDim(wire));
	});
	return dims;
}

function readDim(wire: WireReader): OnnxDim {
	let dim: OnnxDim = null;
	wire.message((field) => {
		if (field === 1) {
			const size = wire.int64();
			dim = size < 0 ? null : size;
		} else if (field === 2) dim = wire.text() || null;
	});
	return dim;
}
