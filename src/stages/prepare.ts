// Makes sure that every arm has its models: runs the user's prepare command, then reads each ONNX file's structure.
import { ConfigError } from "../core/errors.ts";
import type { EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import { counted } from "../core/report/words.ts";
import type { Arm, ArmSource, BackendFacts } from "../core/schema/result.ts";
import type { Files, ModelOnDisk, ModelReader, Progress, Shell } from "../ports/world.ts";
import { missingAsset, readAssets } from "./assets.ts";
import { confine } from "./confine.ts";

/** Where an arm's files lie. */
export interface ArmFolder {
	arm: Arm;
	/** Absolute. */
	path: string;
	source: ArmSource;
}

export type PreparedModel =
	| { state: "ready"; spec: EngineSpec; arm: Arm; model: ModelOnDisk; assets?: EngineAssets }
	| { state: "missing"; spec: EngineSpec; arm: Arm; reason: string };

export interface PrepareInput {
	specs: readonly EngineSpec[];
	arms: readonly ArmFolder[];
	backend: BackendFacts["kind"];
	logFolder: string;
	timeoutMs: number;
}

interface PreparePorts {
	files: Files;
	models: ModelReader;
	shell: Shell;
	progress: Progress;
}

/**
 * The head must have every model; a base that lacks one, or cannot read it, makes that comparison `missing`.
 * @throws ConfigError of the head's models.
 */
export async function* prepare(input: PrepareInput, ports: PreparePorts): AsyncGenerator<PreparedModel> {
	ports.progress.stage("prepare", input.specs.length * input.arms.length);
	const prepared = new Map<string, Promise<string | null>>();
	for (const folder of input.arms) {
		for (const spec of input.specs) {
			ports.progress.item(`${spec.id} (${folder.arm})`);
			const key = `${folder.arm}\n${spec.model.name}`;
			const command = prepared.get(key) ?? runPrepare(spec, folder, { input, ports });
			prepared.set(key, command);
			const complaint = await command;
			yield complaint === null ? await readModel(spec, folder, { input, ports }) : missing(spec, folder.arm, complaint);
		}
	}
	ports.progress.done(counted(input.specs.length, "engine"));
}

function missing(spec: EngineSpec, arm: Arm, reason: string): PreparedModel {
	return { state: "missing", spec, arm, reason };
}

/** @returns null when there is nothing to complain of. */
async function runPrepare(
	spec: EngineSpec,
	folder: ArmFolder,
	context: { input: PrepareInput; ports: PreparePorts },
): Promise<string | null> {
	const { prepare } = spec.model;
	if (prepare === undefined) return null;
	const logPath = `${context.input.logFolder}/prepare-${folder.arm}-${context.input.specs.indexOf(spec)}.log`;
	const result = await context.ports.shell.run(prepare, { cwd: folder.path, logPath, timeoutMs: context.input.timeoutMs });
	if (result.state === "done") return null;
	if (folder.arm === "base") return `the base's prepare command failed: ${result.failure.message}`;
	throw new ConfigError({
		code: "prepare-failed",
		message: `The prepare command of ${spec.model.name} failed: ${result.failure.message}`,
		details: {
			...result.failure.details,
			log: logPath,
			fix: `Run it by hand in ${folder.path}: ${prepare.command}. A variable that carries rights has to stand under prepare.env.`,
		},
	});
}

async function readModel(
	spec: EngineSpec,
	folder: ArmFolder,
	{ input, ports }: { input: PrepareInput; ports: PreparePorts },
): Promise<PreparedModel> {
	const path = await confine(ports.files, folder.path, spec.engine.onnx);
	if (path === null && folder.arm === "base") return missing(spec, "base", `the base has no ${spec.engine.onnx}`);
	const read =
		folder.arm === "head"
			? await ports.models.read(path ?? `${folder.path}/${spec.engine.onnx}`)
			: await readBase(path ?? "", ports.models);
	if (typeof read === "string") return missing(spec, "base", read);
	// ONNX Runtime needs none, and may run where none was compiled.
	if (input.backend !== "tensorrt") return { state: "ready", spec, arm: folder.arm, model: read };
	const assets = await readAssets(spec, folder.path, ports.files);
	if (assets.state === "ready") return { state: "ready", spec, arm: folder.arm, model: read, assets: assets.assets };
	if (folder.arm === "head") throw missingAsset(assets, spec);
	return missing(spec, "base", `the base has no ${assets.path}`);
}

/** A base that cannot be read must not fail the change that may be mending it. */
async function readBase(path: string, models: ModelReader): Promise<ModelOnDisk | string> {
	try {
		return await models.read(path);
	} catch (error) {
		if (error instanceof ConfigError) return `the base's model cannot be read: ${error.message}`;
		throw error;
	}
}
