// Reads the golden sets of the plan, and refuses those that are missing, of another model, or unable to fail.
import { ConfigError } from "../core/errors.ts";
import { checkFit } from "../core/golden/fit.ts";
import { assertInformative } from "../core/golden/inform.ts";
import { parseManifest } from "../core/golden/manifest.ts";
import type { Tensor } from "../core/golden/tensor.ts";
import type { GoldenCase, GoldenManifest, TensorFile } from "../core/schema/golden.ts";
import type { Files, TensorReader } from "../ports/world.ts";
import { confine } from "./confine.ts";
import type { PreparedModel } from "./prepare.ts";

/** A golden manifest with the folder that its tensors' paths are relative to. */
export interface GoldenSet {
	manifest: GoldenManifest;
	/** Absolute. */
	folder: string;
}

interface GoldenPorts {
	files: Files;
	tensors: TensorReader;
}

/**
 * @returns the golden set of each head engine that has one, by engine id.
 * @throws ConfigError golden-missing, golden-invalid, golden-other-model, golden-uninformative, tensor-invalid.
 */
export async function loadGoldens(
	models: readonly PreparedModel[],
	headFolder: string,
	ports: GoldenPorts,
): Promise<Map<string, GoldenSet>> {
	const sets = new Map<string, GoldenSet>();
	const byPath = new Map<string, GoldenSet>();
	for (const prepared of models) {
		const path = prepared.spec.engine.golden;
		if (prepared.arm === "base" || prepared.state === "missing" || path === undefined) continue;
		const set = byPath.get(path) ?? (await loadSet(path, headFolder, ports));
		byPath.set(path, set);
		checkFit(set.manifest, prepared.model.onnx);
		sets.set(prepared.spec.id, set);
	}
	return sets;
}

async function loadSet(path: string, root: string, ports: GoldenPorts): Promise<GoldenSet> {
	const file = await confine(ports.files, root, path);
	if (file === null) {
		throw new ConfigError({
			code: "golden-missing",
			message: `There is no golden manifest at ${path}.`,
			details: {
				location: { path: `${root}/${path}` },
				fix: "Correct `golden:` in the config, or record one: `trtgate golden record MODEL.onnx --out FOLDER`.",
			},
		});
	}
	const manifest = parseManifest(await ports.files.readText(file), path);
	const set = { manifest, folder: file.slice(0, file.lastIndexOf("/")) };
	const outputs: Record<string, Tensor>[] = [];
	for (const golden of manifest.cases) outputs.push(await readTensors(golden.outputs, set.folder, ports));
	assertInformative(manifest, outputs);
	return set;
}

/** Reads the tensors of one side of a case. */
export async function readTensors(files: GoldenCase["inputs"], folder: string, ports: GoldenPorts): Promise<Record<string, Tensor>> {
	const tensors: [string, Tensor][] = [];
	for (const [name, file] of Object.entries(files)) tensors.push([name, await readTensor({ member: name, ...file }, folder, ports)]);
	return Object.fromEntries(tensors);
}

async function readTensor(file: TensorFile, folder: string, ports: GoldenPorts): Promise<Tensor> {
	const path = await confine(ports.files, folder, file.path);
	return ports.tensors.read(path ?? `${folder}/${file.path}`, file);
}
