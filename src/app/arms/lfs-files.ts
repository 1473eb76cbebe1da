// Fetches the files of Git LFS that the gate reads, and no others.
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Arm } from "../../../generated/result.ts";
import { readStructure } from "../../adapters/files/model-reader.ts";
import { isPointerFile, type LfsProblem, type LfsRequest, pullLfs, usesLfs } from "../../adapters/git/lfs.ts";
import type { Git } from "../../adapters/git/run-git.ts";
import { readInputText, withInput } from "../../adapters/process/input-file.ts";
import type { Config } from "../../core/config/config.ts";
import { onnxFilesOf } from "../../core/config/tensorrt-settings.ts";
import { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import { parseManifest } from "../../golden/core/manifest/parse-manifest.ts";

interface LfsCheckout extends Omit<LfsRequest, "paths"> {
	arm: Arm;
	path: string;
	config: Config;
}

export async function fetchLfsFiles(checkout: LfsCheckout, git: Git): Promise<LfsProblem | null> {
	if (!(await usesLfs(git))) return null;
	const runsCommand = ({ model, engine }: EngineSpec) => model.prepare ?? engine.build?.command;
	if (engineSpecs(checkout.config).some((spec) => runsCommand(spec) !== undefined))
		return pullLfs({ ...checkout, paths: "all" }, git);
	for (const list of [namedFiles, filesOfFiles]) {
		const paths: string[] = [];
		for (const path of new Set(await list(checkout))) if (await isPointerFile(path)) paths.push(path);
		const problem = await pullLfs({ ...checkout, paths }, git);
		if (problem !== null) return problem;
	}
	return null;
}

async function namedFiles({ config, path }: LfsCheckout) {
	return engineSpecs(config).flatMap(({ model, engine }) => {
		const { tensorrt, build, golden } = engine;
		const names = [
			model.onnx,
			...onnxFilesOf(engine),
			...tensorrt.plugins.map((plugin) => plugin.path),
			tensorrt.calibration?.path,
			build?.plan,
			golden,
		];
		return names.flatMap((name) => (name === undefined ? [] : [join(path, name)]));
	});
}

async function filesOfFiles({ config, path, arm }: LfsCheckout) {
	const specs = engineSpecs(config);
	const data = specs.flatMap(({ engine: { tensorrt } }) =>
		tensorrt.calibration?.data === undefined ? [] : [join(path, tensorrt.calibration.path)],
	);
	const models = new Set(specs.flatMap(({ engine }) => onnxFilesOf(engine).map((onnx) => join(path, onnx))));
	const goldens = new Set(
		specs.flatMap(({ engine: { golden } }) =>
			golden === undefined || arm === "base" ? [] : [join(path, golden)],
		),
	);
	const lists = [
		...[...models].map(externalData),
		...[...goldens].map(tensorFiles),
		...[...new Set(data)].map(calibrationFiles),
	];
	return (await Promise.all(lists.map((list) => list.catch(leaveToStages)))).flat();
}

async function externalData(model: string) {
	const { external } = await withInput(model, inputKinds.model, (input) => readStructure(input, model));
	return external.flatMap(({ path }) => (path === null ? [] : [path]));
}

async function tensorFiles(manifest: string) {
	const { cases } = parseManifest(await readInputText(manifest, inputKinds.golden), manifest);
	const files = cases.flatMap(({ inputs, outputs }) => [...Object.values(inputs), ...Object.values(outputs)]);
	return files.map((file) => join(dirname(manifest), file.path));
}

async function calibrationFiles(path: string) {
	if (path.endsWith(".json")) return tensorFiles(path);
	return (await readdir(path).catch(() => [])).map((name) => join(path, name));
}

function leaveToStages(error: unknown) {
	if (error instanceof ConfigError) return [];
	throw error;
}
