// Builds all engines, the base first so that both sides may share a timing cache.
import type { Arm, BuildRecord, Finding } from "../../generated/result.ts";
import type { OwnBuildConfig } from "../core/config/config.ts";
import { folderName } from "../core/config/values.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import { isSameRecipe } from "../core/plan/recipe.ts";
import { counted } from "../core/text/labels.ts";
import { diffEngines } from "../engine/core/diff.ts";
import { engineModel } from "../engine/core/model.ts";
import { criticalWarnings } from "../engine/core/warnings.ts";
import type { Backend, BuildJob, BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { Files, Progress } from "../ports/world.ts";
import { calibrationCases, withCalibration } from "./calibration.ts";
import { isBlocked } from "./preflight.ts";
import { type PreparedModel, recipeOf } from "./prepared.ts";
import { confine } from "./resolve-in-workspace.ts";

interface BuildInput {
	models: readonly PreparedModel[];
	findings: readonly Finding[];
	strict: boolean;
	sharesUnchanged: boolean;
	/** Builds per side; above 1, kernel timings are not shared. */
	rebuilds: number;
	folders: Readonly<Partial<Record<Arm, string>>>;
	outFolder: string;
	timeoutMs: number;
}

interface Built {
	record: BuildRecord;
	engine?: BuiltEngine;
}

type BuildPorts = Parameters<typeof calibrationCases>[1] &
	PlanPorts & {
		progress: Progress;
		backend: Pick<Backend, "build" | "layersOf" | "calibrationOf">;
	};

export async function* build(input: BuildInput, ports: BuildPorts): AsyncGenerator<Built> {
	ports.progress.stage("build", input.models.length);
	let built = 0;
	const ofBase = new Map<string, { prepared: Buildable; result: Built }>();
	for (const prepared of input.models) {
		// Already reported.
		if (prepared.state === "broken" && prepared.arm === "base") continue;
		ports.progress.item(`${prepared.spec.id} (${prepared.arm})`);
		const base = prepared.arm === "head" ? ofBase.get(prepared.spec.id) : undefined;
		const isShared = base !== undefined && input.sharesUnchanged && isUnchanged(base.prepared, prepared);
		const result = isShared
			? shareWithHead(base.result, prepared.spec)
			: await withLayerWarnings(await buildAll(prepared, input, ports), base?.result.engine, ports);
		if (prepared.arm === "base") ofBase.set(prepared.spec.id, { prepared, result });
		if (result.engine) built += 1;
		yield result;
	}
	ports.progress.done(`${built} of ${counted(input.models.length, "engine")} built`);
}

type Buildable = Exclude<PreparedModel, { state: "broken"; arm: "base" }>;

function isUnchanged(base: PreparedModel, head: PreparedModel): boolean {
	return base.state === "ready" && head.state === "ready" && isSameRecipe(recipeOf(base), recipeOf(head));
}

async function withLayerWarnings(
	built: Built,
	base: BuiltEngine | undefined,
	{ backend }: BuildPorts,
): Promise<Built> {
	if (built.engine === undefined) return built;
	const engine = await withCalibration(built.engine, base, backend);
	if (engine.arm === "base") return { record: engine.record, engine };
	// Layers of another precision are all new.
	const isComparable = base?.spec.engine.precision === engine.spec.engine.precision;
	const found = await warnOfLayers({ base: isComparable ? base : undefined, head: engine }, backend);
	const record = { ...engine.record, warnings: [...engine.record.warnings, ...found] };
	return { record, engine: { ...engine, record } };
}

/** Under the head's own rules. */
function shareWithHead({ record, engine }: Built, spec: BuiltEngine["spec"]): Built {
	const shared: BuildRecord = { ...record, arm: "head", sharedWithBase: true };
	return { record: shared, engine: engine && { ...engine, spec, arm: "head", record: shared } };
}

/** Every build times its kernels anew, so that builds vary as any two builds do. */
async function buildAll(prepared: Buildable, input: BuildInput, ports: BuildPorts): Promise<Built> {
	const other = input.models.find(({ arm, spec }) => arm !== prepared.arm && spec.id === prepared.spec.id);
	const servesHead = input.sharesUnchanged && other !== undefined && isUnchanged(prepared, other);
	const { build } = prepared.spec.engine;
	const isFile = build !== undefined && build.command === undefined;
	const times = servesHead || isFile ? 1 : input.rebuilds;
	const each = { ...input, rebuilds: times };
	const first = await buildOne(prepared, each, ports);
	if (first.engine === undefined) return first;
	const rebuilds: BuiltEngine[] = [];
	const notes = first.record.notes ?? [];
	for (let number = 2; number <= times; number += 1) {
		ports.progress.detail(`build ${number} of ${times}`);
		const { engine, record } = await buildOne(prepared, { ...each, number }, ports);
		if (engine !== undefined) rebuilds.push(engine);
		else notes.push(`Build ${number} of ${times} failed: ${record.failure?.title ?? record.state}.`);
	}
	if (times === 1) return first;
	notes.push(`Built ${rebuilds.length + 1} times, without shared kernel timings (measure.rebuilds).`);
	const record = { ...first.record, notes };
	return {
		record,
		engine: { ...first.engine, record, rebuilds: rebuilds.length > 0 ? rebuilds : undefined },
	};
}

async function buildOne(
	prepared: Buildable,
	input: BuildInput & { number?: number },
	ports: BuildPorts,
): Promise<Built> {
	const { rebuilds, number = 1, outFolder, timeoutMs } = input;
	if (prepared.state === "broken")
		return { record: { ...notBuilt(prepared, "missing"), ...describeFault(prepared.fault) } };
	if (prepared.state === "missing") return { record: notBuilt(prepared, "missing") };
	if (isBlocked(prepared, input.findings, input.strict)) return { record: notBuilt(prepared, "skipped") };
	const { state: _, ...recipe } = prepared;
	const { spec, arm } = recipe;
	const name = folderName(spec.id);
	const suffix = number > 1 ? `-build${number}` : "";
	const which = rebuilds > 1 ? `build ${number} of ${rebuilds}, ` : "";
	const job: BuildJob = {
		...recipe,
		engineFolder: `${outFolder}/engines/${arm}/${name}${suffix}`,
		cacheFolder: rebuilds > 1 ? undefined : `${outFolder}/cache`,
		logPath: `${outFolder}/logs/build-${name}-${arm}${suffix}.log`,
		timeoutMs,
		calibrationCases: calibrationCases(prepared, ports),
		onPhase: (phase) => ports.progress.detail(`${which}${phase}`),
	};
	const { build } = spec.engine;
	const folder = input.folders[arm] ?? "";
	const ownPlan =
		build &&
		((variables: Record<string, string>) =>
			getPlan(build, { ...job, id: spec.id, folder, variables }, ports));
	const record = await buildOrRefuse(ports.backend, { ...job, ownPlan });
	if (record.state !== "built" || record.enginePath === undefined) return { record };
	return { record, engine: { ...recipe, record, path: record.enginePath } };
}

const engineFaults = [
	...["config-dims", "tensor-invalid", "golden-missing", "path-outside-workspace", "plan-failed"],
];

/** Wrong dimensions and calibration data are a fault of this engine only. */
async function buildOrRefuse(backend: BuildPorts["backend"], job: BuildJob) {
	try {
		return await backend.build(job);
	} catch (error) {
		if (!(error instanceof ConfigError) || !engineFaults.includes(error.code)) throw error;
		return { ...notBuilt(job, "refused"), ...describeFault(error) };
	}
}

function describeFault(fault: ConfigError) {
	const { code, message, fix = "", excerpt = [], log } = fault;
	return { failure: { code, title: message, fix, excerpt: [...excerpt] }, log };
}

function notBuilt(
	{ spec: { model, engine }, arm }: Pick<BuildJob, "spec" | "arm">,
	state: "missing" | "skipped" | "refused",
) {
	const of = { model: model.name, engine: engine.name, arm, precision: engine.precision };
	return { ...of, state, durationMs: 0, warnings: [] };
}

/** Of a base and a head. */
export function samenessOf([base, head]: readonly BuiltEngine[]) {
	return {
		isSameModel: base?.model.sha256 === head?.model.sha256,
		isUpgrade: base?.record.recipe?.["tensorrt"] !== head?.record.recipe?.["tensorrt"],
	};
}

/** If there is a base, reports only warnings that are new in the head. */
export async function warnOfLayers(
	{ base, head }: { base: BuiltEngine | undefined; head: BuiltEngine },
	backend: Pick<Backend, "layersOf">,
): Promise<BuildRecord["warnings"]> {
	const modelOf = async (engine: BuiltEngine | undefined) => {
		const info = engine === undefined ? null : ((await backend.layersOf?.(engine)) ?? null);
		return info === null
			? null
			: engineModel({ info, profiles: [], graph: engine?.model.onnx.graph ?? null });
	};
	const engines = { base: await modelOf(base), head: await modelOf(head) };
	if (engines.head === null) return [];
	const both = engines.base === null ? null : { base: engines.base, head: engines.head };
	const known = { gpu: null, enginesMs: null, ...(base && samenessOf([base, head])) };
	const rows = both === null ? [] : diffEngines(both, known).rows;
	return criticalWarnings({ base: engines.base, head: engines.head }, rows).map(
		({ class: kind, count, text }) => ({ class: kind, count, example: text, ...(both && { isNew: true }) }),
	);
}

type PlanPorts = Pick<Ports, "shell"> & { files: Pick<Files, "realPath" | "size" | "changedMs"> };

interface PlanJob extends Pick<BuildJob, "logPath" | "timeoutMs"> {
	id: string;
	folder: string;
	variables: Record<string, string>;
}

const fixOfFile = "Let it write the file that build.plan names, anew in each run.";

/** An absolute path. @throws ConfigError plan-failed, path-outside-workspace; ToolError interrupted. */
export async function getPlan(build: OwnBuildConfig, job: PlanJob, ports: PlanPorts): Promise<string> {
	const { command, env = [], plan } = build;
	const { id, folder } = job;
	const changed = async () => {
		const path = await confine(ports.files, folder, plan);
		return path === null ? null : ports.files.changedMs(path);
	};
	const code = "plan-failed";
	if (command !== undefined) {
		const before = await changed();
		const log = await runCommand({ command, env }, job, ports);
		const after = await changed();
		// What lies there of an earlier build must not pass for this one.
		if (after === null || after === before) {
			const what = after === null ? "wrote no" : "left the old";
			const message = `The build command of ${id} succeeded but ${what} ${plan}.`;
			throw new ConfigError({ code, message, fix: fixOfFile, log });
		}
	}
	const path = await confine(ports.files, folder, plan);
	if (path !== null && (await ports.files.size(path))) return path;
	const message = `The plan ${plan} of ${id} is ${path === null ? "missing" : "not a file, or empty"}.`;
	throw new ConfigError({ code, message, fix: "Correct build.plan, or what writes it." });
}

async function runCommand(
	build: { command: string; env: readonly string[] },
	{ id, folder: cwd, logPath, timeoutMs, variables }: PlanJob,
	ports: PlanPorts,
) {
	const log = logPath.replace(/(\.log)?$/, "-command.log");
	const what = `The build command of ${id}`;
	const options = { cwd, logPath: log, timeoutMs, what, variables };
	const result = await ports.shell.run(build, options);
	if (result.state === "done") return log;
	const { failure } = result;
	if (failure.code === "interrupted") throw new ToolError(failure);
	const fix = `Run it by hand in ${cwd}: ${build.command}. A variable that holds credentials must be listed under build.env.`;
	throw new ConfigError({ ...failure, code: "plan-failed", fix, log });
}
