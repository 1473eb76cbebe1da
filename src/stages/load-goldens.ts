// Reads the golden sets of the plan, and refuses those that are missing, of another model, or unable to fail.

import { parseManifest } from "../core/golden/manifest/parse-manifest.ts";
import { validateAgainstModel } from "../core/golden/manifest/validate-against-model.ts";
import { refuseInsensitive, watchSensitivity } from "../core/golden/record/sensitivity.ts";
import type { Tensor } from "../core/golden/tensor/tensor.ts";
import { inputKinds } from "../core/input-kind.ts";
import type { GoldenCase, GoldenManifest, TensorFile } from "../core/schema/golden.ts";
import type { Files, Progress, TensorReader } from "../ports/world.ts";
import type { PreparedModel } from "./prepared.ts";
import { confine } from "./resolve-in-workspace.ts";

/** A golden manifest with the folder that its tensors' paths are relative to. */
export interface GoldenSet {
	manifest: GoldenManifest;
	/** Absolute. */
	folder: string;
}

interface GoldenPorts {
	files: Files;
	tensors: TensorReader;
	progress?: Progress;
}

/** From here on reading takes seconds. */
const manyCases = 1000;
/** Progress for every case would cost more than the case. */
const casesBetweenLabels = 100;

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
		if (prepared.arm === "base" || prepared.state !== "ready" || path === undefined) continue;
		const set = byPath.get(path) ?? (await loadSet(path, headFolder, ports));
		byPath.set(path, set);
		validateAgainstModel(set.manifest, prepared.model.onnx);
		sets.set(prepared.spec.id, set);
	}
	return sets;
}

async function loadSet(path: string, root: string, ports: GoldenPorts): Promise<GoldenSet> {
	const file = (await confine(ports.files, root, path)) ?? `${root}/${path}`;
	const manifest = parseManifest(await ports.files.readText(file, inputKinds.golden), path);
	const set = { manifest, folder: file.slice(0, file.lastIndexOf("/")) };
	await checkSensitivity(set, ports);
	return set;
}

/** Looks at one case after the other: a set may be larger than memory. */
async function checkSensitivity({ manifest, folder }: GoldenSet, ports: GoldenPorts): Promise<void> {
	const watch = watchSensitivity(manifest);
	const total = manifest.cases.length;
	const progress = total >= manyCases ? ports.progress : undefined;
	progress?.stage("goldens", 0);
	for (const [index, golden] of manifest.cases.entries()) {
		if (index % casesBetweenLabels === 0)
			progress?.detail(`case ${(index + 1).toLocaleString("en-US")} of ${total.toLocaleString("en-US")}`);
		watch.see(await readTensors(golden.outputs, folder, ports));
	}
	progress?.done(`${total.toLocaleString("en-US")} golden cases of ${manifest.goldenId} read`);
	refuseInsensitive(manifest, watch.findings());
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
