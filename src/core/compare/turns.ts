// How two living processes of a pair take turns on a CPU that other programs share, and when they have been timed for long enough.
import type { MeasureConfig } from "../config/config.ts";
import type { Arm } from "../schema/result.ts";

export interface TurnLimits {
	warmUpMs: number;
	/** Of each arm's turns together: the least, and the most where the fastest iterations do not repeat. */
	leastMs: number;
	mostMs: number;
}

/** What a program beside this one does to one arm in so short a time it also does to the other; an iteration that takes longer is a turn. */
export const turnMs = 20;
/** Halves of the rounds are compared, so that a long iteration is timed this often too. */
const leastRounds = 10;

/** With WebAssembly the code is compiled for good after some tens of inferences; further precision comes from more pairs. */
const byDefault: Omit<TurnLimits, "mostMs"> = { warmUpMs: 100, leastMs: 300 };
/** A busy machine lengthens a pair by this much at most. */
const mostLengthening = { factor: 5, byMs: 2000 };

export function turnLimits({ warmUpMs, durationMs, adaptsLength }: MeasureConfig): TurnLimits {
	const { leastMs, ...warmUp } = adaptsLength ? byDefault : { warmUpMs, leastMs: durationMs };
	return { ...warmUp, leastMs, mostMs: Math.min(leastMs * mostLengthening.factor, leastMs + mostLengthening.byMs) };
}

/** An arm's turns so far. */
export interface Turns {
	timedMs: number;
	/** Of each round. */
	fastestMs: readonly number[];
}

/**
 * Whether a pair has been timed for long enough: where both halves of its rounds give the same fastest iteration, in either arm for
 * itself, each arm has run undisturbed more than once. The arms' ratio has no say, so when to stop cannot favour a verdict.
 *
 * @param tolerance how far the halves may differ, as a share.
 */
export function isTimedEnough(turns: Readonly<Record<Arm, Turns>>, limits: TurnLimits, tolerance: number): boolean {
	const arms = [turns.base, turns.head];
	if (arms.some(({ fastestMs }) => fastestMs.length < leastRounds)) return false;
	if (arms.some(({ timedMs }) => timedMs < limits.leastMs)) return false;
	return arms.every(({ timedMs, fastestMs }) => timedMs >= limits.mostMs || repeats(fastestMs, tolerance));
}

function repeats(fastestMs: readonly number[], tolerance: number): boolean {
	const [even, odd] = [0, 1].map((half) => Math.min(...fastestMs.filter((_, round) => round % 2 === half)));
	return Math.abs(Math.log((even ?? 0) / (odd ?? 0))) <= tolerance;
}
