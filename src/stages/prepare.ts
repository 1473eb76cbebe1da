// Makes sure that every arm has its models: runs the user's prepare command, then reads each ONNX file's structure.
import { ConfigError, ToolError } from "../core/errors.ts";
import type { EngineSpec } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import { missingAsset, readAssets } from "./assets.ts";
import { absentFromBase, brokenBase, fixOfCommand, otherBase, readBase } from "./prepare-base.ts";
import type { ArmFolder, Complaint, Context, PreparedModel, PrepareInput, PreparePorts, Wanted } from "./prepared.ts";
import { confine } from "./resolve-in-workspace.ts";

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
