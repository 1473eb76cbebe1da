// A seeded model of what run medians do on a GPU: warm-up, drift, noise and occasional disturbance.

import type { Arm, PerfRun, VerdictKind } from "../generated/result.ts";
import { compareRuns, type RunsCompared } from "../src/core/compare/compare.ts";
import { defaultLooks, firstArms, nextLook } from "../src/core/compare/pairs.ts";
import { shouldStop } from "../src/core/compare/verdict.ts";

export interface Random {
	/** Uniform in [0, 1). */
	uniform(): number;
	/** Standard normal. */
	normal(): number;
}

/** Mulberry32, and Box and Muller's transform: enough for error rates of a few per mille. */
export function seededRandom(seed: number): Random {
	let state = seed >>> 0;
	let spare: number | null = null;
	const uniform = () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let bits = Math.imul(state ^ (state >>> 15), state | 1);
		bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
		return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
	};
	const normal = () => {
		if (spare !== null) {
			const kept = spare;
			spare = null;
			return kept;
		}
		const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
		const angle = 2 * Math.PI * uniform();
		spare = radius * Math.sin(angle);
		return radius * Math.cos(angle);
	};
	return { uniform, normal };
}

/** The share of disturbed runs, and by which fractions they are slower. */
export interface Disturbance {
	share: number;
	least: number;
	most: number;
}

export const usual: Disturbance = { share: 0.02, least: 0.02, most: 0.1 };
/** Another process disturbs some runs, which then take 1.3 times as long. */
export const strong: Disturbance = { share: 0.05, least: 0.3, most: 0.3 };

export interface Truth {
	/** Coefficient of variation from run to run. */
	runCv: number;
	/** True change of the head, as a fraction. */
	effect: number;
	/** `usual` by default. */
	disturbance?: Disturbance;
	/** Runs of one engine to draw from, in place of the model's scatter, drift and disturbances. */
	recorded?: readonly RecordedRun[];
}

export interface RecordedRun {
	medianMs: number;
	p99Ms: number;
}

/** P99 of a run varies around its median by this many times the run CV; wide enough that its own limit does not protect it. */
const tailNoise = 5;
const usedOfRun = { state: "ok", wallMs: 3000, iterations: 500 } as const;

/** The runs of one workload in one session, in the order of the schedule. */
function simulateRuns(truth: Truth, pairs: number, random: Random): PerfRun[] {
	if (truth.recorded !== undefined) return drawRuns(truth.recorded, truth.effect, { pairs, random });
	const { share, least, most } = truth.disturbance ?? usual;
	const ramp = Math.abs(0.01 * random.normal());
	const tau = 3 + 7 * random.uniform();
	let walk = 0;
	const runOf = (order: number, arm: Arm): PerfRun => {
		walk += 0.001 * random.normal();
		const disturbed = random.uniform() < share ? Math.log1p(least + (most - least) * random.uniform()) : 0;
		const effect = arm === "head" ? Math.log1p(truth.effect) : 0;
		const medianMs = Math.exp(
			ramp * (1 - Math.exp(-order / tau)) + walk + truth.runCv * random.normal() + disturbed + effect,
		);
		const p99Ms = medianMs * Math.exp(0.1 + tailNoise * truth.runCv * random.normal());
		const figures = { medianMs, meanMs: medianMs, minMs: medianMs, p90Ms: medianMs, p95Ms: medianMs, p99Ms };
		return { ...usedOfRun, arm, pair: Math.floor(order / 2), order, ...figures };
	};
	return firstArms(String(random.uniform()), pairs).flatMap((first, pair) => [
		runOf(2 * pair, first),
		runOf(2 * pair + 1, first === "base" ? "head" : "base"),
	]);
}

function drawRuns(
	recorded: readonly RecordedRun[],
	effect: number,
	{ pairs, random }: { pairs: number; random: Random },
): PerfRun[] {
	return Array.from({ length: 2 * pairs }, (_, order) => {
		const arm: Arm = order % 2 === 0 ? "base" : "head";
		const factor = arm === "head" ? 1 + effect : 1;
		const drawn = recorded[Math.floor(random.uniform() * recorded.length)] ?? {
			medianMs: Number.NaN,
			p99Ms: Number.NaN,
		};
		const medianMs = drawn.medianMs * factor;
		const figures = {
			medianMs,
			meanMs: medianMs,
			minMs: medianMs,
			p90Ms: medianMs,
			p95Ms: medianMs,
			p99Ms: drawn.p99Ms * factor,
		};
		return { ...usedOfRun, arm, pair: Math.floor(order / 2), order, ...figures };
	});
}

/** One workload as the gate measures it: pairs are added look by look until the latency is decided or the budget is used up. */
function measureWorkload(
	truth: Truth,
	options: { minimalEffect: number; family: number },
	random: Random,
): RunsCompared {
	const judging = { ...options, p99MinimalEffect: 0.1 };
	const runs = simulateRuns(truth, defaultLooks.at(-1) ?? 0, random);
	let compared = compareRuns([], judging);
	for (let look = nextLook(defaultLooks, 0); look !== null; look = nextLook(defaultLooks, look)) {
		compared = compareRuns(runs.slice(0, 2 * look), judging);
		if (shouldStop(compared.latency)) break;
	}
	return compared;
}

export interface Rates {
	/** Of the workloads: verdicts on latency. */
	shares: Record<VerdictKind, number>;
	/** Of the workloads. */
	meanPairs: number;
	/** Of the jobs: at least one workload's latency or P99 was called slower. */
	slowerJobs: number;
	/** … slower or faster. */
	changedJobs: number;
}

export interface Simulation {
	minimalEffect: number;
	/** Workloads of a job; 1 by default. */
	family?: number;
	/** Number of jobs. */
	replicates: number;
	seed: number;
}

/** Whole jobs through the whole verdict path. */
export function realisedRates(
	truth: Truth,
	{ minimalEffect, family = 1, replicates, seed }: Simulation,
): Rates {
	const random = seededRandom(seed);
	const counts: Record<VerdictKind, number> = {
		regressed: 0,
		improved: 0,
		unchanged: 0,
		inconclusive: 0,
		"not-comparable": 0,
		missing: 0,
	};
	let [pairs, slower, changed] = [0, 0, 0];
	for (let replicate = 0; replicate < replicates; replicate += 1) {
		const rows = Array.from({ length: family }, () =>
			measureWorkload(truth, { minimalEffect, family }, random),
		);
		for (const { latency } of rows) {
			counts[latency.verdict] += 1;
			pairs += latency.pairs;
		}
		const verdicts = rows.flatMap(({ latency, p99 }) => [latency.verdict, p99.verdict]);
		slower += Number(verdicts.includes("regressed"));
		changed += Number(verdicts.includes("regressed") || verdicts.includes("improved"));
	}
	const shares = Object.fromEntries(
		Object.entries(counts).map(([verdict, count]) => [verdict, count / (replicates * family)]),
	);
	return {
		shares: shares as Rates["shares"],
		meanPairs: pairs / (replicates * family),
		slowerJobs: slower / replicates,
		changedJobs: changed / replicates,
	};
}
