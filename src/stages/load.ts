// Serves requests that arrive on a schedule, base and head in pairs of processes: TensorRT only.
import type { Arm, LoadResult, MeasuredLoad } from "../../generated/result.ts";
import { shouldStop } from "../core/compare/verdict.ts";
import {
	closedLoopMs,
	judgePoint,
	type LoadRequest,
	lateReason,
	type ServedRun,
} from "../core/load/measured.ts";
import { type Arrivals, ratePerSecond, schedule } from "../core/load/schedule.ts";
import { runsWithoutBase } from "../core/plan/plan.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { eachOf, type LifetimeFound, type LifetimePorts, type Observe, tensorsOf } from "./lifetime.ts";
import type { MeasureInput } from "./measure.ts";
import { engineOf, inputsOf, replacementCap } from "./time-pair.ts";
import type { TimedWorkload } from "./workloads.ts";

interface LoadInput extends MeasureInput {
	/** Computed: which workloads are one server, and the `slo` of each. */
	loads: readonly LoadResult[];
	arrivals: Arrivals;
}

interface Target {
	head: BuiltEngine;
	load: LoadResult;
	/** The one with the largest batch. */
	timed: TimedWorkload;
	batches: readonly [number, ...number[]];
	request: Omit<LoadRequest, "arrivalsMs">;
}

export function measureLoads(input: LoadInput, ports: LifetimePorts): AsyncGenerator<LifetimeFound> {
	const targets = input.loads.flatMap((load) => targetOf(load, input) ?? []);
	const family = Math.max(1, targets.filter(({ timed }) => timed.base).length);
	const work = async (target: Target, observe: Observe): Promise<LifetimeFound> => ({
		measuredLoads: [await measureLoad(target, { ...input, family }, { ...ports, observe })],
	});
	return eachOf("load", targets, work, { input, ports });
}

/** Of workloads that are also one batcher, only the batcher. */
function targetOf(load: LoadResult, { loads, workloads, measure }: LoadInput): Target | null {
	const { model, engine, workloads: names, batches = [1] } = load;
	const isPart = loads.some(
		(other) =>
			other.batches !== undefined &&
			load.batches === undefined &&
			other.model === model &&
			other.engine === engine &&
			other.workloads.includes(names[0] ?? ""),
	);
	const members = names.flatMap((name) => {
		const isOne = ({ workload, head: { spec } }: TimedWorkload) =>
			spec.model.name === model && spec.engine.name === engine && workload.config.name === name;
		return workloads.find(isOne) ?? [];
	});
	const timed = members.at(-1);
	const [minBatch, ...larger] = batches;
	if (isPart || timed === undefined || minBatch === undefined) return null;
	const batched = timed.inputs.filter(({ name, shape }) =>
		members.some(({ inputs }) => inputs.find((other) => other.name === name)?.shape[0] !== shape[0]),
	);
	const { maxDelayMs, maxBatch: most = Infinity } = measure.load;
	const maxBatch = Math.min(most, batches.at(-1) ?? 1);
	const request = { batched: batched.map(({ name }) => name), minBatch, maxBatch, maxDelayMs };
	return { head: timed.head, load, timed, batches: [minBatch, ...larger], request };
}

const [leastRequests, mostRequests] = [500, 20_000];
/** To fill caches and to know the capacity, as a share of a run's duration. */
const closedShare = 0.05;

type LoadPorts = LifetimePorts & { observe: Observe };

async function measureLoad(target: Target, input: LoadInput, ports: LoadPorts): Promise<MeasuredLoad> {
	const { timed, load, batches, request } = target;
	const { looks, load: settings } = input.measure;
	const closed = { arm: timed.base ? "base" : "head", pair: 0 } as const;
	const { serviceMs } = await serve(target, closed, { schedules: [], input, ports });
	const points = pointsOf(input, {
		capacity: Math.max(...batches.map((batch, index) => (1000 * batch) / (serviceMs[index] ?? NaN))),
		slo: load.slo?.ratePerSecond,
	});
	const { warn, fail = 0.1 } = timed.workload.config.gates.p99;
	const options = { minimalEffect: warn ?? fail, looks, share: 1 / input.family };
	const judge: Judge = (runs) =>
		points.map((at, index) => {
			const loads = runs.flatMap((run) => {
				const one = run.atRates[index];
				return one === undefined ? [] : [{ run, load: one }];
			});
			return judgePoint(at, loads, options);
		});
	const rates = points.map((at) => at.ratePerSecond);
	const { runs, ...ended } = await servePairs(target, { rates, judge }, { input, ports });
	const known = timed.base ? {} : input.noBase(timed);
	const withKnown = judge(runs).map((at) => ({ ...at, comparison: { ...at.comparison, ...known } }));
	return {
		...{ model: load.model, engine: load.engine, workloads: load.workloads, batches: load.batches },
		...{ arrivals: settings.arrivals, maxBatch: request.maxBatch, maxDelayMs: request.maxDelayMs },
		...ended,
		points: runs.length === 0 ? [] : withKnown,
	};
}

type Judge = (runs: readonly ServedRun[]) => MeasuredLoad["points"];

/** Until every rate is decided; a pair whose schedule was not kept is repeated. */
async function servePairs(
	target: Target,
	{ rates, judge }: { rates: readonly number[]; judge: Judge },
	{ input, ports }: { input: LoadInput; ports: LoadPorts },
): Promise<{ runs: readonly ServedRun[]; replaced: number; reason?: string }> {
	const { base } = target.timed;
	const { looks } = input.measure;
	const most = (base ? looks.at(-1) : runsWithoutBase) ?? 0;
	const runs: ServedRun[] = [];
	const isDecided = () => judge(runs).every(({ comparison }) => shouldStop(comparison));
	let [pair, replaced] = [0, 0];
	while (pair < most && ports.interrupt.reason() === null) {
		ports.progress.detail(`pair ${pair + 1} of ${looks.find((look) => look > pair) ?? most}`);
		const schedules = rates.map((perSecond) => scheduleAt(perSecond, { seed: pair + 1, input }));
		const own = await servePair(target, pair, { schedules, input, ports });
		const [late] = own.flatMap((run) => lateReason(run) ?? []);
		if (late === undefined) {
			runs.push(...own);
			pair += 1;
			if (base && looks.includes(pair) && isDecided()) break;
		} else if (++replaced > replacementCap)
			return {
				runs: [],
				replaced,
				reason: `More than ${replacementCap} pairs of runs were invalid: ${late}.`,
			};
	}
	return { runs, replaced };
}

type Serving = { schedules: readonly Float64Array[]; input: LoadInput; ports: LoadPorts };

async function servePair(target: Target, pair: number, serving: Serving): Promise<ServedRun[]> {
	const { base, firstArms } = target.timed;
	const arms: readonly Arm[] = base ? ["base", "head"] : ["head"];
	const runs: ServedRun[] = [];
	for (const arm of firstArms[pair] === "head" ? arms.toReversed() : arms)
		runs.push(await serve(target, { arm, pair }, serving));
	return runs;
}

function pointsOf(
	{ arrivals, measure: { load } }: LoadInput,
	{ capacity, slo }: { capacity: number; slo: number | undefined },
): { share: number | null; ratePerSecond: number }[] {
	if (typeof arrivals !== "string") return [{ share: null, ratePerSecond: ratePerSecond(arrivals) }];
	const usual = { share: load.at, ratePerSecond: load.at * capacity };
	return slo === undefined ? [usual] : [usual, { share: null, ratePerSecond: slo }];
}

function scheduleAt(perSecond: number, { seed, input }: { seed: number; input: LoadInput }): Float64Array {
	const wanted = Math.round((perSecond * input.measure.load.durationMs) / 1000);
	const count = Math.min(mostRequests, Math.max(leastRequests, wanted));
	return schedule(input.arrivals, { seed, count, perSecond });
}

/** One process: each batch in a closed loop, then the schedules. */
async function serve(
	{ timed, batches, request, load }: Target,
	run: Pick<ServedRun, "arm" | "pair">,
	{ schedules, input, ports }: Serving,
): Promise<ServedRun> {
	const capacityPerMs = load.capacityPerSecond / 1000;
	const closedMs = closedShare * input.measure.load.durationMs;
	const closed = batches.map((batch): LoadRequest => {
		const rounds = Math.ceil(Math.min(2000, Math.max(10, (capacityPerMs * closedMs) / batch)));
		return { ...request, maxBatch: batch, arrivalsMs: new Float64Array(batch * rounds) };
	});
	const open = schedules.map((arrivalsMs): LoadRequest => ({ ...request, arrivalsMs }));
	const asked = [...closed, ...open].map((one, index) => ({ id: `load ${index}`, inputs: {}, load: one }));
	const cases = [{ id: "inputs", inputs: tensorsOf(inputsOf(timed, run.arm)) }, ...asked];
	const found = await ports.observe({ engine: engineOf(timed, run.arm), mode: "load", cases });
	const served = found.flatMap((one) => ("latencyMs" in one ? [one] : []));
	return {
		...run,
		serviceMs: batches.flatMap((batch, index) => {
			const own = served[index];
			return own === undefined ? [] : [closedLoopMs(own, batch)];
		}),
		atRates: served.slice(batches.length),
	};
}
