// Limits on what an ONNX file may cost the reader, far above real models; and the error for a file beyond them.
import { ConfigError } from "../../core/errors.ts";

export const limits = {
	/** Protobuf's own default: a file nested deeper is refused by TensorRT and ONNX Runtime too. */
	messageDepth: 100,
	/** Names and list entries kept, nodes and tensors counting as 4; large language models have below 2 million. */
	elements: 4_194_304,
	/** Protobuf fields walked over, kept or not: about one second. */
	fields: 67_108_864,
	/** One name. */
	textBytes: 1_048_576,
	/** All names together. */
	allTextBytes: 268_435_456,
	/** A string attribute longer than this is skipped: engines and caches are embedded this way. */
	attributeTextBytes: 4096,
	/** A list attribute longer than this is skipped. */
	attributeEntries: 1024,
	/** Dimensions of one tensor. */
	rank: 255,
	/** Tensors of more elements than this are never read as values. */
	valueElements: 64,
} as const;

const fixOfDamage = "Export or download the model again; `onnx.checker.check_model` in Python judges the file.";

export function unreadable(message: string, path: string, fix = fixOfDamage): ConfigError {
	return new ConfigError({ code: "model-unreadable", message, details: { fix, location: { path } } });
}
