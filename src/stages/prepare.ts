// Runs prepare commands, and reads the models of every side.

import type { BackendFacts } from "../../generated/result.ts";
import { ConfigError, type Fault, faultOf, recordFault, ToolError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import type { Asset, EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import type { Ports } from "../ports/ports.ts";
import type { Files, ModelOnDisk } from "../ports/world.ts";
import type { ArmFolder, PreparedModel } from "./prepared.ts";
import { confine } from "./resolve-in-workspace.ts";

export interface Side {
	folder: ArmFolder;
	specs: readonly EngineSpec[];
}

interface PrepareInput {
	sides: readonly Side[];
	/** The base's own config names its engines, so it should have their files. */
	hasBaseConfig: boolean;
	backend: BackendFacts["kind"];
	logFolder: string;
	timeoutMs: number;
}

type PreparePorts = Pick<Ports, "models" | "shell" | "progress"> & { files: AssetFiles };

type CommandFailure = Omit<Fault, "code">;

interface Wanted {
	spec: EngineSpec;
	folder: ArmFolder;
	input: PrepareInput;
	ports: PreparePorts;
}

/** A file that the base lacks is `missing`; one that cannot be used, or that the head lacks, is `broken`. */
export async function* prepare(input: PrepareInput, ports: PreparePorts): AsyncGenerator<PreparedModel> {
	const counts = input.sides.map(({ specs }) => specs.length);
	ports.progress.stage("prepare", input.sides.flatMap(({ specs }) => specs).length);
	const prepared = new Map<string, Promise<CommandFailure | null>>();
	for (const { folder, specs } of input.sides) {
		for (const [index, spec] of specs.entries()) {
			ports.progress.item(`${spec.id} (${folder.arm})`);
			const wanted = { spec, folder, input, ports };
			const key = `${folder.arm}\n${spec.model.name}`;
			const command = prepared.get(key) ?? runPrepare(wanted, index);
			prepared.set(key, command);
			yield await readModel(wanted, await command);
		}
	}
	ports.progress.done(counted(Math.max(...counts), "engine"));
}

async function runPrepare(
	{ spec, folder, input, ports }: Wanted,
	index: number,
): Promise<CommandFailure | null> {
	const { prepare } = spec.model;
	if (prepare === undefined) return null;
	const logPath = `${input.logFolder}/prepare-${folder.arm}-${index}.log`;
	const result = await ports.shell.run(prepare, { cwd: folder.path, logPath, timeoutMs: input.timeoutMs });
	if (result.state === "done") return null;
	const { failure } = result;
	if (failure.code === "interrupted") throw new ToolError(failure);
	if (folder.arm === "base") return { ...failure, log: logPath, fix: `${fixOfCommand} ${otherBase}` };
	const fix = `Run it by hand in ${folder.path}: ${prepare.command}. A variable that holds credentials must be listed under prepare.env.`;
	const message = `The prepare command of ${spec.model.name} failed: ${failure.message}`;
	return { ...failure, message, log: logPath, fix };
}

async function readModel(wanted: Wanted, command: CommandFailure | null): Promise<PreparedModel> {
	const { spec, folder } = wanted;
	try {
		return await readArm(wanted, command);
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		if (folder.arm === "head") return { state: "broken", spec, arm: "head", fault: error };
		return brokenBase(wanted, { ...faultOf(error), fix: otherBase });
	}
}

async function readArm(wanted: Wanted, command: CommandFailure | null): Promise<PreparedModel> {
	const { spec, folder, input, ports } = wanted;
	const { arm } = folder;
	if (arm === "head" && command !== null) throw new ConfigError({ ...command, code: "prepare-failed" });
	const path = await confine(ports.files, folder.path, spec.engine.onnx);
	const model =
		arm === "head"
			? await ports.models.read(path ?? `${folder.path}/${spec.engine.onnx}`)
			: await readBase(path, wanted, command);
	if ("state" in model) return model;
	// ONNX Runtime does not need assets.
	if (input.backend !== "tensorrt") return { state: "ready", spec, arm, model };
	const assets = await readAssets(spec.engine.tensorrt, folder.path, ports.files);
	if (!("state" in assets)) return { state: "ready", spec, arm, model, assets };
	const state = assets.state === "empty" ? "an empty file" : "missing";
	const fault = {
		code: "asset-missing",
		message: `The ${assets.what} ${assets.path} of ${spec.id} is ${state}.`,
	} as const;
	if (arm === "head") {
		const fix = "Correct its path in the config, or let the model's prepare command write it.";
		throw new ConfigError({ ...fault, fix });
	}
	if (assets.state === "missing") return absentFromBase(assets.path, wanted);
	const message = `The base's ${assets.what} ${assets.path} is an empty file.`;
	return brokenBase(wanted, { code: fault.code, message, fix: otherBase });
}

const fixOfCommand =
	"The base runs its own command, from its own trtgate.yml, on its own files: make that work.";
/** A change cannot fix its base. */
const otherBase =
	"If the base itself is broken, fix it first, or compare with another commit: `--base`, the input `base`, or `baseline.ref` in the config.";

/** These leave a model incomplete; preflight reports the others. */
const notWhole: Readonly<Record<string, string>> = {
	"lfs-pointer": "a Git LFS pointer",
	missing: "missing",
	short: "too short",
};

async function readBase(
	path: string | null,
	wanted: Wanted,
	command: CommandFailure | null,
): Promise<ModelOnDisk | PreparedModel> {
	const { spec, input, ports } = wanted;
	const { onnx } = spec.engine;
	const { name, prepare } = spec.model;
	if (command !== null && (path !== null || input.hasBaseConfig)) {
		const message = `The prepare command of ${name} failed in the base: ${command.message}`;
		return brokenBase(wanted, { ...command, code: "prepare-failed", message });
	}
	if (path === null) {
		if (command !== null || prepare === undefined || !input.hasBaseConfig)
			return absentFromBase(onnx, wanted);
		const message = `The prepare command of ${name} succeeded in the base but wrote no ${onnx}.`;
		return brokenBase(wanted, { code: "model-missing", message, fix: `${fixOfCommand} ${otherBase}` });
	}
	try {
		const model = await ports.models.read(path);
		const external = model.external.find(({ problem }) => Object.hasOwn(notWhole, problem ?? ""));
		if (external === undefined) return model;
		const message = `The base's ${onnx} cannot be used: its external data ${external.location} is ${notWhole[external.problem ?? ""]}.`;
		return brokenBase(wanted, { code: "model-unreadable", message, fix: otherBase });
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		const { code, excerpt, fix = "" } = error;
		const message = `The base's model cannot be read: ${error.message.split(path).join(onnx)}`;
		return brokenBase(wanted, { code, message, excerpt, fix: `${fix} ${otherBase}`.trim() });
	}
}

async function absentFromBase(path: string, wanted: Wanted): Promise<PreparedModel> {
	const { spec, folder, input } = wanted;
	const why = (await folder.whyAbsent?.(path)) ?? null;
	if (why === null) {
		const reason = `the base has no ${path}`;
		return { state: "missing", spec, arm: folder.arm, isNew: !input.hasBaseConfig, reason };
	}
	const message = `The base's ${path} is not in its checkout: ${why}.`;
	const fix = `Put the file itself into the repository, or let the model's \`prepare\` fetch it. ${otherBase}`;
	return brokenBase(wanted, { code: "model-missing", message, fix });
}

function brokenBase({ spec, folder }: Wanted, fault: Parameters<typeof recordFault>[0]): PreparedModel {
	const place = { model: spec.model.name, arm: folder.arm };
	const { lfsProblem } = folder;
	if (lfsProblem === undefined || fault.code !== "model-unreadable")
		return { state: "broken", spec, arm: "base", error: recordFault(fault, place, "configuration") };
	const message = `${fault.message} ${lfsProblem.reason}`;
	const fix = `${lfsProblem.fix} ${otherBase}`;
	const error = recordFault({ ...fault, code: "lfs-unavailable", message, fix }, place);
	return { state: "broken", spec, arm: "base", error };
}

interface MissingAsset {
	state: "missing" | "empty";
	path: string;
	what: string;
}

type AssetFiles = Pick<Files, "realPath" | "size" | "sha256">;

/** trtexec silently invents ranges for a missing or empty calibration cache. @throws ConfigError path-outside-workspace. */
async function readAssets(
	{ plugins, calibration }: EngineSpec["engine"]["tensorrt"],
	folder: string,
	files: AssetFiles,
): Promise<EngineAssets | MissingAsset> {
	const read = async (path: string, what: string): Promise<Asset | MissingAsset> => {
		const real = await confine(files, folder, path);
		const bytes = real === null ? null : await files.size(real);
		if (real === null || !bytes) return { state: bytes === 0 ? "empty" : "missing", path, what };
		return { path: real, sha256: await files.sha256(real, inputKinds.asset) };
	};
	const libraries: (Asset & { dynamic: boolean })[] = [];
	for (const { path, dynamic } of plugins) {
		const asset = await read(path, "plugin library");
		if ("state" in asset) return asset;
		libraries.push({ ...asset, dynamic });
	}
	if (calibration === undefined) return { plugins: libraries };
	const asset = await read(calibration.path, "calibration cache");
	return "state" in asset ? asset : { plugins: libraries, calibration: asset };
}
