// Reads ONNX models from disk: structure by positioned reads, external data followed, everything hashed.
import { inputKinds } from "../../core/input-kind.ts";
import type { ExternalFile } from "../../core/onnx/model.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import type { ModelOnDisk, ModelReader } from "../../ports/world.ts";
import { fileSource } from "../process/file-source.ts";
import { withInput } from "../process/input-file.ts";
import { findExternalFiles } from "./external-files.ts";
import { hashFile, hashOfLines, hashOpen } from "./file-hash.ts";

export function fileModelReader(): ModelReader {
	return { read: readModel };
}

function readModel(path: string): Promise<ModelOnDisk> {
	return withInput(path, inputKinds.model, async ({ file, facts }) => {
		const onnx = readOnnx(fileSource(file, facts.size), path);
		const external = findExternalFiles(path, onnx);
		return { path, onnx, sha256: await hashModel(file, external), external };
	});
}

/**
 * With external data, the hash of the lines `sha256  location`, sorted; the model's own location is `-`. In a shell:
 * `{ sha256sum < model.onnx; sha256sum weights.bin; } | LC_ALL=C sort | sha256sum`.
 */
async function hashModel(file: number, external: readonly ExternalFile[]): Promise<string> {
	const own = await hashOpen(file);
	if (external.length === 0) return own;
	const lines = [`${own}  -`];
	for (const { path, location, problem } of external) {
		lines.push(`${path === null || problem === "missing" ? (problem ?? "missing") : await hashFile(path, inputKinds.model)}  ${location}`);
	}
	return hashOfLines(lines);
}
