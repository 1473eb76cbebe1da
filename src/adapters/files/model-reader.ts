// Reads ONNX models from disk: structure by positioned reads, external data followed, everything hashed.
import { closeSync, openSync } from "node:fs";
import { ConfigError } from "../../core/errors.ts";
import type { ExternalFile } from "../../core/onnx/model.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { unreadable } from "../../formats/onnx/refusal.ts";
import type { ModelOnDisk, ModelReader } from "../../ports/world.ts";
import { fileSource } from "../process/file-source.ts";
import { factsOf, findExternalFiles } from "./external-files.ts";
import { hashFile, hashOfLines } from "./file-hash.ts";

export function fileModelReader(): ModelReader {
	return { read: readModel };
}

async function readModel(path: string): Promise<ModelOnDisk> {
	const size = modelBytes(path);
	const file = openModel(path);
	try {
		const onnx = readOnnx(fileSource(file, size), path);
		const external = findExternalFiles(path, onnx);
		return { path, onnx, sha256: await hashModel(file, external), external };
	} finally {
		closeSync(file);
	}
}

/** Looks before it opens: opening a named pipe would wait for ever. */
function modelBytes(path: string): number {
	const facts = factsOf(path);
	if (facts === null) {
		throw new ConfigError({
			code: "model-missing",
			message: `There is no model ${path}.`,
			details: { fix: "Check the path in trtgate.yml; a model that a command exports needs `prepare`.", location: { path } },
		});
	}
	if (facts.isFile()) return facts.size;
	throw unreadable(
		`${path} is ${facts.isDirectory() ? "a folder" : "no regular file"}, not an ONNX model.`,
		path,
		"Give the .onnx file itself.",
	);
}

function openModel(path: string): number {
	try {
		return openSync(path, "r");
	} catch (cause) {
		throw unreadable(
			`${path} cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}.`,
			path,
			"Give the gate's user the right to read it.",
		);
	}
}

/**
 * With external data, the hash of the lines `sha256  location`, sorted; the model's own location is `-`. In a shell:
 * `{ sha256sum < model.onnx; sha256sum weights.bin; } | LC_ALL=C sort | sha256sum`.
 */
async function hashModel(file: number, external: readonly ExternalFile[]): Promise<string> {
	const own = await hashFile(file);
	if (external.length === 0) return own;
	const lines = [`${own}  -`];
	for (const { path, location, problem } of external) {
		lines.push(`${path === null || problem === "missing" ? (problem ?? "missing") : await hashFile(path)}  ${location}`);
	}
	return hashOfLines(lines);
}
