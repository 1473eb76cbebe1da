// Serves requests that arrive on a schedule, base and head in pairs of processes: TensorRT only.
import type { LoadResult, MeasuredLoad } from "../../generated/result.ts";
import {
	closedLoopMs,
	expectedP99Ms,
	judgePoint,
	type LoadRequest,
	lateReason,
	type ServedRun,
} from "../core/load/measured.ts";
import { type Arrivals, ratePerSecond, schedule } from "../core/load/queues.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import { eachOf, type LifetimeFound, type Observe, tensorsOf } from "./lifetime.ts";
import type { MeasureInput } from "./measure.ts";
import { type Paired, repeatedNotes, runPairs, type WatchedPorts } from "./run-pairs.ts";
import { engineOf, inputsOf } from "./time-pair.ts";
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
	/** As they are served: none is larger than `max-batch`. */
	batches: readonly number[];
	request: Omit<LoadRequest, "arrivalsMs">;
}

export async function* measureLoads(input: LoadInput, ports: WatchedPorts): AsyncGenerator<LifetimeFound> {
	const targets = input.loads.flatMap((load) => targetOf(load, input) ?? []);
	const family = Math.max(1, targets.filter(({ timed }) => timed.base).length);
	const work = (target: Target, observe: Observe) =>
		measureLoad(target, { ...input, family }, { ...ports, observe });
	const why = "no workload was timed with one size and one stream, without pauses";
	if (targets.length === 0) yield { notes: [`measure.load: no requests were served, because ${why}.`] };
	yield* eachOf("load", targets, work, { input, ports });
}

/** Of workloads that are also one batcher, only the batcher. */
function targetOf(load: LoadResult, { loads, workloads, measure }: LoadInput) {
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
	const largest = members.at(-1);
	const timed = largest && withoutBase(largest, members);
	const [minBatch] = batches;
	if (isPart || timed === undefined || minBatch === undefined) return null;
	const batched = timed.inputs.filter(({ name, shape }) =>
		members.some(({ inputs }) => inputs.find((other) => other.name === name)?.shape[0] !== shape[0]),
	);
	const { maxDelayMs, maxBatch: most = Infinity } = measure.load;
	const maxBatch = Math.min(most, batches.at(-1) ?? 1);
	const isDla = timed.head.spec.engine.tensorrt.dla !== undefined;
	const graph = measure.cudaGraph && !isDla && maxBatch - minBatch < mostGraphs;
	const request = { batched: batched.map(({ name }) => name), minBatch, maxBatch, maxDelayMs, graph };
	const served = new Set(batches.map((batch) => Math.min(batch, maxBatch)));
	return { head: timed.head, load, timed, batches: [...served], request };
}

/** If its engine does not take all sizes. */
function withoutBase({ base, ...head }: TimedWorkload, members: readonly TimedWorkload[]): TimedWorkload {
	return base && members.every((one) => one.base) ? { base, ...head } : head;
}

/** Each size of batch has one, and a context with its memory. */
const mostGraphs = 16;
const [leastRequests, mostRequests] = [500, 20_000];
/** To fill caches and to know the capacity, as a share of a run's duration. */
const closedShare = 0.05;

type LoadPorts = WatchedPorts & { observe: Observe };

async function measureLoad(target: Target, input: LoadInput, ports: LoadPorts) {
	const { timed, load, batches, request } = target;
	const { looks, load: settings } = input.measure;
	const closed = { arm: timed.base ? "base" : "head", pair: 0 } as const;
	const { serviceMs } = await serve(target, closed, { schedules: [], input, ports });
	const capacity = (1000 * (batches.at(-1) ?? NaN)) / (serviceMs.at(-1) ?? NaN);
	const points = pointsOf(input, { capacity, slo: load.slo?.ratePerSecond });
	const { warn, fail = 0.1 } = timed.workload.config.gates.p99;
	const options = { minimalEffect: warn ?? fail, looks, share: 1 / input.family };
	const judge = (runs: readonly ServedRun[]) =>
		points.map((at, index) => judgePoint(at, { runs, index }, options));
	const run = async (at: Paired): Promise<ServedRun> => {
		const schedules = points.map((point) =>
			scheduleAt(point.ratePerSecond, { seed: at.pair + 1, capacity, input }),
		);
		const served = await serve(target, at, { schedules, input, ports });
		const alone = batches.map((batch, index) => ({ batch, ms: served.serviceMs[index] ?? NaN }));
		const expectedMs = schedules.map((arrivalsMs) => expectedP99Ms({ ...request, arrivalsMs }, alone));
		return { ...served, expectedMs };
	};
	const isCompared = timed.base !== undefined;
	const pairing = { looks, firstArms: timed.firstArms, isCompared, run, judge, fault: lateReason };
	const { runs, repeated, failure } = await runPairs(pairing, ports);
	const known = timed.base ? {} : input.noBase(timed);
	const withKnown = judge(runs).map((at) => ({ ...at, comparison: { ...at.comparison, ...known } }));
	const measured: MeasuredLoad = {
		...{ model: load.model, engine: load.engine, workloads: load.workloads, batches: load.batches },
		...{ arrivals: settings.arrivals, maxBatch: request.maxBatch, maxDelayMs: request.maxDelayMs },
		replaced: repeated.length,
		...(failure && { reason: failure.message }),
		points: runs.length === 0 ? [] : withKnown,
	};
	const name = `${load.model}/${load.engine} at load`;
	return { measuredLoads: [measured], notes: failure ? [] : repeatedNotes(name, repeated) };
}

function pointsOf(
	{ arrivals, measure: { load } }: LoadInput,
	{ capacity, slo }: { capacity: number; slo: number | undefined },
) {
	if (typeof arrivals !== "string") return [{ share: null, ratePerSecond: ratePerSecond(arrivals) }];
	const usual = { share: load.at, ratePerSecond: load.at * capacity };
	return slo === undefined ? [usual] : [usual, { share: null, ratePerSecond: slo }];
}

function scheduleAt(
	perSecond: number,
	{ seed, capacity, input }: { seed: number; capacity: number; input: LoadInput },
) {
	const { load, timeoutMs } = input.measure;
	const wanted = Math.round((perSecond * load.durationMs) / 1000);
	// Even if a slow engine then gets too few for bounds; a quarter leaves room for another rate and a slower head.
	const most = Math.floor((Math.min(perSecond, capacity) * timeoutMs) / 4000);
	const count = Math.max(2, Math.min(most, mostRequests, Math.max(leastRequests, wanted)));
	return schedule(input.arrivals, { seed, count, perSecond });
}

/** One process: each batch in a closed loop, then the schedules. */
async function serve(
	{ timed, batches, request, load }: Target,
	run: Paired,
	{ schedules, input, ports }: { schedules: readonly Float64Array[]; input: LoadInput; ports: LoadPorts },
) {
	const capacityPerMs = load.capacityPerSecond / 1000;
	const closedMs = closedShare * input.measure.load.durationMs;
	const closed = batches.map((batch) => {
		const rounds = Math.ceil(Math.min(2000, Math.max(10, (capacityPerMs * closedMs) / batch)));
		return { ...request, maxBatch: batch, arrivalsMs: new Float64Array(batch * rounds) };
	});
	const open = schedules.map((arrivalsMs) => ({ ...request, arrivalsMs }));
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
