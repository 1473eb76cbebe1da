// A seeded model of what run medians do on a GPU: warming up, drifting, scattering, now and then disturbed.
import { defaultLooks, nextLook } from "../src/core/compare/looks.ts";
import type { Pair } from "../src/core/compare/noise.ts";
import { firstArms } from "../src/core/compare/schedule.ts";
import { judgePairs, shouldStop } from "../src/core/compare/verdict.ts";
import type { VerdictKind } from "../src/core/schema/result.ts";

interface Random {
	/** Uniform in [0, 1). */
	uniform(): number;
	/** Standard normal. */
	normal(): number;
}

/** Mulberry32, and Box and Muller's transform: enough for error rates of a few per mille. */
function seededRandom(seed: number): Random {
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

export interface Truth {
	/** Coefficient of variation from run to run. */
	runCv: number;
	/** True change of the head, as a fraction. */
	effect: number;
}

/** Share of runs that something disturbs, and by how much. */
const disturbedShare = 0.02;
const disturbance = { least: 0.02, most: 0.1 };

/** The medians of one session, pair by pair, in the order that the schedule demands. */
function simulatePairs(truth: Truth, pairs: number, random: Random): Pair[] {
	const ramp = Math.abs(0.01 * random.normal());
	const tau = 3 + 7 * random.uniform();
	let walk = 0;
	const runOf = (index: number, arm: "base" | "head") => {
		walk += 0.001 * random.normal();
		const disturbed = random.uniform() < disturbedShare ? disturbance.least + (disturbance.most - disturbance.least) * random.uniform() : 0;
		const log = ramp * (1 - Math.exp(-index / tau)) + walk + truth.runCv * random.normal() + disturbed;
		return Math.exp(log + (arm === "head" ? Math.log1p(truth.effect) : 0));
	};
	return firstArms(String(random.uniform()), pairs).map((first, pair) => {
		const early = runOf(2 * pair, first);
		const late = runOf(2 * pair + 1, first === "base" ? "head" : "base");
		return first === "base" ? { base: early, head: late } : { base: late, head: early };
	});
}

export interface Rates {
	shares: Record<VerdictKind, number>;
	meanPairs: number;
}

/** Whole verdict path: pairs are added look by look until it is decided or the budget is used up. */
export function realisedRates(truth: Truth, options: { minimalEffect: number; family?: number; replicates: number; seed: number }): Rates {
	const random = seededRandom(options.seed);
	const counts: Record<VerdictKind, number> = { regressed: 0, improved: 0, unchanged: 0, inconclusive: 0, "not-comparable": 0, missing: 0 };
	const judging = { minimalEffect: options.minimalEffect, family: options.family ?? 1 };
	let pairsUsed = 0;
	for (let replicate = 0; replicate < options.replicates; replicate += 1) {
		const session = simulatePairs(truth, defaultLooks.at(-1) ?? 0, random);
		let comparison = judgePairs([], judging);
		for (let look = nextLook(defaultLooks, 0); look !== null; look = nextLook(defaultLooks, look)) {
			comparison = judgePairs(session.slice(0, look), judging);
			if (shouldStop(comparison, defaultLooks)) break;
		}
		counts[comparison.verdict] += 1;
		pairsUsed += comparison.pairs;
	}
	const shares = Object.fromEntries(Object.entries(counts).map(([verdict, count]) => [verdict, count / options.replicates]));
	return { shares: shares as Rates["shares"], meanPairs: pairsUsed / options.replicates };
}
