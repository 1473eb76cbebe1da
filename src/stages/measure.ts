// Times workloads: base and head in interleaved pairs of processes, until the comparison is decided.
import type { Comparison, ErrorRecord, WorkloadResult } from "../../generated/result.ts";
import { compareRuns, type RunsCompared } from "../core/compare/compare.ts";
import { chooseRunLength, pacedLength, pilotMs, type RunLength } from "../core/compare/sweep.ts";
import { shouldStop } from "../core/compare/verdict.ts";
import type { Config, WorkloadConfig } from "../core/config/config.ts";
import { folderName } from "../core/config/values.ts";
import { recordFault } from "../core/errors.ts";
import { runsWithoutBase } from "../core/plan/plan.ts";
import { clockNotes, workloadGpu } from "../core/telemetry/conditions.ts";
import { counted } from "../core/text/labels.ts";
import { formatMs } from "../core/text/units.ts";
import { enqueueNotes } from "../engine/core/explain/machine.ts";
import type { Backend } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { ToolFailure } from "../ports/world.ts";
import {
	armsOf,
	discarded,
	discardInvalid,
	engineOf,
	inputsOf,
	replacementCap,
	type TimedRun,
	timePair,
	unstable,
} from "./time-pair.ts";
import { identicalEngines, identityOf, isIdentical, subjectOf, type TimedWorkload } from "./workloads.ts";

export interface MeasureInput {
	workloads: readonly TimedWorkload[];
	measure: Config["measure"];
	/** Number of compared workloads, which share the error. */
	family: number;
	noBase(timed: TimedWorkload): Pick<Comparison, "verdict" | "reason">;
	outFolder: string;
}

export interface Measured {
	rows: readonly [WorkloadResult];
	errors?: readonly ErrorRecord[];
}

export type MeasurePorts = Pick<Ports, "progress" | "interrupt" | "clock" | "telemetry"> & {
	backend: Pick<Backend, "measure">;
};

export async function* measure(input: MeasureInput, ports: MeasurePorts): AsyncGenerator<Measured> {
	ports.progress.stage("measure", input.workloads.length);
	if (input.workloads.length > 0) await ports.telemetry.start();
	try {
		for (const timed of input.workloads) {
			if (ports.interrupt.reason() !== null) return;
			ports.progress.item(timed.workload.id);
			yield await measureWorkload(timed, input, ports);
		}
		ports.progress.done(counted(input.workloads.length, "workload"));
	} finally {
		await ports.telemetry.stop();
	}
}

interface Timing {
	timed: TimedWorkload;
	input: MeasureInput;
	length: RunLength;
	runs: TimedRun[];
	replaced: number;
}

async function measureWorkload(
	timed: TimedWorkload,
	input: MeasureInput,
	ports: MeasurePorts,
): Promise<Measured> {
	const options = comparisonOptions(timed, input);
	const timing: Timing = { timed, input, length: input.measure, runs: [], replaced: 0 };
	const judge = () => {
		const runs = timing.runs.map(({ run }) => run);
		return compareRuns(runs, options);
	};
	if (isIdentical(timed, input.measure)) {
		const [nothing, same] = [judge(), identicalEngines(timed, "timed")];
		const [p99, memory] = [
			{ ...nothing.p99, ...same },
			{ ...nothing.memory, ...same },
		];
		return { rows: [rowOf(timing, { ...nothing, p99, memory }, same)] };
	}
	const looks = timed.base ? input.measure.looks : [runsWithoutBase];
	const budget = looks.at(-1) ?? 0;
	timing.length = await pilot(timed, input, ports);
	let compared: RunsCompared | undefined;
	let ended: ReturnType<typeof endOf> = null;
	for (let pair = 0; pair < budget; pair += 1) {
		compared = undefined;
		ports.progress.detail(`pair ${pair + 1} of ${looks.find((look) => look > pair) ?? budget}`);
		const failure = await measureUntilValid(pair, timing, ports);
		ended = endOf(failure, timed, ports);
		if (ended) break;
		if (!timed.base || !looks.includes(pair + 1)) continue;
		compared = judge();
		if (shouldStop(compared.latency)) break;
	}
	const override = ended?.override ?? (timed.base ? {} : input.noBase(timed));
	return { rows: [rowOf(timing, compared ?? judge(), override)], errors: ended?.errors };
}

/** Why the timing ends early; null to go on. */
function endOf(failure: ToolFailure | null, timed: TimedWorkload, { interrupt }: MeasurePorts) {
	if (interrupt.reason() !== null)
		return { override: { verdict: "inconclusive", reason: "The timing was interrupted." } };
	if (failure === null) return null;
	const error = recordFault(failure, subjectOf(timed));
	return { override: { verdict: "not-comparable", reason: error.message }, errors: [error] };
}

function comparisonOptions({ workload }: TimedWorkload, { measure: { looks }, family }: MeasureInput) {
	const { latency, p99 } = workload.config.gates;
	return {
		minimalEffect: latency.warn ?? latency.fail ?? 0.02,
		p99MinimalEffect: p99.warn ?? p99.fail ?? 0.1,
		looks,
		family,
	};
}

async function measureUntilValid(
	pair: number,
	timing: Timing,
	ports: MeasurePorts,
): Promise<ToolFailure | null> {
	const failure = await measurePair(pair, timing, ports);
	if (failure || ports.interrupt.reason() !== null) return failure;
	const isPaced = timing.timed.workload.config.everyMs !== undefined;
	const { runs, invalid } = discardInvalid(timing.runs, ports.telemetry, { isPaced });
	timing.runs = runs;
	for (const [again, reason] of invalid) {
		if (timing.replaced === replacementCap) return unstable(reason);
		timing.replaced += 1;
		ports.progress.detail(`pair ${again + 1} again: ${reason}`);
		// Ends, because each repetition uses up one replacement.
		const failed = await measureUntilValid(again, timing, ports);
		if (failed || ports.interrupt.reason() !== null) return failed;
	}
	return null;
}

async function measurePair(pair: number, timing: Timing, ports: MeasurePorts) {
	const { timed, input, length } = timing;
	const arms = armsOf(timed.base !== undefined, timed.firstArms[pair]);
	const common = { ...commonOf(timed, input), ...length };
	for (;;) {
		const order = timing.runs.length;
		const job = { pair, arms, order, timed, outFolder: input.outFolder, common };
		const { runs, failure } = await timePair(job, ports);
		const kept = (one: TimedRun) =>
			failure && one.run.state === "ok" ? discarded(one, "the other run of its pair was unusable") : one;
		timing.runs.push(...runs.map(kept));
		if (!failure) return null;
		if (ports.interrupt.reason() !== null || failure.refusal !== undefined) return failure;
		if (timing.replaced === replacementCap) return failure;
		timing.replaced += 1;
	}
}

function commonOf({ workload }: TimedWorkload, { measure }: MeasureInput) {
	const { threads, timeoutMs } = measure;
	const { streams, everyMs } = workload.config;
	return { streams, everyMs, seed: 1, threads, timeoutMs };
}

/** Runs one short process per side, which warms caches and shows how long runs have to be. */
async function pilot(timed: TimedWorkload, input: MeasureInput, ports: MeasurePorts) {
	const { warmUpMs, durationMs, adaptsLength } = input.measure;
	const arms = armsOf(timed.base !== undefined);
	const pilots: Float64Array[] = [];
	for (const arm of arms) {
		if (ports.interrupt.reason() !== null) break;
		const path = `${input.outFolder}/scratch/warm-${folderName(timed.workload.id)}-${arm}`;
		const result = await ports.backend.measure({
			...commonOf(timed, input),
			engine: engineOf(timed, arm),
			inputs: inputsOf(timed, arm),
			warmUpMs: 0,
			durationMs: adaptsLength ? pilotMs : 0,
			samplesPath: `${path}.f64`,
			logPath: `${path}.log`,
		});
		if (result.state === "ok") pilots.push(result.samplesMs);
	}
	if (!adaptsLength || pilots.length < arms.length) return { warmUpMs, durationMs };
	const { minimalEffect } = comparisonOptions(timed, input);
	const { streams, everyMs } = timed.workload.config;
	if (everyMs !== undefined) return pacedLength(everyMs, input.measure);
	return chooseRunLength(pilots, { warmUpMs, durationMs, minimalEffect, streams });
}

function paceNotes({ everyMs = Infinity }: WorkloadConfig, { head }: RunsCompared) {
	if (head === null || head.medianMs < everyMs) return [];
	return [
		`An inference takes ${formatMs(head.medianMs)}, so at an interval of ${formatMs(everyMs)} the GPU was never idle.`,
	];
}

function rowOf(
	{ timed, input, replaced, ...timing }: Timing,
	compared: RunsCompared,
	override: Partial<Comparison>,
) {
	const latency = { ...compared.latency, ...override };
	const runs = timing.runs.map(({ run }) => run);
	const gpu = workloadGpu(runs, latency.estimate);
	const notes = [
		...(gpu === null ? [] : clockNotes(gpu, latency)),
		...enqueueNotes(runs, input.measure),
		...paceNotes(timed.workload.config, compared),
	];
	return {
		...identityOf(timed),
		...compared,
		verdict: latency.verdict,
		latency,
		...(gpu !== null && { gpu }),
		...((gpu !== null || notes.length > 0) && { notes }),
		replaced,
		runs,
		limits: { ...timed.workload.config.gates.latency },
	};
}
