// Times each workload: base and head in interleaved pairs of processes, more pairs while the comparison is undecided.

import type { Arm, ErrorRecord, PerfRun } from "../../generated/result.ts";
import { compareRuns } from "../core/compare/compare.ts";
import { chooseRunLength, pilotMs, type RunLength } from "../core/compare/run-length.ts";
import { shouldStop } from "../core/compare/verdict.ts";
import type { Config } from "../core/config/config.ts";
import { folderName } from "../core/config/identity.ts";
import { type ErrorSubject, recordFault } from "../core/errors.ts";
import { runsWithoutBase } from "../core/plan/make-plan.ts";
import type { Workload } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import type { Backend, TimedInput } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { ToolFailure } from "../ports/world.ts";
import {
	discard,
	discardInvalid,
	engineOf,
	type PairJob,
	replacementCap,
	type TakenRun,
	timePair,
	unstable,
} from "./time-pair.ts";
import { isIdentical, type TimedWorkload } from "./workloads.ts";

export interface MeasureInput {
	workloads: readonly TimedWorkload[];
	measure: Config["measure"];
	/** Number of workloads compared, over which the error is spread. */
	family: number;
	outFolder: string;
}

/** All runs of one workload, replaced ones included, with the samples of those that count. */
export interface Measured {
	workload: Workload;
	/** How the timing ended. identical: both engines have the same bytes, nothing was timed. */
	state: "measured" | "identical" | "failed" | "interrupted";
	inputs: readonly TimedInput[];
	runs: readonly PerfRun[];
	samples: Readonly<Record<Arm, readonly Float64Array[]>>;
	replaced: number;
	error?: ErrorRecord;
}

type MeasurePorts = Pick<Ports, "progress" | "interrupt" | "clock" | "telemetry"> & {
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

/** What accumulates while a workload is timed. */
interface Ledger {
	runs: PerfRun[];
	/** The usable ones, in the order in which their pairs completed; some may be discarded later. */
	taken: TakenRun[];
	replaced: number;
}

async function measureWorkload(
	timed: TimedWorkload,
	input: MeasureInput,
	ports: MeasurePorts,
): Promise<Measured> {
	const ledger: Ledger = { runs: [], taken: [], replaced: 0 };
	const samplesOf = (arm: Arm): Float64Array[] =>
		ledger.taken.filter(({ run }) => run.arm === arm && run.state === "ok").map(({ samples }) => samples);
	const finish = (state: Measured["state"], error?: ErrorRecord): Measured => ({
		workload: timed.workload,
		state,
		inputs: timed.inputs,
		runs: ledger.runs,
		samples: { base: samplesOf("base"), head: samplesOf("head") },
		replaced: ledger.replaced,
		...(error ? { error } : {}),
	});
	if (isIdentical(timed, input.measure)) return finish("identical");
	const looks = timed.base ? input.measure.looks : [runsWithoutBase];
	const budget = looks.at(-1) ?? 0;
	const length = await pilot(timed, input, ports);
	for (let pair = 0; pair < budget; pair += 1) {
		const goal = looks.find((look) => look > pair) ?? budget;
		ports.progress.detail(`pair ${pair + 1} of ${goal}`);
		const failure = await measureUntilValid(pair, { timed, input, length, ledger }, ports);
		if (ports.interrupt.reason() !== null) return finish("interrupted");
		if (failure) return finish("failed", recordFault(failure, subjectOf(timed)));
		if (timed.base && looks.includes(pair + 1) && isDecided(timed, input, ledger.runs)) break;
	}
	return finish("measured");
}

function subjectOf(timed: TimedWorkload): ErrorSubject {
	const { model, engine } = timed.head.spec;
	return { model: model.name, engine: engine.name, workload: timed.workload.config.name };
}

function armsOf(timed: TimedWorkload, first: Arm | undefined): readonly Arm[] {
	if (!timed.base) return ["head"];
	return first === "head" ? ["head", "base"] : ["base", "head"];
}

function isDecided(timed: TimedWorkload, input: MeasureInput, runs: readonly PerfRun[]): boolean {
	const compared = compareRuns(
		runs,
		comparisonOptions(timed.workload, { ...input, looks: input.measure.looks }),
	);
	return shouldStop(compared.latency);
}

/** How a workload's runs are compared: the same while measuring and at the end. */
export function comparisonOptions(workload: Workload, job: { looks: readonly number[]; family: number }) {
	const { looks, family } = job;
	const { latency, p99 } = workload.config.gates;
	return {
		minimalEffect: latency.warn ?? latency.fail ?? 0.02,
		p99MinimalEffect: p99.warn ?? p99.fail ?? 0.1,
		looks,
		family,
	};
}

interface Measuring {
	timed: TimedWorkload;
	input: MeasureInput;
	length: RunLength;
	ledger: Ledger;
}

/** Measures a pair, then repeats every pair that the runs so far show to be invalid. */
async function measureUntilValid(
	pair: number,
	measuring: Measuring,
	ports: MeasurePorts,
): Promise<ToolFailure | null> {
	const { timed, ledger } = measuring;
	const failure = await measurePair({ pair, arms: armsOf(timed, timed.firstArms[pair]) }, measuring, ports);
	if (failure || ports.interrupt.reason() !== null) return failure;
	for (const invalid of discardInvalid(ledger.taken, ports.telemetry)) {
		ledger.replaced += 1;
		if (ledger.replaced > replacementCap) return unstable(invalid.reason);
		ports.progress.detail(`pair ${invalid.pair + 1} again: ${invalid.reason}`);
		// Each repetition uses up one replacement, so this ends.
		const again = await measureUntilValid(invalid.pair, measuring, ports);
		if (again || ports.interrupt.reason() !== null) return again;
	}
	return null;
}

/** Repeats the whole pair when one of its runs is unusable, on either side. */
async function measurePair(
	at: Pick<PairJob, "pair" | "arms">,
	measuring: Measuring,
	ports: MeasurePorts,
): Promise<ToolFailure | null> {
	const { ledger } = measuring;
	for (;;) {
		const { runs, taken, failure } = await timePair(pairJob(at, measuring), ports);
		ledger.runs.push(...runs);
		if (!failure) {
			ledger.taken.push(...taken);
			return null;
		}
		for (const { run } of taken) discard(run, "the other run of its pair was unusable");
		if (ports.interrupt.reason() !== null || failure.refusal !== undefined) return failure;
		ledger.replaced += 1;
		if (ledger.replaced > replacementCap) return failure;
	}
}

function pairJob(at: Pick<PairJob, "pair" | "arms">, measuring: Measuring): PairJob {
	const { timed, input, length, ledger } = measuring;
	const { outFolder } = input;
	return {
		...at,
		order: ledger.runs.length,
		timed,
		outFolder,
		common: { ...commonOf(timed, input), ...length },
	};
}

function minimalEffectOf(timed: TimedWorkload, input: MeasureInput): number {
	return comparisonOptions(timed.workload, { ...input, looks: input.measure.looks }).minimalEffect;
}

function commonOf(timed: TimedWorkload, { measure }: MeasureInput) {
	const { threads, timeoutMs } = measure;
	return { inputs: timed.inputs, streams: timed.workload.config.streams, seed: 1, threads, timeoutMs };
}

/** One short discarded process per side, so that no pair pays for cold caches; it also shows how long the runs have to be. */
async function pilot(timed: TimedWorkload, input: MeasureInput, ports: MeasurePorts): Promise<RunLength> {
	const { warmUpMs, durationMs, adaptsLength } = input.measure;
	const arms: readonly Arm[] = timed.base ? ["base", "head"] : ["head"];
	const pilots: Float64Array[] = [];
	for (const arm of arms) {
		if (ports.interrupt.reason() !== null) break;
		const path = `${input.outFolder}/scratch/warm-${folderName(timed.workload.id)}-${arm}`;
		const result = await ports.backend.measure({
			...commonOf(timed, input),
			engine: engineOf(timed, arm),
			warmUpMs: 0,
			durationMs: adaptsLength ? pilotMs : 0,
			samplesPath: `${path}.f64`,
			logPath: `${path}.log`,
		});
		if (result.state === "ok") pilots.push(result.samplesMs);
	}
	return adaptsLength && pilots.length === arms.length
		? chooseRunLength(pilots, {
				warmUpMs,
				durationMs,
				minimalEffect: minimalEffectOf(timed, input),
				streams: timed.workload.config.streams,
			})
		: { warmUpMs, durationMs };
}
