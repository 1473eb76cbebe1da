// Finds the byte ranges of the float weights of a model, so that they can be changed in place.

import { elementTypeOfCode, toDType } from "../../core/onnx/element-type.ts";
import {
	type WeightDType,
	type WeightLocation,
	weightDTypes,
} from "../../golden/core/record/defects/weights.ts";
import { elementBytes } from "../../golden/core/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { limits } from "./cursor.ts";
import { externalDataOf, readPair } from "./tensor.ts";
import { type Span, WireReader } from "./wire.ts";

export interface WeightPlaces {
	places: WeightLocation[];
	/** Float weights stored as protobuf numbers of changing length: they cannot be changed in place. */
	unplaced: string[];
}

/** Tensors inside Constant nodes are weights from this size on; smaller ones are mostly shapes, limits and scales. */
const minConstant = 16;
const minQuantised = 16;

/** @throws ConfigError model-unreadable. */
export function findWeights(source: ByteSource, path: string): WeightPlaces {
	const wire = new WireReader(source, path);
	wire.recognise();
	const found: WeightPlaces = { places: [], unplaced: [] };
	wire.fields((field) => {
		if (field === 7) wire.message((inner) => readGraph(wire, inner, found));
	});
	return found;
}

/** GraphProto: node 1, initializer 5. */
function readGraph(wire: WireReader, field: number, found: WeightPlaces): void {
	if (field === 5) keep(wire, readPlace(wire), { found, least: 1 });
	else if (field === 1) readNode(wire, found);
}

/** NodeProto: output 2, attribute 5; AttributeProto: t 5, g 6. */
function readNode(wire: WireReader, found: WeightPlaces): void {
	let output = "";
	const drafts: Draft[] = [];
	wire.message((field) => {
		if (field === 2 && output === "") output = wire.text();
		if (field !== 5) return;
		wire.message((inner) => {
			if (inner === 5) drafts.push(readPlace(wire));
			else if (inner === 6) wire.message((graph) => readGraph(wire, graph, found));
		});
	});
	for (const draft of drafts)
		keep(wire, { ...draft, name: draft.name === "" ? output : draft.name }, { found, least: minConstant });
}

interface Draft {
	name: string;
	code: number;
	dims: number[];
	raw: Span | null;
	/** Place of packed float_data or double_data: little-endian values, as in raw_data. */
	packed: Span | null;
	pairs: [string, string][];
	external: boolean;
}

function readPlace(wire: WireReader): Draft {
	const draft: Draft = { name: "", code: 0, dims: [], raw: null, packed: null, pairs: [], external: false };
	wire.message((field) => readTensorField(wire, field, draft));
	return draft;
}

/** TensorProto: dims 1, data_type 2, float_data 4, name 8, raw_data 9, double_data 10, external_data 13, data_location 14. */
function readTensorField(wire: WireReader, field: number, draft: Draft): void {
	if (field === 1) {
		wire.numbers("int64", (size) => {
			draft.dims.push(size);
		});
	} else if (field === 2) draft.code = wire.int32();
	else if (field === 8) draft.name = wire.text();
	else if (field === 9) draft.raw = wire.span();
	else if ((field === 4 || field === 10) && wire.peekLength() > 1) draft.packed = wire.span();
	else if (field === 13) draft.pairs.push(readPair(wire));
	else if (field === 14) draft.external = wire.int32() === 1;
}

function weightDType(code: number): WeightDType | undefined {
	const dtype = toDType(elementTypeOfCode(code));
	return weightDTypes.find((weight) => weight === dtype);
}

function keep(wire: WireReader, draft: Draft, into: { found: WeightPlaces; least: number }): void {
	const dtype = weightDType(draft.code);
	const elements = draft.dims.reduce((product, size) => product * size, 1);
	if (dtype === undefined || !(elements >= (elementBytes[dtype] === 1 ? minQuantised : into.least))) return;
	const bytes = elements * elementBytes[dtype];
	const place = placeOf(wire, draft, bytes);
	wire.keep();
	if (place === null) into.found.unplaced.push(draft.name);
	else if (into.found.places.length < limits.elements)
		into.found.places.push({ name: draft.name, dtype, dims: draft.dims, bytes, ...place });
}

function placeOf(
	wire: WireReader,
	draft: Draft,
	bytes: number,
): Pick<WeightLocation, "file" | "offset"> | null {
	if (draft.external) {
		const { location, offset, length } = externalDataOf(wire, draft.name, draft.pairs);
		return length === null || length >= bytes ? { file: location, offset } : null;
	}
	const span = draft.raw ?? draft.packed;
	return span !== null && span.end - span.start === bytes ? { file: null, offset: span.start } : null;
}
