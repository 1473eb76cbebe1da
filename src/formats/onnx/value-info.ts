// Reads ValueInfoProto and the types in it.
import { elementTypeOfCode } from "../../core/onnx/element-type.ts";
import type { OnnxDim, OnnxValue } from "../../core/onnx/model.ts";
import { limits } from "./limits.ts";
import type { WireReader } from "./wire.ts";

type ValueType = Pick<OnnxValue, "kind" | "dtype" | "dims">;

/** Fields of onnx.proto: name 1, type 2. */
export function readValueInfo(wire: WireReader): OnnxValue {
	wire.keep(2);
	let name = "";
	let type: ValueType = { kind: "unknown", dtype: "undefined", dims: null };
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 2) type = readType(wire);
	});
	return { name, ...type };
}

/** TypeProto: tensor 1, sequence 4, map 5, opaque 7, sparse tensor 8, optional 9. */
function readType(wire: WireReader): ValueType {
	let type: ValueType = { kind: "unknown", dtype: "undefined", dims: null };
	wire.message((field) => {
		if (field === 1) type = readTensorType(wire, "tensor");
		else if (field === 8) type = readTensorType(wire, "sparse-tensor");
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

function readTensorType(wire: WireReader, kind: "tensor" | "sparse-tensor"): ValueType {
	let dtype: OnnxValue["dtype"] = "undefined";
	let dims: OnnxDim[] | null = null;
	wire.message((field) => {
		if (field === 1) dtype = elementTypeOfCode(wire.int32());
		else if (field === 2) dims = readShape(wire);
	});
	return { kind, dtype, dims };
}

function readShape(wire: WireReader): OnnxDim[] {
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
