// Reads goldens, and refuses those that are missing, belong to another model, or cannot fail.

import type { GoldenCase, GoldenManifest, TensorFile } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { EngineSpec } from "../../core/plan/plan.ts";
import { isSameRecipe } from "../../core/plan/recipe.ts";
import { formatCount } from "../../core/text/units.ts";
import type { Ports } from "../../ports/ports.ts";
import type { Files, Progress } from "../../ports/world.ts";
import { type PreparedModel, recipeOf } from "../../stages/prepared.ts";
import { confine } from "../../stages/resolve-in-workspace.ts";
import { isSameCase, underLimitsOf, validateAgainstModel } from "../core/manifest/draft.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import { refuseInsensitive, watchSensitivity } from "../core/record/sensitivity.ts";
import { type Tensor, tensorBytes } from "../core/tensor/tensor.ts";
import { wholeSet } from "../core/whole-set/tally.ts";

export interface GoldenSet {
	manifest: GoldenManifest;
	asWritten?: GoldenManifest;
	folder: string;
	ofBase?: GoldenManifest;
}

type Built = Parameters<typeof recipeOf>[0];

type GoldenPorts = Pick<Ports, "files" | "tensors"> & { progress?: Progress };

const manyCases = 1000;
const casesBetweenLabels = 100;
const longReadBytes = 1024 ** 3;

interface Goldens {
	sets: ReadonlyMap<string, GoldenSet>;
	/** golden-missing, golden-invalid, golden-other-model, golden-uninformative, tensor-invalid. */
	faults: ReadonlyMap<string, ConfigError>;
}

interface GoldenInput {
	models: readonly PreparedModel[];
	/** Engines with a changed interface, whose missing outputs the verdict names. */
	changed: ReadonlySet<string>;
	headFolder: string;
	/** Absent without a base, or if both sides are the same files. */
	baseFolder?: string;
	limitsOfBase: boolean;
}

export async function loadGoldens(input: GoldenInput, ports: GoldenPorts): Promise<Goldens> {
	const sets = new Map<string, GoldenSet>();
	const faults = new Map<string, ConfigError>();
	const byPath = new Map<string, Promise<GoldenSet>>();
	for (const prepared of input.models) {
		const path = prepared.spec.engine.golden;
		if (prepared.arm === "base" || prepared.state !== "ready" || path === undefined) continue;
		const { id } = prepared.spec;
		try {
			const loading = byPath.get(path) ?? loadSet(path, input.headFolder, ports);
			byPath.set(path, loading);
			const set = await loading;
			validateAgainstModel(set.manifest, prepared.model.onnx, input.changed.has(id) ? "inputs" : "both");
			const ofBase = await baseManifest(id, input, ports);
			sets.set(id, ofBase === null ? set : besideBase(set, ofBase, input.limitsOfBase));
		} catch (error) {
			if (!(error instanceof ConfigError)) throw error;
			faults.set(id, error);
		}
	}
	return { sets, faults };
}

function besideBase(set: GoldenSet, ofBase: GoldenManifest, limitsOfBase: boolean): GoldenSet {
	const { manifest } = set;
	const limited = limitsOfBase ? underLimitsOf(ofBase, manifest) : manifest;
	return { ...set, manifest: limited, asWritten: manifest, ofBase };
}

/** null if there is none that can be read, which the review reports. */
async function baseManifest(id: string, { models, baseFolder }: GoldenInput, ports: GoldenPorts) {
	const path = models.find(({ arm, spec }) => arm === "base" && spec.id === id)?.spec.engine.golden;
	if (path === undefined || baseFolder === undefined) return null;
	try {
		const file = await confine(ports.files, baseFolder, path);
		return file === null ? null : (await readGolden(file, path, ports)).manifest;
	} catch (error) {
		if (error instanceof ConfigError) return null;
		throw error;
	}
}

/** A differently built base may fail a golden that was recorded for the new engine. */
export function isNewCase(
	golden: GoldenCase,
	{ set, head, base }: { set: GoldenSet; head: Built; base: Built | undefined },
): boolean {
	return (
		base !== undefined && !isSameRecipe(recipeOf(base), recipeOf(head)) && !isSameCase(golden, set.ofBase)
	);
}

export function judgeUnusable(
	{ model, engine }: EngineSpec,
	{ code, message, fix = "" }: ConfigError,
): GoldenVerdict {
	const { name, precision } = engine;
	const about = { model: model.name, engine: name, precision, case: wholeSet, scope: "set" } as const;
	// Reports show the fix separately.
	const what = fix !== "" && message.endsWith(fix) ? message.slice(0, -fix.length).trim() : message;
	return { ...about, state: "error", modelChanged: false, message: what, fault: { code, fix }, checks: [] };
}

async function loadSet(path: string, root: string, ports: GoldenPorts) {
	const file = (await confine(ports.files, root, path)) ?? `${root}/${path}`;
	const set = await readGolden(file, path, ports);
	await checkSensitivity(set, ports);
	return set;
}

export async function readGolden(
	file: string,
	path: string,
	{ files }: { files: Pick<Files, "readText"> },
): Promise<GoldenSet> {
	const manifest = parseManifest(await files.readText(file, inputKinds.golden), path);
	return { manifest, folder: file.slice(0, file.lastIndexOf("/")) };
}

/** One case at a time, because a set may be larger than memory. */
async function checkSensitivity({ manifest, folder }: GoldenSet, ports: GoldenPorts) {
	const watch = watchSensitivity(manifest);
	const total = manifest.cases.length;
	const hasMany = total >= manyCases;
	const bytes = manifest.cases.flatMap(({ outputs }) => Object.values(outputs).map(tensorBytes));
	const isLong = hasMany || bytes.reduce((sum, each) => sum + each, 0) >= longReadBytes;
	const progress = isLong ? ports.progress : undefined;
	const every = hasMany ? casesBetweenLabels : 1;
	progress?.stage("goldens", 0);
	for (const [index, golden] of manifest.cases.entries()) {
		if (index % every === 0) progress?.detail(`case ${formatCount(index + 1)} of ${formatCount(total)}`);
		watch.see(await readTensors(golden.outputs, folder, ports));
	}
	progress?.done(`${formatCount(total)} golden cases of ${manifest.goldenId} read`);
	refuseInsensitive(manifest, watch.findings());
}

export async function readTensors(
	files: GoldenCase["inputs"],
	folder: string,
	ports: GoldenPorts,
): Promise<Record<string, Tensor>> {
	const tensors: [string, Tensor][] = [];
	for (const [name, file] of Object.entries(files))
		tensors.push([name, await readTensor(name, file, { folder, ports })]);
	return Object.fromEntries(tensors);
}

export async function readTensor(
	name: string,
	file: TensorFile,
	{ folder, ports }: { folder: string; ports: GoldenPorts },
): Promise<Tensor> {
	const path = await confine(ports.files, folder, file.path);
	return ports.tensors.read(path ?? `${folder}/${file.path}`, { member: name, ...file });
}
