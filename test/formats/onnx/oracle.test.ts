import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { OnnxGraph, OnnxInitializer, OnnxValue } from "../../../src/core/onnx/model.ts";
import { memorySource } from "../../../src/formats/bytes/byte-source.ts";
import { readOnnx } from "../../../src/formats/onnx/reader.ts";

/** Python's onnx package reads the same from these files: test/oracles/onnx-structure.py. */
const oracle: Record<
	string,
	{ functions: unknown; graph: unknown; irVersion: number; opsets: unknown; producer: string }
> = JSON.parse(readFileSync("test/oracles/onnx-structure.json", "utf8"));

function value({ name, kind, dtype, dims }: OnnxValue): unknown {
	return kind === "tensor" ? { name, kind, dtype, dims } : { name, kind: kind.replace("-", "_") };
}

function weight({ name, dtype, dims, values }: OnnxInitializer): unknown {
	return {
		name,
		dtype,
		dims,
		...(values && { values: values.map((number) => (Number.isFinite(number) ? number : String(number))) }),
	};
}

function graph(read: OnnxGraph): unknown {
	return {
		name: read.name,
		inputs: read.inputs.map(value),
		outputs: read.outputs.map(value),
		valueInfo: read.valueInfo.map(value),
		nodes: read.nodes.map(({ attributes, ...node }) => ({
			name: node.name,
			domain: node.domain,
			op: node.op,
			inputs: node.inputs,
			outputs: node.outputs,
			attributes: attributes.map((attribute) => [attribute.name, attribute.value]),
		})),
		initializers: read.initializers.filter((tensor) => !tensor.sparse).map(weight),
		subgraphs: read.subgraphs.map((subgraph) => graph(subgraph.graph)),
	};
}

it.each(Object.keys(oracle))("the ONNX reader reads what the onnx package reads: %s", (file) => {
	const model = readOnnx(memorySource(readFileSync(`test/fixtures/${file}`)), file);
	expect({
		irVersion: model.irVersion,
		producer: model.producer,
		opsets: Object.entries(model.opsets),
		functions: model.functions.map(({ domain, name, inputs, outputs, nodes }) => [
			domain,
			name,
			inputs,
			outputs,
			nodes.length,
		]),
		graph: graph(model.graph),
	}).toEqual(oracle[file]);
});
