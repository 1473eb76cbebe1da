// Copies a model with tensors between its nodes as further outputs.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import { memorySource } from "../../formats/bytes/byte-source.ts";
import { readOnnx } from "../../formats/onnx/reader.ts";
import { rewriteOnnx } from "../../formats/onnx/rewrite.ts";
import type { MarkJob } from "../../ports/reference.ts";
import type { ModelOnDisk } from "../../ports/world.ts";
import { readInput } from "../process/input-file.ts";
import { makeFolders, orWriteError } from "../process/write-error.ts";
import { copyExternal } from "./model-copy.ts";

export async function markOutputs({ model, outputs, folder }: MarkJob): Promise<ModelOnDisk> {
	const path = join(folder, basename(model.path));
	const nodes = model.onnx.graph.nodes.map((_, kept) => ({ kept }));
	const bytes = rewriteOnnx(await readInput(model.path, inputKinds.model), { nodes, addedOutputs: outputs });
	await makeFolders(folder);
	await copyExternal(model, folder);
	await orWriteError(writeFile(path, bytes), path);
	const external = model.external.map((file) => ({
		...file,
		path: file.path === null ? null : join(folder, file.location),
	}));
	return {
		path,
		onnx: readOnnx(memorySource(bytes), path),
		sha256: createHash("sha256").update(bytes).digest("hex"),
		external,
	};
}
