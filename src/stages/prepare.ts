// Runs prepare commands, and reads the models of every side.
import type { BackendFacts } from "../../generated/result.ts";
import { ConfigError, type Fault, faultOf, recordFault, ToolError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import { feeds, type OnnxModel, toDType } from "../core/onnx/model.ts";
import type { Asset, EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import { interfaceOf } from "../golden/core/manifest/draft.ts";
import { readGolden } from "../golden/stages/load-goldens.ts";
import type { Ports } from "../ports/ports.ts";
import type { Files, ModelOnDisk } from "../ports/world.ts";
import type { ArmFolder, PreparedModel } from "./prepared.ts";
import { confine, keepOutOf } from "./resolve-in-workspace.ts";

interface PrepareInput {
	sides: readonly { folder: ArmFolder; specs: readonly EngineSpec[] }[];
	/** The base's own config names its engines, so it should have their files. */
	hasBaseConfig: boolean;
	backend: BackendFacts["kind"];
	logFolder: string;
	timeoutMs: number;
}

type PreparePorts = Pick<Ports, "models" | "shell" | "progress"> & AssetPorts;

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
	const fix = `Run it by hand in ${folder.path}: ${prepare.command}. A variable that holds credentials must be listed under prepare.env.`;
	const of = `The prepare command of ${spec.model.name} failed`;
	return folder.arm === "base"
		? { ...failure, message: `${of} in the base: ${failure.message}`, log: logPath, fix: fixOfCommand }
		: { ...failure, message: `${of}: ${failure.message}`, log: logPath, fix };
}

const fixOfCommand =
	"The base runs its own command, from its own trtgate.yml, on its own files: make that work.";
/** A change cannot fix its base. */
const otherBase =
	"If the base itself is broken, fix it first, or compare with another commit: `--base`, the input `base`, or `baseline.ref` in the config.";

async function readModel(wanted: Wanted, command: CommandFailure | null): Promise<PreparedModel> {
	const { spec, folder } = wanted;
	try {
		return await readArm(wanted, command);
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		if (folder.arm === "head") return { state: "broken", spec, arm: "head", fault: error };
		const { lfsProblem } = folder;
		const isPointer = lfsProblem !== undefined && error.code === "model-unreadable";
		const fix = `${(isPointer ? lfsProblem.fix : error.fix) ?? ""} ${otherBase}`.trim();
		const fault = { ...faultOf(error), fix };
		const place = { model: spec.model.name, arm: folder.arm };
		const record = isPointer
			? recordFault(
					{ ...fault, code: "lfs-unavailable", message: `${fault.message} ${lfsProblem.reason}` },
					place,
				)
			: recordFault(fault, place, "configuration");
		return { state: "broken", spec, arm: "base", error: record };
	}
}

async function readArm(wanted: Wanted, command: CommandFailure | null): Promise<PreparedModel> {
	const { spec, folder, input, ports } = wanted;
	const { arm } = folder;
	const { onnx } = spec.engine;
	const path = await confine(ports.files, folder.path, onnx);
	if (command !== null && (arm === "head" || path !== null || input.hasBaseConfig))
		throw new ConfigError({ ...command, code: "prepare-failed" });
	if (arm === "base" && path === null) return absentFromBase(onnx, wanted, command === null);
	const model =
		arm === "base" && path !== null
			? await readBase(path, wanted)
			: await readModelFile(path ?? `${folder.path}/${onnx}`, wanted);
	await keepApart([model.path, ...model.external.map((data) => data.path)], wanted);
	// ONNX Runtime does not need assets.
	if (input.backend !== "tensorrt") return { state: "ready", spec, arm, model };
	const assets = await readAssets(spec.engine, model.onnx, folder.path, ports);
	if (!("state" in assets)) {
		const { plugins, calibration, plan } = assets;
		await keepApart(
			[...plugins, calibration, plan].map((asset) => asset?.path),
			wanted,
		);
		return { state: "ready", spec, arm, model, assets };
	}
	const { what, path: asset } = assets;
	if (arm === "base" && assets.state === "missing") return absentFromBase(asset, wanted);
	const code = "asset-missing";
	if (arm === "base")
		throw new ConfigError({ code, message: `The base's ${what} ${asset} is an empty file.` });
	const state = assets.state === "empty" ? "an empty file" : "missing";
	const fix = "Correct its path in the config, or let the model's prepare command write it.";
	throw new ConfigError({ code, message: `The ${what} ${asset} of ${spec.id} is ${state}.`, fix });
}

async function keepApart(
	paths: readonly (string | null | undefined)[],
	{ folder, input, ports }: Wanted,
): Promise<void> {
	const given = paths.filter((path) => path != null);
	for (const { folder: other } of input.sides)
		if (other.arm !== folder.arm)
			await keepOutOf(other.root ?? other.path, { root: folder.path, paths: given }, ports.files);
}

/** These leave a model incomplete; preflight reports the others. */
const notWhole: Readonly<Record<string, string>> = {
	"lfs-pointer": "a Git LFS pointer",
	missing: "missing",
	short: "too short",
};

/** Without an ONNX file, the golden stands in for it. */
async function readModelFile(path: string, { spec, input, ports }: Wanted): Promise<ModelOnDisk> {
	const { onnx, golden, build } = spec.engine;
	if (build === undefined || onnx !== golden) return ports.models.read(path);
	if (input.backend !== "tensorrt") {
		const message = `${spec.id} has a plan of TensorRT and no ONNX file, which ONNX Runtime needs.`;
		const fix = "Run it where TensorRT is installed, or name the model's `onnx`.";
		throw new ConfigError({ code: "model-missing", message, fix });
	}
	const { manifest } = await readGolden(path, onnx, ports);
	const model = interfaceOf(manifest, spec.model.inputs);
	return { path, onnx: model, sha256: manifest.model.sha256, external: [] };
}

async function readBase(path: string, wanted: Wanted): Promise<ModelOnDisk> {
	const { onnx } = wanted.spec.engine;
	const model = await readModelFile(path, wanted).catch((error: unknown) => {
		if (!(error instanceof ConfigError)) throw error;
		const message = `The base's model cannot be read: ${error.message.split(path).join(onnx)}`;
		throw new ConfigError({ ...faultOf(error), location: undefined, message });
	});
	const external = model.external.find(({ problem }) => Object.hasOwn(notWhole, problem ?? ""));
	if (external === undefined) return model;
	const message = `The base's ${onnx} cannot be used: its external data ${external.location} is ${notWhole[external.problem ?? ""]}.`;
	throw new ConfigError({ code: "model-unreadable", message });
}

/** @param isPrepared whether a prepare command may have written it, and succeeded. */
async function absentFromBase(path: string, wanted: Wanted, isPrepared = false): Promise<PreparedModel> {
	const { spec, folder, input } = wanted;
	const { name, prepare } = spec.model;
	const code = "model-missing";
	if (isPrepared && prepare !== undefined && input.hasBaseConfig) {
		const message = `The prepare command of ${name} succeeded in the base but wrote no ${path}.`;
		throw new ConfigError({ code, message, fix: fixOfCommand });
	}
	const why = (await folder.whyAbsent?.(path)) ?? null;
	if (why === null) {
		const reason = `the base has no ${path}`;
		return { state: "missing", spec, arm: folder.arm, isNew: !input.hasBaseConfig, reason };
	}
	const message = `The base's ${path} is not in its checkout: ${why}.`;
	const fix = "Put the file itself into the repository, or let the model's `prepare` fetch it.";
	throw new ConfigError({ code, message, fix });
}

interface MissingAsset {
	state: "missing" | "empty";
	path: string;
	what: string;
}

interface AssetPorts extends Pick<Ports, "calibrationData"> {
	files: Pick<Files, "realPath" | "size" | "sha256" | "readText">;
}

/** trtexec silently invents ranges for a missing or empty calibration cache. @throws ConfigError path-outside-workspace. */
async function readAssets(
	{ tensorrt: { plugins, calibration }, build }: EngineSpec["engine"],
	{ graph }: OnnxModel,
	folder: string,
	{ files, calibrationData }: AssetPorts,
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
	if (build !== undefined) {
		// A command writes its plan later, with the machine to itself.
		if (build.command !== undefined) return { plugins: libraries };
		const plan = await read(build.plan, "plan");
		return "state" in plan ? plan : { plugins: libraries, plan };
	}
	if (calibration === undefined) return { plugins: libraries };
	const { path: wanted, data } = calibration;
	if (data !== undefined) {
		const path = await confine(files, folder, wanted);
		if (path === null) return { state: "missing", path: wanted, what: "calibration data" };
		const inputs = feeds(graph).flatMap(({ name, dtype }) => ({ name, dtype: toDType(dtype) ?? "float32" }));
		const found = await calibrationData({ path, inputs, most: data.cases });
		return { plugins: libraries, calibration: found };
	}
	const asset = await read(wanted, "calibration cache");
	return "state" in asset ? asset : { plugins: libraries, calibration: asset };
}
