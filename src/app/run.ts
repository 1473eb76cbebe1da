// One run of the gate: its stages in order, from top to bottom, and the one place that catches what they throw.
import { createHash } from "node:crypto";
import type { BuildRecord, Finding, Result } from "../../generated/result.ts";
import { recordError } from "../core/errors.ts";
import { attachProfile } from "../core/explain/layers.ts";
import { underNameOf } from "../core/plan/counterparts.ts";
import { engineSpecs } from "../core/plan/plan.ts";
import { recipeText } from "../core/plan/recipe.ts";
import { counted, listNames } from "../core/text/labels.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import { build } from "../stages/build.ts";
import { explain } from "../stages/explain.ts";
import { graphCosts } from "../stages/graph-costs.ts";
import { preflight } from "../stages/preflight.ts";
import { type PreparedModel, recipeOf } from "../stages/prepared.ts";
import { filesOfRun } from "../stages/report.ts";
import { reviewGoldens } from "../stages/review.ts";
import { shapeWorkloads, type TimedWorkload } from "../stages/workloads.ts";
import { bisectGoldens, probeEngines, verifyEngines } from "./check-engines.ts";
import { countWorkloads, measureAgain, measureWorkloads, soakEngines, timingOf } from "./comparison.ts";
import { concludeResult } from "./conclude.ts";
import { errorsOfBase, prepareGate, stopIfNothingIsLeft, untestedGoldens } from "./prepare-gate.ts";
import {
	emptyFacts,
	type Facts,
	type GateInput,
	type Prepared,
	type RunContext,
	stopIfInterrupted,
	unchangedMode,
} from "./run-context.ts";
import { followSteps, keepTimes, knownSteps, recallTimes } from "./step-times.ts";

export async function runGate(input: GateInput, ports: Ports): Promise<Result> {
	const start = { startedAt: ports.clock.timestamp(), startedMs: ports.clock.now() };
	const baseBackend =
		input.config.base === undefined ? {} : { baseBackend: await ports.backend.facts("base") };
	const facts = emptyFacts({
		...start,
		config: input.config,
		backend: await ports.backend.facts(),
		...baseBackend,
	});
	try {
		await runStages(input, ports, facts);
		facts.stage = null;
	} catch (error) {
		const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
		facts.errors.push(...all.map(recordError));
	}
	facts.notes.push(...(ports.backend.notes?.() ?? []));
	facts.files = await filesOfRun(input.outFolder, facts.files, ports.files);
	return concludeResult(facts, input, { nowMs: ports.clock.now(), childMs: ports.childMs() });
}

/** Each stage adds what it finds to the facts, so that a run that ends early still has a result. */
async function runStages(asked: GateInput, ports: Ports, facts: Facts): Promise<void> {
	enterStage("prepare", facts, ports);
	facts.environment = await ports.backend.fingerprint();
	const found = await prepareGate(asked, ports);
	const input = { ...asked, config: found.config };
	facts.config = found.config;
	facts.counterparts = found.counterparts;
	facts.errors.push(...errorsOfBase(found.models));
	facts.recipeChanges = found.recipes;
	facts.droppedCases = droppedCases(found);
	facts.untested = untestedGoldens(input, found);
	await reviewChanges({ prepared: found, input, facts, ports });
	enterStage("preflight", facts, ports);
	facts.findings = runPreflight({ prepared: found, input, facts, ports });
	const { shapes, models, lost } = shapeWorkloads(found.plan, found.models, found.config);
	facts.shapes = shapes;
	facts.interfaceChanges = [...found.interfaces.changes, ...lost];
	facts.graphCosts = graphCosts(found.plan, models, shapes);
	const prepared = { ...found, models };
	stopIfNothingIsLeft(prepared);
	await input.beforeBuild?.({
		config: input.config,
		fingerprint: facts.environment,
		models: prepared.models,
	});
	const recalled = await recallTimes(prepared, input, ports);
	const later = [
		...(input.isSoakDue === true ? ["soak"] : []),
		...(facts.backend.kind === "tensorrt" ? ["explain"] : []),
	];
	const { progress, took } = followSteps(knownSteps(recalled, later), ports.progress, ports.clock);
	const run: RunContext = {
		prepared: { ...prepared, plan: recalled.plan },
		input,
		facts,
		ports: { ...ports, progress },
	};
	const gpuLease = await ports.gpuLease.take();
	if (gpuLease.note !== undefined) facts.notes.push(gpuLease.note);
	try {
		await runOnMachine(run);
		await keepTimes(took, input, ports);
	} finally {
		await gpuLease.release();
	}
	stopIfInterrupted(ports);
}

/** The stages that need the machine for themselves. */
async function runOnMachine(run: RunContext): Promise<void> {
	const { facts, ports } = run;
	enterStage("build", facts, ports);
	const engines = await buildEngines(run);
	enterStage("verify", facts, ports);
	await verifyEngines(engines, run);
	enterStage("bisect", facts, ports);
	await bisectGoldens(engines, run);
	enterStage("probe", facts, ports);
	await probeEngines(engines, run);
	enterStage("measure", facts, ports);
	const timing = timingOf(engines, run);
	if (facts.backend.kind === "onnxruntime") await countWorkloads(timing, run);
	else {
		await measureWorkloads(timing, run);
		await measureAgain(timing, run);
		if (run.input.isSoakDue === true) {
			enterStage("soak", facts, ports);
			await soakEngines(timing, run);
		}
	}
	facts.notes.push(...ports.telemetry.degradations());
	enterStage("explain", facts, ports);
	await explainWorkloads(timing.workloads, run);
}

function droppedCases({ goldens, counterparts }: Prepared): Map<string, readonly string[]> {
	return new Map(
		[...goldens].flatMap(([id, { manifest, ofBase }]) => {
			const kept = new Set(manifest.cases.map((golden) => golden.id));
			const dropped = (ofBase?.cases ?? []).map((golden) => golden.id).filter((name) => !kept.has(name));
			return dropped.length === 0 ? [] : [[counterparts.get(id) ?? id, dropped] as const];
		}),
	);
}

/** Marks where the run is. @throws ToolError interrupted. */
function enterStage(stage: string, facts: Facts, ports: Ports): void {
	stopIfInterrupted(ports);
	facts.stage = stage;
}

/** A golden that changed needs a review: otherwise a change could redefine what is correct unnoticed. */
async function reviewChanges({ prepared, input, facts, ports }: RunContext): Promise<void> {
	const base = input.arms.find((folder) => folder.arm === "base");
	if (base === undefined) return;
	const heads = engineSpecs(input.config);
	const bases = new Map(engineSpecs(input.baseConfig ?? { models: [] }).map((spec) => [spec.id, spec]));
	const baseEngines = heads.flatMap((head) => {
		const own = bases.get(prepared.counterparts.get(head.id) ?? "");
		return own === undefined ? [] : [underNameOf(head, own)];
	});
	const engines = { baseEngines, headEngines: heads };
	facts.goldenChanges = await reviewGoldens(
		{ ...engines, goldens: prepared.goldens, baseFolder: base.path },
		ports,
	);
}

function runPreflight({ prepared, input, facts, ports }: RunContext): Finding[] {
	const { kind: backend, version, memoryBytes: gpuMemoryBytes, computeCapability } = facts.backend;
	const machine = {
		backend,
		tensorrt: backend === "tensorrt" ? version : undefined,
		gpuMemoryBytes,
		computeCapability,
		baseTensorrt: facts.baseBackend?.version,
	};
	return preflight({ models: prepared.models, ...machine, ...input.config.preflight }, ports);
}

async function buildEngines({ prepared, input, facts, ports }: RunContext): Promise<BuiltEngine[]> {
	const engines: BuiltEngine[] = [];
	const buildsVary = facts.backend.kind === "tensorrt";
	if (!buildsVary && input.config.measure.rebuilds > 1) facts.notes.push(rebuildsUseless);
	const building = {
		models: prepared.models,
		findings: facts.findings,
		strict: input.config.preflight.strict,
		sharesUnchanged: unchangedMode(input) !== "rebuild",
		rebuilds: buildsVary ? input.config.measure.rebuilds : 1,
		outFolder: input.outFolder,
		timeoutMs: input.config.measure.buildTimeoutMs,
	};
	const hashes = recipeHashes(prepared.models);
	for await (const built of build(building, ports)) {
		const recipeHash = hashes.get(`${built.record.arm} ${built.record.model}/${built.record.engine}`);
		if (recipeHash !== undefined) built.record.recipeHash = recipeHash;
		facts.builds.push(built.record);
		if (built.engine) engines.push(built.engine);
		stopIfInterrupted(ports);
	}
	const shared = facts.builds.filter(({ sharedWithBase }) => sharedWithBase === true);
	if (shared.length > 0)
		facts.notes.push(sharedNote(shared, facts.builds.filter(({ arm }) => arm === "head").length));
	return engines;
}

/** What `accept` in trtgate.yml names an engine by. */
function recipeHashes(models: readonly PreparedModel[]): Map<string, string> {
	const ready = models.filter((model) => model.state === "ready");
	const hash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
	return new Map(ready.map((model) => [`${model.arm} ${model.spec.id}`, hash(recipeText(recipeOf(model)))]));
}

const rebuildsUseless =
	"measure.rebuilds has no effect: ONNX Runtime makes the same engine of a model every time, so base and head were each built once.";

function sharedNote(shared: readonly BuildRecord[], total: number): string {
	const names = listNames(shared.map(({ model, engine }) => `${model}/${engine}`));
	return `Unchanged: ${shared.length} of ${counted(total, "engine")} (${names}). Base and head have the same model and settings, so they share one engine, which is not measured.`;
}

async function explainWorkloads(
	workloads: readonly TimedWorkload[],
	{ input, facts, ports }: RunContext,
): Promise<void> {
	const { outFolder, config } = input;
	const explaining = {
		workloads,
		rows: facts.rows,
		gpu: facts.backend.device,
		memoryBytes: facts.backend.memoryBytes,
		cudaGraph: config.measure.cudaGraph,
		profile: config.profile,
		outFolder,
		timeoutMs: config.measure.timeoutMs,
	};
	for await (const { files, note, seen } of explain(explaining, ports)) {
		facts.files.push(...files);
		if (seen !== undefined) attachProfile(facts.rows, seen);
		if (note !== undefined && !facts.notes.includes(note)) facts.notes.push(note);
	}
}
