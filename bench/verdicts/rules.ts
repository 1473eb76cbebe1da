// When each tool calls a head slower: ours as the product does it, the peers' by their documents, in the same terms.

import type { Arm, PerfRun } from "../../generated/result.ts";
import { compareRuns } from "../../src/core/compare/compare.ts";
import { defaultLooks, firstArms } from "../../src/core/compare/pairs.ts";
import { shouldStop } from "../../src/core/compare/verdict.ts";
import { median, quantile, sampleMean, tCritical } from "../../src/core/stats/quantile.ts";
import type { Random } from "../run-model.ts";
import type { Process, World } from "./worlds.ts";

export interface Answer {
	slower: boolean;
	/** What this verdict cost: processes of its own job, earlier nights not counted. */
	processes: number;
	gpuSeconds: number;
}

export interface Rule {
	name: string;
	/** Where the rule is written down. */
	source: string;
	decide(world: World, effect: number, random: Random): Answer;
}

/** Load and start, warm-up, measured time: of a run as trtgate chooses it, and of trtexec as it is by default. */
const ourSeconds = 0.6 + 0.3 + 0.5;
const trtexecSeconds = 0.6 + 0.2 + 3;
const pilotSeconds = 1.6;

const answer = (slower: boolean, processes: number): Answer => ({
	slower,
	processes,
	gpuSeconds: processes * trtexecSeconds,
});

function perfRun(
	arm: Arm,
	at: { pair: number; order: number; build?: number },
	{ medianMs, meanMs }: Process,
): PerfRun {
	const figures = { medianMs, meanMs, minMs: medianMs, p90Ms: medianMs, p95Ms: medianMs, p99Ms: medianMs };
	return { arm, ...at, state: "ok", wallMs: 1400, iterations: 500, ...figures };
}

/** Interleaved pairs after one discarded process of each side, looks at 5, 8, 12 and 16 pairs. */
function ours(minimalEffect: number, rebuilds = 1): Rule["decide"] {
	return (world, effect, random) => {
		const session = world.session(random, effect);
		for (const arm of ["base", "head"] as const) session.run(arm);
		const runs: PerfRun[] = [];
		for (const [pair, first] of firstArms(String(random.uniform()), Math.max(...defaultLooks)).entries()) {
			for (const arm of first === "base" ? (["base", "head"] as const) : (["head", "base"] as const)) {
				const build = pair % rebuilds;
				runs.push(
					perfRun(
						arm,
						{ pair, order: runs.length, ...(rebuilds > 1 ? { build } : {}) },
						session.run(arm, build),
					),
				);
			}
			if (!defaultLooks.includes(pair + 1)) continue;
			const { latency } = compareRuns(runs, { minimalEffect, p99MinimalEffect: 0.1 });
			const gpuSeconds = runs.length * ourSeconds + 2 * pilotSeconds;
			if (shouldStop(latency) || pair + 1 === defaultLooks.at(-1))
				return { slower: latency.verdict === "regressed", processes: runs.length + 2, gpuSeconds };
		}
		throw new Error("the last look always ends it");
	};
}

/** A number of one process, against that of an earlier night. */
function threshold(share: number, isStored: boolean): Rule["decide"] {
	return (world, effect, random) => {
		const tonight = world.session(random, effect);
		const base = (isStored ? world.session(random, 0) : tonight).run("base").meanMs;
		return answer(tonight.run("head").meanMs > (1 + share) * base, isStored ? 1 : 2);
	};
}

/** Two-sided p below alpha by the normal approximation, and the head's ranks the higher. */
function isHigherByRanks(base: readonly number[], head: readonly number[], z: number): boolean {
	const all = [...base.map((ms) => ({ ms, rank: 0 })), ...head.map((ms) => ({ ms, rank: 1 }))].sort(
		(a, b) => a.ms - b.ms,
	);
	const ranks = all.reduce((sum, { rank }, index) => sum + rank * (index + 1), 0);
	const [n, m] = [base.length, head.length];
	return (ranks - (m * (n + m + 1)) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12) > z;
}

const iterations = 300;

function mannWhitney(world: World, effect: number, random: Random): Answer {
	const session = world.session(random, effect);
	const [base, head] = [session.run("base").times(iterations), session.run("head").times(iterations)];
	return answer(isHigherByRanks(base, head, 1.96), 2);
}

const nights = 30;
const nightsAfter = 7;

/** Medians of earlier nights, each a job of its own. */
function stored(world: World, count: number, random: Random): number[] {
	return Array.from({ length: count }, () => world.session(random, 0).run("base").medianMs);
}

function studentOnHistory(world: World, effect: number, random: Random): Answer {
	const { mean, sd, df } = sampleMean(stored(world, nights, random)) ?? { mean: 0, sd: 0, df: 1 };
	return answer(world.session(random, effect).run("head").medianMs > mean + tCritical(0.02, df) * sd, 1);
}

/** Nights before and, for rules that need later points, a week of nights with the change. */
function series(world: World, effect: number, random: Random): number[] {
	return [
		...stored(world, nights, random),
		...Array.from({ length: nightsAfter }, () => world.session(random, effect).run("head").medianMs),
	];
}

interface Segment {
	from: number;
	to: number;
	level: number;
	error: number;
}

/** asv's piecewise constant fit in L1: for each penalty the best partition; of these the one that its information criterion likes best. */
function segmentsOf(values: readonly number[]): Segment[] {
	const n = values.length;
	const fits = values.map((_, from) => {
		const sorted: number[] = [];
		return values.slice(from).map((value, more): Segment => {
			const place = sorted.findIndex((other) => other > value);
			sorted.splice(place < 0 ? sorted.length : place, 0, value);
			const level = ((sorted[more >> 1] ?? 0) + (sorted[(more + 1) >> 1] ?? 0)) / 2;
			return {
				from,
				to: from + more + 1,
				level,
				error: sorted.reduce((sum, other) => sum + Math.abs(other - level), 0),
			};
		});
	});
	const total = fits[0]?.[n - 1]?.error ?? 0;
	let best = { objective: Number.POSITIVE_INFINITY, segments: [] as Segment[] };
	for (const share of [0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.8, 1.1]) {
		const costs = [0];
		const last: Segment[] = [];
		for (let to = 1; to <= n; to += 1) {
			costs[to] = Number.POSITIVE_INFINITY;
			for (let from = Math.max(0, to - n); from < to; from += 1) {
				const fit = fits[from]?.[to - from - 1];
				const cost = (costs[from] ?? 0) + share * total + (fit?.error ?? 0);
				if (fit !== undefined && cost < (costs[to] ?? 0)) [costs[to], last[to]] = [cost, fit];
			}
		}
		const segments: Segment[] = [];
		for (let at = n; at > 0; at = last[at]?.from ?? 0) segments.unshift(last[at] as Segment);
		const steps = segments
			.slice(1)
			.map(({ level }, index) => Math.abs(level - (segments[index]?.level ?? 0)));
		const floor =
			segments.length > 2
				? 0.1 * Math.min(...steps)
				: 0.001 * Math.min(...segments.map(({ level }) => level));
		const error = segments.reduce((sum, segment) => sum + segment.error, 0);
		const objective = ((4 * Math.log(n)) / n) * segments.length + Math.log(Math.max(1e-300, floor) + error);
		if (objective < best.objective) best = { objective, segments };
	}
	return best.segments;
}

/** A step up of 5 % or more that lasts two points, as asv's regressions are by default. */
function asv(world: World, effect: number, random: Random): Answer {
	const segments = segmentsOf(series(world, effect, random));
	const last = segments.at(-1);
	const before = segments.slice(0, -1).map(({ level }) => level);
	const isStep = last !== undefined && last.to - last.from >= 2 && last.from >= nights - 1;
	return answer(isStep && before.length > 0 && last.level > 1.05 * Math.min(...before), nightsAfter);
}

/** The split with the largest energy statistic, then Student's t between both sides; again on both, down to no change. */
function* eDivisive(values: readonly number[], from = 0): Generator<{ at: number; up: boolean }> {
	const n = values.length;
	if (n < 4) return;
	let best = { split: 0, score: 0 };
	for (let split = 2; split <= n - 2; split += 1) {
		const [left, right] = [values.slice(0, split), values.slice(split)];
		const apart = (one: readonly number[], other: readonly number[]): number =>
			one.reduce((sum, a) => sum + other.reduce((inner, b) => inner + Math.abs(a - b), 0), 0);
		const [l, r] = [split, n - split];
		const score =
			((l * r) / n) *
			((2 / (l * r)) * apart(left, right) -
				apart(left, left) / (l * (l - 1)) -
				apart(right, right) / (r * (r - 1)));
		if (score > best.score) best = { split, score };
	}
	const [left, right] = [values.slice(0, best.split), values.slice(best.split)].map(sampleMean);
	if (best.split === 0 || left == null || right == null) return;
	const pooled = Math.sqrt((left.sd ** 2 * left.df + right.sd ** 2 * right.df) / (left.df + right.df));
	const t = (right.mean - left.mean) / (pooled * Math.sqrt(1 / (left.df + 1) + 1 / (right.df + 1)));
	if (!(Math.abs(t) > tCritical(0.001, n - 2))) return;
	yield { at: from + best.split, up: t > 0 };
	yield* eDivisive(values.slice(0, best.split), from);
	yield* eDivisive(values.slice(best.split), from + best.split);
}

function otava(world: World, effect: number, random: Random): Answer {
	const found = [...eDivisive(series(world, effect, random))];
	return answer(
		found.some(({ at, up }) => up && at >= nights - 1),
		nightsAfter,
	);
}

/** Both servers up, one query after the other on each; the medians' difference against those of random labels, and a floor. */
function clickHouse(world: World, effect: number, random: Random): Answer {
	const session = world.session(random, effect);
	const runs = 13;
	const chunks = ({ times }: Process): number[] => {
		const all = times(10 * runs);
		return Array.from({ length: runs }, (_, run) => median(all.slice(10 * run, 10 * run + 10)));
	};
	const [base, head] = [chunks(session.run("base")), chunks(session.run("head"))];
	const all = Float64Array.from([...base, ...head]);
	const middle = (from: number): number => all.slice(from, from + runs).sort()[runs >> 1] ?? 0;
	const differences = Array.from({ length: 200 }, () => {
		for (let last = all.length - 1; last > 0; last -= 1) {
			const other = Math.floor(random.uniform() * (last + 1));
			[all[last], all[other]] = [all[other] ?? 0, all[last] ?? 0];
		}
		return Math.abs(middle(0) - middle(runs));
	});
	const difference = median(head) - median(base);
	return answer(
		difference > quantile(Float64Array.from(differences).sort(), 0.99) && difference > 0.05 * median(base),
		2,
	);
}

/** Lower end of the distribution-free 95 % interval of a median. */
function lowestMedian(ratios: readonly number[]): number {
	const sorted = ratios.toSorted((a, b) => a - b);
	const n = sorted.length;
	let [term, tail, order] = [2 ** -n, 2 ** -n, 0];
	while (tail <= 0.025 && order < n / 2) {
		term *= (n - order) / (order + 1);
		order += 1;
		tail += term;
	}
	return order === 0 ? Number.NEGATIVE_INFINITY : (sorted[order - 1] ?? 0);
}

/** Ten pairs; where they differ by 2 %, 30 to 100 fresh ones, which alone decide. */
function duckDb(limit: number): Rule["decide"] {
	return (world, effect, random) => {
		const session = world.session(random, effect);
		let processes = 0;
		const pair = (): number => {
			const isSwapped = Math.floor(processes / 10) % 2 === 1;
			processes += 2;
			const first = session.run(isSwapped ? "head" : "base").medianMs;
			const second = session.run(isSwapped ? "base" : "head").medianMs;
			return isSwapped ? first / second : second / first;
		};
		if (Math.abs(median(Array.from({ length: 10 }, pair)) - 1) <= 0.02) return answer(false, processes);
		const fresh = Array.from({ length: 30 }, pair);
		const isOpen = (): boolean => {
			const ratio = median(fresh);
			return ratio > 1.02 && lowestMedian(fresh) <= (ratio > 1.1 ? 1.1 : 1.02);
		};
		while (fresh.length < 100 && isOpen()) fresh.push(pair());
		return answer(median(fresh) > 1 + limit, processes);
	};
}

export const rules: readonly Rule[] = [
	{ name: "trtgate, limit 2 %", source: "`latency.warn` by default; src/core/compare", decide: ours(0.02) },
	{ name: "trtgate, limit 0.5 %", source: "`latency: { warn: 0.5% }`", decide: ours(0.005) },
	{ name: "trtgate, limit 0.5 %, 3 builds", source: "with `rebuilds: 3`", decide: ours(0.005, 3) },
	{
		name: "one run each, +10 %",
		source: "CodSpeed's default threshold: codspeed.io/docs, Performance checks",
		decide: threshold(0.1, true),
	},
	{
		name: "one run each, 200 %",
		source: "`alert-threshold` of benchmark-action/github-action-benchmark by default: its README",
		decide: threshold(1, true),
	},
	{
		name: "Mann-Whitney on iterations",
		source:
			"alpha 0.05 of golang.org/x/perf benchstat and google/benchmark tools/compare.py, given the iterations of one process each",
		decide: mannWhitney,
	},
	{
		name: "t-test on 30 stored nights",
		source: "Bencher, `t_test` with upper boundary 0.99: bencher.dev/docs/explanation/thresholds",
		decide: studentOnHistory,
	},
	{ name: "asv, a week later", source: "asv/step_detect.py: penalty 4 ln n / n, steps of 5 %", decide: asv },
	{
		name: "Otava, a week later",
		source: "apache/otava docs/MATH.md: E-divisive, Student's t, p 0.001",
		decide: otava,
	},
	{
		name: "ClickHouse, randomised labels",
		source: "ClickHouse tests/performance/scripts: eqmed.sql, 0.99 quantile, and the README's 5 %",
		decide: clickHouse,
	},
	{ name: "DuckDB, fails at 10 %", source: "duckdb scripts/regression/comparison.py", decide: duckDb(0.1) },
	{ name: "DuckDB, shows at 2 %", source: "the same, its display threshold", decide: duckDb(0.02) },
];
