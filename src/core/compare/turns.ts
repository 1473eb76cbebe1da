// How two living processes of a pair take turns on a CPU that other programs share, and when they have been timed for long enough.
import type { MeasureConfig } from "../config/config.ts";
import type { Arm } from "../schema/result.ts";

export interface TurnLimits {
	warmUpMs: number;
	/** Of each side's turns together: the least, and the most where the fastest iterations do not repeat. */
	leastMs: number;
	mostMs: number;
	/** Of one turn. */
	turnMs: number;
	/** Each side's fastest iteration in the pairs before; absent: there are none. */
	floorMs?: Readonly<Record<Arm, number>>;
}

/** What a program beside this one does to one side in so short a time it also does to the other; an iteration that takes longer is a turn. */
const longestTurnMs = 20;
/** Halves of the rounds are compared, so that a long iteration is timed this often too. */
const leastRounds = 10;
/** Where ten rounds take longer than a pair may be lengthened, and than 2 s, four rounds are enough if their halves agree. */
const fewestRounds = 4;
const longMs = 2000;

/** With WebAssembly the code is compiled for good after some tens of inferences; further precision comes from more pairs. */
const byDefault = { warmUpMs: 100, leastMs: 300 };
/** A busy machine lengthens a pair by this much at most. */
const mostLengthening = { factor: 8, byMs: 2000 };

export function turnLimits({ warmUpMs, durationMs, adaptsLength }: MeasureConfig): TurnLimits {
	const { leastMs, ...warmUp } = adaptsLength ? byDefault : { warmUpMs, leastMs: durationMs };
	const mostMs = Math.min(leastMs * mostLengthening.factor, leastMs + mostLengthening.byMs);
	return { ...warmUp, leastMs, mostMs, turnMs: Math.min(longestTurnMs, leastMs / leastRounds) };
}

/** A program on the other half of the core slows every iteration by half or more; processes of one engine differ by far less among themselves. */
const slowedBy = 1.1;

/** A side's turns so far. */
export interface Turns {
	timedMs: number;
	/** Of each round. */
	fastestMs: readonly number[];
}

/**
 * Whether a pair has been timed for long enough: where both halves of its rounds give the same fastest iteration, on either side for
 * itself, each side has run undisturbed more than once, unless its earlier pairs were far faster. The sides' ratio has no say, so when to stop cannot favour a verdict.
 *
 * @param tolerance how far the halves may differ, as a share.
 */
export function isTimedEnough(turns: Readonly<Record<Arm, Turns>>, limits: TurnLimits, tolerance: number): boolean {
	const arms = [turns.base, turns.head];
	const roundsOf = ({ timedMs }: Turns): number => (timedMs < Math.max(limits.mostMs, longMs) ? leastRounds : fewestRounds);
	if (arms.some((arm) => arm.fastestMs.length < roundsOf(arm))) return false;
	if (arms.some(({ timedMs }) => timedMs < limits.leastMs)) return false;
	const { floorMs, mostMs } = limits;
	return (["base", "head"] as const).every((arm) => {
		const { timedMs, fastestMs } = turns[arm];
		const isSlowed = floorMs !== undefined && Math.min(...fastestMs) > slowedBy * floorMs[arm];
		const isLong = fastestMs.length >= leastRounds && timedMs >= mostMs;
		return isLong || (!isSlowed && repeats(fastestMs, tolerance));
	});
}

function repeats(fastestMs: readonly number[], tolerance: number): boolean {
	const [even, odd] = [0, 1].map((half) => Math.min(...fastestMs.filter((_, round) => round % 2 === half)));
	return Math.abs(Math.log((even ?? 0) / (odd ?? 0))) <= tolerance;
}
