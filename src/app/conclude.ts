// Judges all facts of a run, and makes its result.
import type { Arm, BuildRecord, GateResult, LoadResult, Result } from "../../generated/result.ts";
import { buildFaults, settleBuilds } from "../core/build-faults.ts";
import { gatedRows } from "../core/compare/sweep.ts";
import type { Config, EngineConfig, WorkloadConfig } from "../core/config/config.ts";
import { keepSelected } from "../core/config/select.ts";
import { applyAccepted, judgeCoverage, judgeLimitChanges, judgeUnreadBase } from "../core/gates/change.ts";
import { judgeBuild, judgeWorkload } from "../core/gates/figures.ts";
import { judgeGolden, judgeGoldenChange, judgeInterface, judgeProbe } from "../core/gates/goldens.ts";
import { judgePrecision, judgeSparsity } from "../core/gates/precision.ts";
import { judgeMemoryGrowth, judgePayoff, judgeSlo, judgeStartUp, judgeSweep } from "../core/gates/serving.ts";
import { loadsOf } from "../core/load/at-load.ts";
import { upgradeNotes } from "../core/merge/upgrade.ts";
import { filledLists, outcomeOf } from "../core/outcome.ts";
import { type EngineSpec, engineSpecs } from "../core/plan/plan.ts";
import { counted, listNames } from "../core/text/labels.ts";
import { timeShare } from "../engine/core/coverage.ts";
import type { RecordedFacts } from "../history/core/from-result.ts";
import { sidesOf } from "../stages/prepared.ts";
import type { Facts, GateInput } from "./run-context.ts";

export function recordedFacts(facts: Facts, input: GateInput): RecordedFacts {
	const sourceOf = (arm: Arm) => input.arms.find((folder) => folder.arm === arm)?.source ?? null;
	return {
		tool: { name: "trtgate", version: input.version },
		startedAt: facts.startedAt,
		durationMs: 0,
		childMs: 0,
		environment: facts.environment,
		arms: { base: sourceOf("base"), head: sourceOf("head") ?? { label: "head" }, noBase: input.noBase },
		builds: settleBuilds(facts.builds).map((build) => withTimeShare(build, facts.rows)),
		golden: facts.golden,
		workloads: facts.rows,
		sweeps: facts.sweeps,
		measuredLoads: facts.measuredLoads,
	};
}

function withTimeShare(build: BuildRecord, rows: Facts["rows"]) {
	const { precisionCoverage: found, model, engine, arm } = build;
	const own = rows.filter((row) => row.model === model && row.engine === engine);
	const layers = own.flatMap((row) => row.layers?.[arm] ?? [])[0];
	const time = found === undefined || layers === undefined ? null : timeShare(layers, found.precision);
	return found === undefined || time === null ? build : { ...build, precisionCoverage: { ...found, time } };
}

export function concludeResult(
	facts: Facts,
	input: GateInput,
	took: { durationMs: number; childMs: number },
): Result {
	const recorded = recordedFacts(facts, input);
	const { builds, arms } = recorded;
	const errors = [...buildFaults(builds), ...facts.errors];
	const loads = computedLoads(facts);
	const judged = judgeFacts({ ...facts, builds, errors }, { ...input, config: facts.config }, loads);
	const gates = applyAccepted(judged, {
		config: input.headConfig,
		builds,
		rows: gatedRows(recorded),
		known: input.headIds,
	});
	const { backend, baseBackend } = facts;
	return {
		schemaVersion: 1,
		...recorded,
		...took,
		...outcomeOf({ gates, errors }),
		partial:
			facts.stage === null
				? undefined
				: { stage: facts.stage, reason: facts.errors.at(-1)?.message ?? "unknown" },
		run: input.job,
		backend,
		baseBackend,
		config: { path: input.config.path, sha256: input.configSha256 },
		findings: facts.findings,
		...filledLists({ ...facts, loads }),
		gates,
		errors,
		notes: [...notesOf(facts, input), ...upgradeNotes({ arms, backend, baseBackend })],
		files: facts.files,
	};
}

export function computedLoads({ rows, config }: Pick<Facts, "rows" | "config">): LoadResult[] {
	return loadsOf(rows, (row) => workloadOf(config, row), config.measure.load);
}

function* notesOf(facts: Facts, input: GateInput) {
	yield* input.arms.flatMap(({ arm, source }) =>
		source.found === undefined ? [] : [`${arm === "base" ? "Base" : "Head"}: ${source.found}`],
	);
	yield* input.notes ?? [];
	const replaced = facts.rows.reduce((sum, row) => sum + row.replaced, 0);
	if (replaced > 0)
		yield `${counted(replaced, "pair of runs was", "pairs of runs were")} discarded as invalid and repeated; the report lists the reasons.`;
	yield* facts.notes;
	yield* withoutGolden(facts.config);
}

export function withoutGolden({ models }: Pick<Config, "models">): string[] {
	const names = models.flatMap(({ name, engines }) => {
		const without = engines.filter(({ golden }) => golden === undefined);
		return without.length === engines.length ? [name] : without.map((engine) => `${name}/${engine.name}`);
	});
	if (names.length === 0) return [];
	return [
		`These have no golden, so their outputs are not checked: ${listNames(names)}. To record one, run: trtgate golden record --model NAME --inputs FOLDER`,
	];
}

function workloadOf(config: Config, { model, engine, workload }: Facts["rows"][number]) {
	const spec = engineSpecs(config).find((one) => one.model.name === model && one.engine.name === engine);
	return spec?.engine.workloads.find(({ name }) => name === workload);
}

function judgeFacts(facts: Facts, input: GateInput, loads: readonly LoadResult[]) {
	const { config } = input;
	const engines = engineSpecs(config);
	const isOf = (spec: EngineSpec, fact: { model: string; engine?: string }) =>
		spec.model.name === fact.model && spec.engine.name === (fact.engine ?? spec.engine.name);
	const judgeEach = <Fact extends { model: string; engine?: string }>(
		found: readonly Fact[],
		judge: (fact: Fact, engine: EngineConfig) => readonly GateResult[],
	) =>
		found.flatMap((fact) => {
			const spec = engines.find((one) => isOf(one, fact));
			return spec === undefined ? [] : judge(fact, spec.engine);
		});
	const judgeWorkloads = <Fact extends { model: string; engine: string; workload: string }>(
		found: readonly Fact[],
		judge: (fact: Fact, workload: WorkloadConfig) => readonly GateResult[],
	) =>
		judgeEach(found, (fact, { workloads }) => {
			const workload = workloads.find(({ name }) => name === fact.workload);
			return workload === undefined ? [] : judge(fact, workload);
		});
	const served = { config, loads, measured: facts.measuredLoads };
	const builds = engines.flatMap((spec) => {
		const { head, base } = sidesOf(facts.builds, (build) => isOf(spec, build));
		if (head === undefined) return [];
		const findings = facts.findings.filter(({ model = "", engine = "" }) => isOf(spec, { model, engine }));
		const judged = judgeBuild({ spec, head, base, findings }, config);
		const own = { spec, base, head };
		return [...judged, ...judgePrecision(own, config), ...judgeSparsity(own, config)];
	});
	return [
		...builds,
		...judgeEach(facts.interfaceChanges, (change, engine) => judgeInterface(change, config, engine)),
		...judgeEach(facts.golden, (verdict, engine) => judgeGolden(verdict, config, engine)),
		...facts.untested.map((one): GateResult => ({ gate: "golden", status: "warn", ...one })),
		...judgeEach(facts.goldenChanges, (change, { gates }) => judgeGoldenChange(change, config, gates)),
		...judgeEach(facts.probes, (result, engine) => judgeProbe(result, config, engine)),
		...judgeWorkloads(facts.rows, (row, workload) => [
			...judgeWorkload(row, workload, facts),
			...judgeSlo(row, workload, served),
		]),
		...judgeWorkloads(facts.sweeps, (sweep, workload) => [
			...judgeSweep(sweep, workload, facts),
			...judgeSlo({ ...sweep, head: sweep.points[0]?.row.head ?? null }, workload, served),
		]),
		...judgeWorkloads(facts.siblings, (sibling, workload) => judgePayoff(sibling, workload, facts)),
		...judgeEach(facts.startUps, (found, engine) => judgeStartUp(found, config, engine)),
		...judgeEach(facts.memoryGrowths, (found, engine) => judgeMemoryGrowth(found, config, engine)),
		...judgeChange(facts, input),
	];
}

/** At night and in releases, against the base's config. What another job checks is not missing. */
function judgeChange({ counterparts, droppedCases }: Facts, input: GateInput) {
	const { rules, baseConfig, baseConfigFault, headConfig: head, only } = input;
	const base = rules ?? baseConfig;
	const unread = baseConfigFault === undefined ? [] : [judgeUnreadBase(baseConfigFault, head)];
	if (base === undefined) return unread;
	const models = keepSelected(base.models, only);
	const holds = rules === undefined ? "head" : "base";
	const lost = judgeCoverage({
		base: engineSpecs({ models }),
		head: engineSpecs(head),
		counterparts,
		droppedCases,
	});
	return [...lost, ...(unread.length > 0 ? unread : judgeLimitChanges({ base, head, counterparts, holds }))];
}
