// Reads NodeProto.
import type { OnnxAttribute, OnnxNode } from "../../core/onnx/model.ts";
import { readAttribute } from "./attribute.ts";
import type { Span, WireReader } from "./wire.ts";

export interface ReadNode {
	node: OnnxNode;
	/** Subgraphs that wait to be read, by attribute. */
	graphs: readonly { attribute: string; span: Span }[];
}

/** The standard domain has two spellings. */
export function domainOf(text: string): string {
	return text === "ai.onnx" ? "" : text;
}

/** Fields of onnx.proto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. */
export function readNode(wire: WireReader): ReadNode {
	wire.keep(4);
	let name = "";
	let op = "";
	let domain = "";
	const inputs: string[] = [];
	const outputs: string[] = [];
	const attributes: OnnxAttribute[] = [];
	const graphs: { attribute: string; span: Span }[] = [];
	wire.message((field) => {
		if (field === 1) inputs.push(wire.text());
		else if (field === 2) outputs.push(wire.text());
		else if (field === 3) name = wire.text();
		else if (field === 4) op = wire.text();
		else if (field === 7) domain = domainOf(wire.text());
		else if (field === 5) {
			const read = readAttribute(wire);
			attributes.push(read.attribute);
			for (const span of read.graphs) graphs.push({ attribute: read.attribute.name, span });
		}
	});
	return { node: { name, domain, op, inputs, outputs, attributes }, graphs };
}
