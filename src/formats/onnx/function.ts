// Reads FunctionProto and OperatorSetIdProto.
import type { OnnxFunction, OnnxNode, OnnxSubgraph } from "../../core/onnx/model.ts";
import { readNodeInto } from "./graph.ts";
import { domainOf } from "./node.ts";
import type { WireReader } from "./wire.ts";

/** Fields of onnx.proto: name 1, input 4, output 5, node 7, opset_import 9, domain 10. */
export function readFunction(wire: WireReader): OnnxFunction {
	wire.keep(8);
	let name = "";
	let domain = "";
	const inputs: string[] = [];
	const outputs: string[] = [];
	const opsets = emptyOpsets();
	const body: { nodes: OnnxNode[]; subgraphs: OnnxSubgraph[] } = { nodes: [], subgraphs: [] };
	wire.message((field) => {
		if (field === 1) name = wire.text();
		else if (field === 4) inputs.push(wire.text());
		else if (field === 5) outputs.push(wire.text());
		else if (field === 7) readNodeInto(wire, body);
		else if (field === 9) readOpset(wire, opsets);
		else if (field === 10) domain = domainOf(wire.text());
	});
	return { domain, name, inputs, outputs, opsets, ...body };
}

/** Without a prototype: domains are the file's own words. */
export function emptyOpsets(): Record<string, number> {
	return Object.create(null) as Record<string, number>;
}

/** Domain 1, version 2. */
export function readOpset(wire: WireReader, opsets: Record<string, number>): void {
	wire.keep();
	let domain = "";
	let version = 0;
	wire.message((field) => {
		if (field === 1) domain = domainOf(wire.text());
		else if (field === 2) version = wire.int64();
	});
	opsets[domain] = version;
}
