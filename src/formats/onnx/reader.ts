// Reads an ONNX file's structure in one pass; weights are skipped, never read.
import type { OnnxFunction, OnnxModel } from "../../core/onnx/model.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { emptyGraph, emptyOpsets, type GraphDraft, readFunction, readGraphField, readOpset } from "./graph.ts";
import { headBytes, judgeHead } from "./head.ts";
import { unreadable } from "./limits.ts";
import { WireReader } from "./wire.ts";

/** ONNX is at IR 14; a far higher number is a random file, not a model. */
const maxIrVersion = 1000;

interface Draft {
	irVersion: number;
	producer: string;
	producerVersion: string;
	opsets: Record<string, number>;
	graph: GraphDraft | null;
	functions: OnnxFunction[];
}

/** @throws ConfigError model-unreadable: empty, text, Git LFS pointer, truncated, damaged, not ONNX, beyond `limits`. */
export function readOnnx(source: ByteSource, path: string): OnnxModel {
	const refusal = judgeHead(source.read(0, Math.min(headBytes, source.size)), source.size, path);
	if (refusal !== null) throw refusal;
	const wire = new WireReader(source, path);
	const draft: Draft = { irVersion: 0, producer: "", producerVersion: "", opsets: emptyOpsets(), graph: null, functions: [] };
	wire.fields((field) => readModelField(wire, field, draft));
	if (draft.graph === null) {
		throw unreadable(
			`${path} holds no graph: it is not an ONNX model, or only a part of one.`,
			path,
			"Give the .onnx file that the exporter wrote.",
		);
	}
	return { bytes: source.size, ...draft, graph: draft.graph };
}

/** Fields of onnx.proto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8, functions 25. */
function readModelField(wire: WireReader, field: number, draft: Draft): void {
	if (field === 1) {
		draft.irVersion = wire.int64();
		if (draft.irVersion > 0 && draft.irVersion <= maxIrVersion) wire.recognise();
	} else if (field === 2) draft.producer = wire.text();
	else if (field === 3) draft.producerVersion = wire.text();
	else if (field === 7) draft.graph = readGraphInto(wire, draft.graph ?? emptyGraph());
	else if (field === 8) readOpset(wire, draft.opsets);
	else if (field === 25) draft.functions.push(readFunction(wire));
}

function readGraphInto(wire: WireReader, graph: GraphDraft): GraphDraft {
	wire.message((field) => readGraphField(wire, field, graph));
	return graph;
}
