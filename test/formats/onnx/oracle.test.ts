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
	const written = values?.map((number) => (Number.isFinite(number) ? number : String(number)));
	return { name, dtype, dims, ...(written && { values: written }) };
}

function graph(read: OnnxGraph): unknown {
	return {
		name: read.name,
		inputs: read.inputs.map(value),
		outputs: read.outputs.map(value),
		valueInfo: read.valueInfo.map(value),
		nodes: read.nodes.map(({ name, domain, op, inputs, outputs, attributes }) => {
			const values = attributes.map((attribute) => [attribute.name, attribute.value]);
			return { name, domain, op, inputs, outputs, attributes: values };
		}),
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
		functions: model.functions.map((one) => {
			return [one.domain, one.name, one.inputs, one.outputs, one.nodes.length];
		}),
		graph: graph(model.graph),
	}).toEqual(oracle[file]);
});
