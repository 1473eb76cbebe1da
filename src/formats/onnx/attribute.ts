// Reads AttributeProto and ValueInfoProto; graphs only by their location.
import { elementTypeOfCode } from "../../core/onnx/element-type.ts";
import type { OnnxAttribute, OnnxDim, OnnxInitializer, OnnxValue } from "../../core/onnx/model.ts";
import { limits } from "./head.ts";
import { readTensor } from "./tensor.ts";
import type { Span, WireReader } from "./wire.ts";

function emptyDraft() {
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

type Draft = ReturnType<typeof emptyDraft>;

export function readAttribute(wire: WireReader): { attribute: OnnxAttribute; graphs: readonly Span[] } {
	wire.keep(2);
	const draft = emptyDraft();
	wire.message((field) => readField(wire, field, draft));
	const { name, tensor, reference, graphs } = draft;
	const attribute: OnnxAttribute = { name, value: givenValue(draft) };
	if (tensor !== null) attribute.tensor = tensor;
	if (reference !== "") attribute.reference = reference;
	return { attribute, graphs };
}

/** Fields of onnx.proto: name 1, f 2, i 3, s 4, t 5, g 6, floats 7, ints 8, strings 9, graphs 11, type 20, ref_attr_name 21. */
function readField(wire: WireReader, field: number, draft: Draft): void {
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
	const isFull = draft.texts.length >= limits.attributeEntries;
	const text = isFull ? null : wire.shortText(limits.attributeTextBytes);
	if (text === null) draft.isLong = true;
	else draft.texts.push(text);
}

function givenValue({ isLong, reference, numbers, texts, value, type }: Draft): OnnxAttribute["value"] {
	if (isLong || reference !== "") return null;
	if (numbers.length > 0) return numbers;
	if (texts.length > 0) return texts;
	// Writers may omit a value that is zero or empty: f 1, i 2, s 3, floats 6, ints 7, strings 8.
	const omitted = [null, 0, 0, "", null, null, [], [], []];
	return value ?? omitted[type] ?? null;
}

/** Fields of onnx.proto: name 1, type 2. */
export function readValueInfo(wire: WireReader, hasShape = true): OnnxValue {
	wire.keep(2);
	let name = "";
	let type = noType;
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 2) type = readType(wire, hasShape);
	});
	return { name, ...type };
}

type ValueType = Pick<OnnxValue, "kind" | "dtype" | "dims">;

const noType: ValueType = { kind: "unknown", dtype: "undefined", dims: null };
/** Fields of TypeProto; opaque is 7. */
const typeKinds: Readonly<Record<number, OnnxValue["kind"]>> = {
	1: "tensor",
	4: "sequence",
	5: "map",
	8: "sparse-tensor",
	9: "optional",
};

function readType(wire: WireReader, hasShape: boolean): ValueType {
	let type = noType;
	wire.message((field) => {
		const kind = typeKinds[field];
		if (kind !== undefined) type = readTypeOf(wire, kind, hasShape);
	});
	return type;
}

/** A tensor's element type 1 and shape 2; the element type of sequences and optionals 1, of maps 2. */
function readTypeOf(wire: WireReader, kind: OnnxValue["kind"], hasShape: boolean): ValueType {
	const isTensor = kind === "tensor" || kind === "sparse-tensor";
	let dtype: OnnxValue["dtype"] = "undefined";
	let dims: OnnxDim[] | null = null;
	wire.message((field) => {
		if (isTensor && field === 1) dtype = elementTypeOfCode(wire.number("int32"));
		else if (isTensor && field === 2 && hasShape) dims = readShape(wire);
		else if (!isTensor && field === (kind === "map" ? 2 : 1)) dtype = readType(wire, false).dtype;
	});
	return { kind, dtype, dims };
}

function readShape(wire: WireReader): OnnxDim[] {
	const dims: OnnxDim[] = [];
	wire.message((field) => {
		if (field !== 1) return;
		if (dims.length >= limits.rank) throw wire.fault(`has a tensor of more than ${limits.rank} dimensions`);
		wire.keep();
		let dim: OnnxDim = null;
		wire.message((inner) => {
			if (inner === 1) dim = wire.number("int64");
			else if (inner === 2) dim = wire.text() || null;
		});
		dims.push(typeof dim === "number" && dim < 0 ? null : dim);
	});
	return dims;
}
