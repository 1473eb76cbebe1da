// The time limit of a recording as one budget, from which each phase draws its share of what is left.
import type { Clock } from "../../ports/world.ts";

export interface Budget {
	leftMs(): number;
	/** Of what is left. What a phase does not use, the next ones have. */
	part(share: number): Budget;
	/** The part of one of several runs, `atOnce` of them at a time. */
	turn(index: number, runs: number, atOnce: number): Budget;
}

export function createBudget(limitMs: number, clock: Pick<Clock, "now">): Budget {
	const endMs = clock.now() + limitMs;
	const leftMs = () => Math.max(0, endMs - clock.now());
	const part = (share: number) => createBudget(share * leftMs(), clock);
	return { leftMs, part, turn: (index, runs, atOnce) => part(1 / Math.ceil((runs - index) / atOnce)) };
}

/** The rest is for start-up, defects that are being tried when time is up, and the last save. */
const usableShare = 0.88;
/** What outputs and limits have at least: a busy machine gets as long as small models need. */
const leastEvidenceMs = 45_000;

export interface RecordBudget {
	limitMs: number;
	whole: Budget;
	/** For what a golden needs to be usable: sizes, outputs, noise and rounding. */
	evidence: Budget;
}

export function recordBudget(limitMs: number, clock: Pick<Clock, "now">): RecordBudget {
	const usableMs = usableShare * limitMs;
	return {
		limitMs,
		whole: createBudget(usableMs, clock),
		evidence: createBudget(Math.max(usableMs, leastEvidenceMs), clock),
	};
}
