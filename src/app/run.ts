// One run of the gate, its stages in order from top to bottom.

import type { Result } from "../../generated/result.ts";
import { digestOf } from "../adapters/process/input-file.ts";
import { recordError } from "../core/errors.ts";
import { engineSpecs, findCounterparts, underNameOf } from "../core/plan/plan.ts";
import { recipeText } from "../core/plan/recipe.ts";
import { counted, listNames } from "../core/text/labels.ts";
import type { NodeTypes } from "../engine/core/coverage.ts";
import { withProfile } from "../engine/core/explain/layers.ts";
import { coverageOf, explain } from "../engine/stages/explain.ts";
import { reviewGoldens } from "../golden/stages/review.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import { build } from "../stages/build.ts";
import { graphCosts } from "../stages/graph-costs.ts";
import { checkSparsity, preflight } from "../stages/preflight.ts";
import { type PreparedModel, recipeOf } from "../stages/prepared.ts";
import { filesOfRun } from "../stages/report.ts";
import { shapeWorkloads, type TimedWorkload } from "../stages/workloads.ts";
import { concludeResult } from "./conclude.ts";
import {
	bisectGoldens,
	countWorkloads,
	measureAgain,
	observeEngines,
	probeEngines,
	timeSiblings,
	timeWorkloads,
	timingOf,
	verifyEngines,
} from "./engine-stages.ts";
import { errorsOfBase, prepareGate, stopIfNothingIsLeft, untestedGoldens } from "./prepare-gate.ts";
import {
	type Facts,
	type GateInput,
	noFacts,
	type Prepared,
	type RunContext,
	stopIfInterrupted,
	unchangedMode,
	withFound,
} from "./run-context.ts";

export async function runGate(input: GateInput, ports: Ports): Promise<Result> {
	const startedMs = ports.clock.now();
	const bases = engineSpecs(input.rules ?? input.baseConfig ?? { models: [] });
	let facts: Facts = {
		...noFacts,
		// By name, until the files are read.
		counterparts: findCounterparts(bases, engineSpecs(input.headConfig), () => false),
		startedAt: ports.clock.timestamp(),
		config: input.config,
		backend: await ports.backend.facts(),
		baseBackend: input.config.base && (await ports.backend.facts("base")),
	};
	try {
		for await (const found of runStages(input, ports, () => facts)) facts = withFound(facts, found);
		facts = { ...facts, stage: null };
	} catch (error) {
		const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
		facts = withFound(facts, { errors: all.map(recordError) });
	}
	facts = withFound(facts, { notes: ports.backend.notes?.() });
	const files = await filesOfRun(input.outFolder, facts.files, ports.files);
	const took = { durationMs: ports.clock.now() - startedMs, childMs: ports.childMs() };
	return concludeResult({ ...facts, files }, input, took);
}

/** A run that ends early still has a result. */
async function* runStages(asked: GateInput, ports: Ports, seen: () => Facts) {
	yield enterStage("prepare", ports);
	yield { environment: await ports.backend.fingerprint() };
	const found = await prepareGate(asked, ports);
	const input = { ...asked, config: found.config };
	yield {
		config: found.config,
		counterparts: found.counterparts,
		errors: errorsOfBase(found.models),
		recipeChanges: found.recipes,
		droppedCases: droppedCases(found),
		untested: untestedGoldens(input, found),
	};
	yield { goldenChanges: await reviewChanges(found, input, ports) };
	yield enterStage("preflight", ports);
	yield { findings: runPreflight(found, input, seen(), ports) };
	if (seen().backend.kind === "tensorrt") yield { findings: await checkSparsity(found.models, ports.models) };
	const { shapes, models, lost } = shapeWorkloads(found.plan, found.models, found.config);
	yield {
		shapes,
		interfaceChanges: [...found.interfaces.changes, ...lost],
		graphCosts: graphCosts(found.plan, models, shapes),
	};
	const prepared = { ...found, models };
	stopIfNothingIsLeft(prepared);
	await input.beforeBuild?.({ config: input.config, fingerprint: seen().environment, models });
	const gpuLease = await ports.gpuLease.take();
	if (gpuLease.note !== undefined) yield { notes: [gpuLease.note] };
	try {
		yield* runOnMachine({ prepared, input, seen, ports });
	} finally {
		await gpuLease.release();
	}
	stopIfInterrupted(ports);
}

/** Has the machine to itself. */
async function* runOnMachine(run: RunContext) {
	const { ports, seen } = run;
	yield enterStage("build", ports);
	const engines: BuiltEngine[] = [];
	for await (const { engine, ...found } of buildEngines(run)) {
		if (engine) engines.push(engine);
		yield found;
	}
	yield enterStage("verify", ports);
	yield* verifyEngines(engines, run);
	yield enterStage("bisect", ports);
	yield* bisectGoldens(engines, run);
	yield enterStage("probe", ports);
	yield* probeEngines(engines, run);
	yield enterStage("measure", ports);
	const timing = timingOf(engines, run);
	if (seen().backend.kind === "onnxruntime") yield* countWorkloads(timing, run);
	else {
		yield* timeWorkloads(timing, run);
		yield* measureAgain(timing, run);
		yield* timeSiblings(timing, run);
		yield enterStage("lifetime", ports);
		yield* observeEngines(engines, timing, run);
	}
	yield { notes: ports.telemetry.degradations() };
	yield enterStage("explain", ports);
	yield* explainWorkloads(timing.workloads, run);
}

function droppedCases({ goldens, counterparts }: Prepared) {
	return new Map(
		[...goldens].flatMap(([id, { manifest, ofBase }]) => {
			const kept = new Set(manifest.cases.map((golden) => golden.id));
			const dropped = (ofBase?.cases ?? []).map((golden) => golden.id).filter((name) => !kept.has(name));
			return dropped.length === 0 ? [] : [[counterparts.get(id) ?? id, dropped] as const];
		}),
	);
}

function enterStage(stage: string, ports: Ports) {
	stopIfInterrupted(ports);
	return { stage };
}

async function reviewChanges(
	{ goldens, counterparts }: Prepared,
	{ arms, config, baseConfig }: GateInput,
	ports: Ports,
) {
	const base = arms.find((folder) => folder.arm === "base");
	if (base === undefined) return [];
	const headEngines = engineSpecs(config);
	const bases = new Map(engineSpecs(baseConfig ?? { models: [] }).map((spec) => [spec.id, spec]));
	const baseEngines = headEngines.flatMap((head) => {
		const own = bases.get(counterparts.get(head.id) ?? "");
		return own === undefined ? [] : [underNameOf(head, own)];
	});
	return reviewGoldens({ baseEngines, headEngines, goldens, baseFolder: base.path }, ports);
}

function runPreflight(
	{ models }: Prepared,
	{ config }: GateInput,
	{ backend, baseBackend }: Facts,
	ports: Ports,
) {
	const { kind, version, memoryBytes: gpuMemoryBytes, computeCapability } = backend;
	const tensorrt = kind === "tensorrt" ? version : undefined;
	const machine = { backend: kind, tensorrt, gpuMemoryBytes, computeCapability };
	const checked = { models, ...machine, baseTensorrt: baseBackend?.version, ...config.preflight };
	return preflight(checked, ports);
}

async function* buildEngines({ prepared, input, seen, ports }: RunContext) {
	const { measure, preflight } = input.config;
	const buildsVary = seen().backend.kind === "tensorrt";
	if (!buildsVary && measure.rebuilds > 1)
		yield {
			notes: [
				"measure.rebuilds has no effect: ONNX Runtime makes the same engine of a model every time, so base and head were each built once.",
			],
		};
	const building = {
		models: prepared.models,
		findings: seen().findings,
		strict: preflight.strict,
		sharesUnchanged: unchangedMode(input) !== "rebuild",
		rebuilds: buildsVary ? measure.rebuilds : 1,
		folders: Object.fromEntries(input.arms.map(({ arm, path }) => [arm, path])),
		outFolder: input.outFolder,
		timeoutMs: measure.buildTimeoutMs,
	};
	const hashes = recipeHashes(prepared.models);
	const typesOfBase = new Map<string, NodeTypes>();
	for await (const { record, engine } of build(building, ports)) {
		const recipeHash = hashes.get(`${record.arm} ${record.model}/${record.engine}`);
		const workload = engine && prepared.plan.workloads.find(({ engineId }) => engineId === engine.spec.id);
		const recipe = `${record.model}/${record.engine} ${record.precision}`;
		const known = { shaped: seen().shapes.get(workload?.id ?? ""), before: typesOfBase.get(recipe) };
		const covered = engine && (await coverageOf(engine, known, ports.backend));
		if (covered && record.arm === "base") typesOfBase.set(recipe, covered.types);
		const found = covered?.coverage ? { precisionCoverage: covered.coverage } : {};
		yield { builds: [{ ...record, recipeHash, ...found }], engine };
		stopIfInterrupted(ports);
	}
	const heads = seen().builds.filter(({ arm }) => arm === "head");
	const shared = heads.filter(({ sharedWithBase }) => sharedWithBase === true);
	if (shared.length === 0) return;
	const names = listNames(shared.map(({ model, engine }) => `${model}/${engine}`));
	yield {
		notes: [
			`Unchanged: ${shared.length} of ${counted(heads.length, "engine")} (${names}). Base and head have the same model and settings, so they share one engine, which is not measured.`,
		],
	};
}

function recipeHashes(models: readonly PreparedModel[]) {
	const ready = models.filter((model) => model.state === "ready");
	return new Map(
		ready.map((model) => [
			`${model.arm} ${model.spec.id}`,
			digestOf(recipeText(recipeOf(model))).slice(0, 16),
		]),
	);
}

async function* explainWorkloads(workloads: readonly TimedWorkload[], { input, seen, ports }: RunContext) {
	const { outFolder, config } = input;
	const { rows, backend } = seen();
	const explaining = {
		workloads,
		rows,
		gpu: backend.device,
		memoryBytes: backend.memoryBytes,
		cudaGraph: config.measure.cudaGraph,
		profile: config.profile,
		outFolder,
		timeoutMs: config.measure.timeoutMs,
	};
	for await (const { files, note, seen: profile } of explain(explaining, ports))
		yield {
			files,
			rows: profile && seen().rows.map((row) => withProfile(row, profile)),
			notes: note === undefined || seen().notes.includes(note) ? [] : [note],
		};
}
