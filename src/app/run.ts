// The story of one run: the stages in order, and the one place that catches what they throw.
import { recordError } from "../core/error-record.ts";
import { ToolError } from "../core/errors.ts";
import { attachSeen } from "../core/explain/attach.ts";
import { makePlan } from "../core/plan/make-plan.ts";
import type { EngineSpec } from "../core/plan/plan.ts";
import { engineSpecs } from "../core/plan/specs.ts";
import type { ErrorRecord, Result } from "../core/schema/result.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import { build } from "../stages/build.ts";
import { compare } from "../stages/compare.ts";
import { explain } from "../stages/explain.ts";
import { isIdentical } from "../stages/identical.ts";
import { loadGoldens } from "../stages/load-goldens.ts";
import { measure, type TimedWorkload } from "../stages/measure.ts";
import { preflight } from "../stages/preflight.ts";
import { prepare } from "../stages/prepare.ts";
import type { PreparedModel } from "../stages/prepared.ts";
import { reviewGoldens } from "../stages/review.ts";
import { shapeWorkloads } from "../stages/shape.ts";
import { verify } from "../stages/verify.ts";
import { comparison, runFigures, timedWorkloads } from "./comparison.ts";
import { concludeResult } from "./conclude.ts";
import { emptyFacts, type Facts } from "./facts.ts";
import type { GateInput } from "./gate-input.ts";
import { keptFiles } from "./kept-files.ts";
import { probeEngines } from "./probe-engines.ts";
import type { Prepared, RunContext } from "./run-context.ts";

export async function runGate(input: GateInput, ports: Ports): Promise<Result> {
	const facts = emptyFacts({ startedAt: ports.clock.timestamp(), startedMs: ports.clock.now(), backend: await ports.backend.facts() });
	try {
		await runStages(input, ports, facts);
		facts.stage = null;
	} catch (error) {
		facts.errors.push(recordError(error));
	}
	facts.notes.push(...(ports.backend.notes?.() ?? []));
	facts.files = await keptFiles(input.outFolder, facts.files, ports.files);
	return concludeResult(facts, input, { nowMs: ports.clock.now(), childMs: ports.childMs() });
}

async function runStages(input: GateInput, ports: Ports, facts: Facts): Promise<void> {
	const enter = (stage: string): void => enterStage(stage, facts, ports);
	enter("prepare");
	facts.environment = await ports.backend.fingerprint();
	const prepared = await prepareGate(input, ports);
	facts.errors.push(...faultsOfBase(prepared.models));
	await reviewChanges(prepared, input, { facts, ports });
	enter("preflight");
	const { kind, version, memoryBytes, computeCapability } = facts.backend;
	const context = { backend: kind, ...(kind === "tensorrt" ? { tensorrt: version } : {}), ...input.config.preflight };
	const gpu = {
		...(memoryBytes === undefined ? {} : { gpuMemoryBytes: memoryBytes }),
		...(computeCapability === undefined ? {} : { computeCapability }),
	};
	facts.findings = preflight({ models: prepared.models, ...context, ...gpu }, ports);
	facts.shapes = shapeWorkloads(prepared.plan, prepared.models);
	await input.beforeBuild?.({ config: input.config, fingerprint: facts.environment, models: prepared.models });
	const gpuLease = await ports.gpuLease.take();
	if (gpuLease.note !== undefined) facts.notes.push(gpuLease.note);
	try {
		await runOnMachine({ prepared, input, facts }, ports);
	} finally {
		await gpuLease.release();
	}
	enter("compare");
}

/** What is right may change only under somebody's eyes. */
async function reviewChanges(prepared: Prepared, input: GateInput, { facts, ports }: { facts: Facts; ports: Ports }): Promise<void> {
	const base = input.arms.find((folder) => folder.arm === "base");
	if (base === undefined) return;
	const baseEngines = engineSpecs(input.baseConfig ?? { models: [] });
	const engines = { baseEngines, headEngines: engineSpecs(input.config) };
	facts.goldenChanges = await reviewGoldens({ ...engines, goldens: prepared.goldens, baseFolder: base.path }, ports);
}

/** All that needs the machine for itself. */
async function runOnMachine(work: RunContext, ports: Ports): Promise<void> {
	const { prepared, facts } = work;
	const engines = await buildEngines(work, ports);
	enterStage("verify", facts, ports);
	await verifyEngines(engines, work, ports);
	enterStage("probe", facts, ports);
	await probeEngines(engines, work, { ports, enter: () => enterStage("probe", facts, ports) });
	enterStage("measure", facts, ports);
	const workloads = timedWorkloads(prepared.plan, engines, facts);
	await measureWorkloads(workloads, work, ports);
	enterStage("explain", facts, ports);
	if (facts.backend.kind === "tensorrt") await explainWorkloads(workloads, work, ports);
}

async function buildEngines({ prepared, input, facts }: RunContext, ports: Ports): Promise<BuiltEngine[]> {
	enterStage("build", facts, ports);
	const engines: BuiltEngine[] = [];
	const { strict } = input.config.preflight;
	const building = {
		models: prepared.models,
		findings: facts.findings,
		strict,
		outFolder: input.outFolder,
		timeoutMs: input.config.measure.buildTimeoutMs,
	};
	for await (const built of build(building, ports)) {
		facts.builds.push(built.record);
		if (built.engine) engines.push(built.engine);
		enterStage("build", facts, ports);
	}
	return engines;
}

/** Prepares the models and makes the plan: all that a dry run does. */
export async function prepareGate(input: GateInput, ports: Ports): Promise<Prepared> {
	const { config, arms } = input;
	const specs = engineSpecs(config);
	const models: PreparedModel[] = [];
	const { kind: backend } = await ports.backend.facts();
	const preparing = {
		...{ specs, arms, backend, logFolder: `${input.outFolder}/logs`, timeoutMs: config.measure.buildTimeoutMs },
		isKnownToBase: (spec: EngineSpec) => isKnownToBase(spec, input),
	};
	for await (const model of prepare(preparing, ports)) models.push(model);
	const headFolder = arms.find((folder) => folder.arm === "head")?.path ?? "";
	const goldens = await loadGoldens(models, headFolder, ports);
	const cases = new Map([...goldens].map(([id, set]) => [id, set.manifest.cases.map((golden) => golden.id)]));
	const plan = makePlan({
		config,
		arms: arms.map((folder) => folder.arm),
		cases,
		seed: input.seed,
		isScheduled: input.isScheduled ?? false,
		backend,
	});
	return { models, goldens, plan };
}

/** Where the base's config cannot be read, nothing says that an engine is new. */
function isKnownToBase({ id, engine }: EngineSpec, { baseConfig, baseConfigFault }: GateInput): boolean {
	if (baseConfigFault !== undefined) return true;
	return engineSpecs(baseConfig ?? { models: [] }).some((base) => base.id === id || base.engine.onnx === engine.onnx);
}

/** Each is told once, however many engines a model has. */
function faultsOfBase(models: readonly PreparedModel[]): ErrorRecord[] {
	const faults = models.flatMap((model) => (model.state === "broken" ? [[JSON.stringify(model.error), model.error] as const] : []));
	return [...new Map(faults).values()];
}

/** Marks where the run is, and ends it here when somebody asked to stop. */
function enterStage(stage: string, facts: Facts, ports: Ports): void {
	const reason = ports.interrupt.reason();
	if (reason === null) {
		facts.stage = stage;
		return;
	}
	throw new ToolError({
		code: "interrupted",
		message: `The run was ${reason}.`,
		details: { fix: "Run it again; what was measured so far is kept." },
	});
}

async function verifyEngines(engines: readonly BuiltEngine[], work: RunContext, ports: Ports): Promise<void> {
	const { input, facts, prepared } = work;
	const { threads, timeoutMs } = input.config.measure;
	const cwd = input.arms.find(({ arm }) => arm === "head")?.path ?? "";
	const commands = { known: input.config.commands ?? [], cwd };
	for await (const verified of verify(
		{
			engines,
			goldens: prepared.goldens,
			modelSha256: ownHashes(prepared.models),
			outFolder: input.outFolder,
			threads,
			timeoutMs,
			commands,
		},
		ports,
	)) {
		if (verified.state === "judged") facts.golden.push(verified.verdict);
		else facts.errors.push(verified.error);
		enterStage("verify", facts, ports);
	}
}

/** Hashes of the head's models themselves, not of their variants; a model of which only variants are built has none. */
function ownHashes(models: readonly PreparedModel[]): Map<string, string> {
	const own = models.filter((model) => model.arm === "head" && model.state === "ready" && model.spec.engine.onnx === model.spec.model.onnx);
	return new Map(own.flatMap((model) => (model.state === "ready" ? [[model.spec.model.name, model.model.sha256] as const] : [])));
}

async function measureWorkloads(workloads: readonly TimedWorkload[], work: RunContext, ports: Ports): Promise<void> {
	const { input, facts } = work;
	const family = Math.max(1, workloads.filter((timed) => timed.base && !isIdentical(timed, input.config.measure)).length);
	const figure = runFigures[facts.backend.kind];
	const job = { workloads, measure: input.config.measure, family, figure, outFolder: input.outFolder };
	for await (const measured of measure(job, ports)) {
		facts.rows.push(compare(measured, comparison(measured, { work, workloads, family, figure })));
		if (measured.error) facts.errors.push(measured.error);
	}
	facts.notes.push(...ports.telemetry.degradations());
}

async function explainWorkloads(workloads: readonly TimedWorkload[], { input, facts }: RunContext, ports: Ports): Promise<void> {
	const { outFolder, config } = input;
	const job = { workloads, rows: facts.rows, profile: config.profile, outFolder, timeoutMs: config.measure.timeoutMs };
	for await (const { files, note, seen } of explain(job, ports)) {
		facts.files.push(...files);
		if (seen !== undefined) attachSeen(facts.rows, seen);
		if (note !== undefined && !facts.notes.includes(note)) facts.notes.push(note);
	}
}
