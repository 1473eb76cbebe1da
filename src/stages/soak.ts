// Keeps each engine of the head under load for minutes: short runs see neither heat nor what changes with time.

import type {
	ErrorRecord,
	SoakProcess,
	SoakResult,
	SoakSlice,
	WorkloadResult,
} from "../../generated/result.ts";
import type { Config } from "../core/config/config.ts";
import { folderName } from "../core/config/identity.ts";
import { recordFault } from "../core/errors.ts";
import { analyseSoak, isSteady, type SoakPoint, soakPoints, soakSlice } from "../core/soak/analyse.ts";
import { middleMean } from "../core/stats/mean.ts";
import { harrellDavis } from "../core/stats/quantile.ts";
import { counted } from "../core/text/labels.ts";
import { formatDuration } from "../core/text/units.ts";
import type { Backend, MeasureResult } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import { subjectOf, type TimedWorkload } from "./workloads.ts";

export interface SoakInput {
	workloads: readonly TimedWorkload[];
	rows: readonly WorkloadResult[];
	measure: Config["measure"];
	outFolder: string;
}

export type Soaked = { id: string; soak: SoakResult } | { id: string; error: ErrorRecord };

type SoakPorts = Pick<Ports, "progress" | "interrupt" | "clock" | "telemetry"> & {
	backend: Pick<Backend, "measure">;
};

const processMs = 60_000;
/** trtexec writes about 90 bytes for each: 90 MB. */
const maxIterations = 1_000_000;
/** A rest that is shorter shows nothing. */
const leastMs = 2000;
const maxPoints = 600;
const sliceS = 10;

/** The first workload of each engine. */
export async function* soak(input: SoakInput, ports: SoakPorts): AsyncGenerator<Soaked> {
	const chosen = [
		...new Map(input.workloads.toReversed().map((timed) => [timed.workload.engineId, timed])).values(),
	].toReversed();
	if (input.measure.soakMs === 0 || chosen.length === 0) return;
	ports.progress.stage("soak", chosen.length);
	await ports.telemetry.start();
	try {
		for (const timed of chosen) {
			if (ports.interrupt.reason() !== null) return;
			ports.progress.item(timed.workload.id);
			yield* await soakOne(timed, input, ports);
		}
		ports.progress.done(counted(chosen.length, "engine"));
	} finally {
		await ports.telemetry.stop();
	}
}

interface Ledger {
	points: SoakPoint[];
	processes: SoakProcess[];
	slices: SoakSlice[];
	elapsedS: number;
}

async function soakOne(timed: TimedWorkload, input: SoakInput, ports: SoakPorts): Promise<Soaked[]> {
	const { soakMs } = input.measure;
	const ledger: Ledger = { points: [], processes: [], slices: [], elapsedS: 0 };
	const id = timed.workload.id;
	let state: SoakResult["state"] = "time-up";
	for (let leftMs = soakMs; leftMs >= Math.min(leastMs, soakMs); leftMs = soakMs - ledger.elapsedS * 1000) {
		ports.progress.detail(
			ledger.elapsedS === 0
				? `up to ${formatDuration(soakMs)}`
				: `${formatDuration(ledger.elapsedS * 1000)} of at most ${formatDuration(soakMs)}`,
		);
		const fromMs = ports.clock.now();
		const durationMs = lengthOf(timed, leftMs, input);
		const result = await loadFor(durationMs, { timed, input, number: ledger.processes.length }, ports);
		if (ports.interrupt.reason() !== null) {
			state = "interrupted";
			break;
		}
		if (result.state === "unusable") return [{ id, error: recordFault(result.failure, subjectOf(timed)) }];
		enter(result, ledger, { soakMs, durationMs, slices: slicesOf(fromMs, ledger.elapsedS, ports) });
		if (!isSteady(ledger.processes)) continue;
		state = "steady";
		break;
	}
	const figures = analyseSoak(ledger.points, ledger);
	return figures === null
		? []
		: [{ id, soak: { state, ...figures, limits: { ...timed.workload.config.gates.soakDrift } } }];
}

/** As long as the list of its iterations stays readable. */
function lengthOf({ workload }: TimedWorkload, leftMs: number, { rows }: SoakInput): number {
	const medianMs = rows.find(({ id }) => id === workload.id)?.head?.medianMs ?? 1;
	return Math.max(1000, Math.min(processMs, leftMs, (maxIterations * medianMs) / workload.config.streams));
}

function loadFor(
	durationMs: number,
	{ timed, input, number }: { timed: TimedWorkload; input: SoakInput; number: number },
	ports: SoakPorts,
): Promise<MeasureResult> {
	const { threads, timeoutMs } = input.measure;
	const { workload, inputs, head: engine } = timed;
	const name = `${folderName(workload.id)}-${number}`;
	return ports.backend.measure({
		engine,
		inputs,
		streams: workload.config.streams,
		seed: 1,
		threads,
		warmUpMs: 0,
		durationMs,
		timeoutMs: timeoutMs + durationMs,
		samplesPath: `${input.outFolder}/scratch/soak-${name}.f64`,
		logPath: `${input.outFolder}/logs/soak-${name}.log`,
	});
}

function slicesOf(fromMs: number, fromS: number, ports: SoakPorts): SoakSlice[] {
	const tookMs = ports.clock.now() - fromMs;
	const count = Math.max(1, Math.round(tookMs / 1000 / sliceS));
	const eachMs = tookMs / count;
	return Array.from({ length: count }, (_, index) => {
		const window = ports.telemetry.window(fromMs + index * eachMs, fromMs + (index + 1) * eachMs);
		return window === null ? null : soakSlice(fromS + index * sliceS, window);
	}).filter((slice) => slice !== null);
}

function enter(
	{ samplesMs, timedMs }: Extract<MeasureResult, { state: "ok" }>,
	ledger: Ledger,
	{ soakMs, durationMs, slices }: { soakMs: number; durationMs: number; slices: readonly SoakSlice[] },
): void {
	const everyS = Math.max(1, Math.ceil(soakMs / 1000 / maxPoints));
	const temperatureC = slices.at(-1)?.temperatureC;
	const tail = harrellDavis(samplesMs.slice().sort(), 0.99);
	ledger.points.push(...soakPoints(samplesMs, { fromS: ledger.elapsedS, timedMs, everyS }));
	ledger.processes.push({ atS: ledger.elapsedS, ms: middleMean([...samplesMs]), p99Ms: tail, temperatureC });
	ledger.slices.push(...slices);
	ledger.elapsedS += Math.max(timedMs, durationMs) / 1000;
}
