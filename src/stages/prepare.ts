// Makes sure that every arm has its models: runs the user's prepare command, then reads each ONNX file's structure.

import { recordFault } from "../core/error-record.ts";
import { ConfigError, type ErrorDetails, ToolError } from "../core/errors.ts";
import type { EngineSpec } from "../core/plan/plan.ts";
import type { BackendFacts } from "../core/schema/result.ts";
import { counted } from "../core/text/labels.ts";
import type { Files, ModelOnDisk, ModelReader, Progress, Shell } from "../ports/world.ts";
import { missingAsset, readAssets } from "./assets.ts";
import type { ArmFolder, PreparedModel } from "./prepared.ts";
import { confine } from "./resolve-in-workspace.ts";

interface PrepareInput {
	specs: readonly EngineSpec[];
	arms: readonly ArmFolder[];
	/** Whether the base's config has this engine, or one of the same file. */
	isKnownToBase(spec: EngineSpec): boolean;
	backend: BackendFacts["kind"];
	logFolder: string;
	timeoutMs: number;
}

interface PreparePorts {
	files: Pick<Files, "realPath" | "size" | "sha256">;
	models: ModelReader;
	shell: Shell;
	progress: Progress;
}

interface Context {
	input: PrepareInput;
	ports: PreparePorts;
}

interface Complaint {
	message: string;
	details: ErrorDetails;
}

interface Wanted {
	spec: EngineSpec;
	folder: ArmFolder;
	/** Of the prepare command. */
	complaint: Complaint | null;
}

/**
 * The head must have every model. What the base has not is `missing`; what it has and cannot give is `broken`.
 * @throws ConfigError of the head's models.
 */
export async function* prepare(input: PrepareInput, ports: PreparePorts): AsyncGenerator<PreparedModel> {
	ports.progress.stage("prepare", input.specs.length * input.arms.length);
	const prepared = new Map<string, Promise<Complaint | null>>();
	for (const folder of input.arms) {
		for (const spec of input.specs) {
			ports.progress.item(`${spec.id} (${folder.arm})`);
			const key = `${folder.arm}\n${spec.model.name}`;
			const command = prepared.get(key) ?? runPrepare(spec, folder, { input, ports });
			prepared.set(key, command);
			const complaint = await command;
			yield await readModel({ spec, folder, complaint }, { input, ports });
		}
	}
	ports.progress.done(counted(input.specs.length, "engine"));
}

/** @returns null when there is nothing to complain of. */
async function runPrepare(spec: EngineSpec, folder: ArmFolder, { input, ports }: Context): Promise<Complaint | null> {
	const { prepare } = spec.model;
	if (prepare === undefined) return null;
	const logPath = `${input.logFolder}/prepare-${folder.arm}-${input.specs.indexOf(spec)}.log`;
	const result = await ports.shell.run(prepare, { cwd: folder.path, logPath, timeoutMs: input.timeoutMs });
	if (result.state === "done") return null;
	const { failure } = result;
	if (failure.code === "interrupted") throw new ToolError(failure);
	const details = { ...failure.details, log: logPath };
	if (folder.arm === "base") return { message: failure.message, details: { ...details, fix: `${fixOfCommand} ${otherBase}` } };
	const fix = `Run it by hand in ${folder.path}: ${prepare.command}. A variable that carries rights has to stand under prepare.env.`;
	const message = `The prepare command of ${spec.model.name} failed: ${failure.message}`;
	throw new ConfigError({ code: "prepare-failed", message, details: { ...details, fix } });
}

async function readModel(wanted: Wanted, context: Context): Promise<PreparedModel> {
	const { spec, folder } = wanted;
	const { input, ports } = context;
	const { arm } = folder;
	const path = await confine(ports.files, folder.path, spec.engine.onnx);
	const model =
		arm === "head" ? await ports.models.read(path ?? `${folder.path}/${spec.engine.onnx}`) : await readBase(path, wanted, context);
	if ("state" in model) return model;
	// ONNX Runtime needs none, and may run where none was compiled.
	if (input.backend !== "tensorrt") return { state: "ready", spec, arm, model };
	const assets = await readAssets(spec, folder.path, ports.files);
	if (assets.state === "ready") return { state: "ready", spec, arm, model, assets: assets.assets };
	if (arm === "head") throw missingAsset(assets, spec);
	if (assets.state === "missing") return absentFromBase(assets.path, wanted, input);
	const message = `The base's ${assets.what} ${assets.path} is an empty file.`;
	return brokenBase(wanted, { code: "asset-missing", message, details: { fix: otherBase } });
}

const fixOfCommand = "Let the command work in the base as well: it runs in a checkout of the base, on the base's own files.";
/** The base lies on a branch already: a change cannot fix it. */
const otherBase =
	"Where the base itself is at fault, fix it first, or compare with another commit: `--base`, the input `base`, or `baseline.ref` in the config.";

/** Other problems of external data are the model's own, which preflight judges. */
const notWhole: ReadonlySet<string | null> = new Set(["lfs-pointer", "missing", "short"]);

/** @param path of the model; null where nothing is there. */
async function readBase(path: string | null, wanted: Wanted, { input, ports }: Context): Promise<ModelOnDisk | PreparedModel> {
	const { spec, complaint } = wanted;
	const { onnx } = spec.engine;
	if (complaint !== null && (path !== null || input.isKnownToBase(spec))) {
		const message = `The prepare command of ${spec.model.name} failed in the base: ${complaint.message}`;
		return brokenBase(wanted, { code: "prepare-failed", message, details: complaint.details });
	}
	if (path === null) return complaint === null ? notMade(wanted, input) : absentFromBase(onnx, wanted, input);
	try {
		const model = await ports.models.read(path);
		const external = model.external.find(({ problem }) => notWhole.has(problem));
		if (external === undefined) return model;
		const message = `The base's ${onnx} cannot be used: its external data ${external.location} is ${problemLabels[external.problem ?? ""]}.`;
		return brokenBase(wanted, { code: "model-unreadable", message, details: { fix: otherBase } });
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		const { excerpt, fix = "" } = error.details;
		const message = `The base's model cannot be read: ${error.message.split(path).join(onnx)}`;
		return brokenBase(wanted, {
			code: error.code,
			message,
			details: { ...(excerpt ? { excerpt } : {}), fix: `${fix} ${otherBase}`.trim() },
		});
	}
}

const problemLabels: Readonly<Record<string, string>> = { "lfs-pointer": "a Git LFS pointer", missing: "not there", short: "too short" };

/** A command that ended well should have made what the base's config speaks of. */
async function notMade(wanted: Wanted, input: PrepareInput): Promise<PreparedModel> {
	const { spec } = wanted;
	const { onnx } = spec.engine;
	if (spec.model.prepare === undefined || !input.isKnownToBase(spec)) return absentFromBase(onnx, wanted, input);
	const message = `The prepare command of ${spec.model.name} ended well in the base, and made no ${onnx}.`;
	return brokenBase(wanted, { code: "model-missing", message, details: { fix: `${fixOfCommand} ${otherBase}` } });
}

async function absentFromBase(path: string, wanted: Wanted, input: PrepareInput): Promise<PreparedModel> {
	const { spec, folder } = wanted;
	const why = (await folder.whyAbsent?.(path)) ?? null;
	if (why === null)
		return { state: "missing", spec, arm: folder.arm, isNew: !input.isKnownToBase(spec), reason: `the base has no ${path}` };
	const fix = `Put the file itself into the repository, or let the model's \`prepare\` fetch it. ${otherBase}`;
	return brokenBase(wanted, { code: "model-missing", message: `The base's ${path} is not in its checkout: ${why}.`, details: { fix } });
}

function brokenBase({ spec, folder }: Wanted, fault: Parameters<typeof recordFault>[0]): PreparedModel {
	const place = { model: spec.model.name, arm: folder.arm };
	const { lfsProblem } = folder;
	const isOfLfs = lfsProblem !== undefined && fault.code === "model-unreadable";
	if (!isOfLfs) return { state: "broken", spec, arm: folder.arm, error: recordFault(fault, place, "configuration") };
	const fix = "Give the runner git-lfs, and the workflow's token or the remote the right to read these files; then run it again.";
	const details = { ...fault.details, fix: `${fix} ${otherBase}` };
	const error = recordFault({ code: "lfs-unavailable", message: `${fault.message} ${lfsProblem}`, details }, place);
	return { state: "broken", spec, arm: folder.arm, error };
}
