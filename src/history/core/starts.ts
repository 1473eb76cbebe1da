// Finds where a change of level began: at the likeliest step, or at the foot of a climb.
import type { Point } from "./points.ts";

interface Course {
	/** Index of the deciding point, and of the first that the change may reach back to. */
	at: number;
	first: number;
	noise: { level: number; sd: number };
	points: readonly Point[];
}

/** Places that are this much less likely are not considered. */
const unlikelyNats = 30;

/** Log-likelihoods, up to a constant, of a step of this size at each place. No night outweighs another. */
export function likelyStarts(
	{ at, first, noise, points }: Course,
	size: number,
): { place: number; nats: number }[] {
	const found: { place: number; nats: number }[] = [];
	let nats = 0;
	let most = Number.NEGATIVE_INFINITY;
	for (let place = at; place >= first && nats > most - unlikelyNats; place -= 1) {
		const { level, error } = { error: 0, level: noise.level, ...points[place], ...points[place]?.fresh };
		const share = Math.min(1, Math.max(0, (level - noise.level) / size));
		nats += (share - 0.5) * (size / Math.max(noise.sd, error)) ** 2;
		most = Math.max(most, nats);
		found.push({ place, nats });
	}
	return found;
}

/** Creep takes at least this many nights, and must be this much likelier than one step. */
const creepNights = 5;
const creepNats = 5;
const longestCreep = 120;

/** Finds where an evenly growing level left its reference; null if a step at `from` explains it about as well. */
export function creepStart(
	{ at, first: earliest, noise, points }: Course,
	size: number,
	from: number,
): number | null {
	const first = Math.max(earliest, at - longestCreep);
	const shares = points
		.slice(first, at + 1)
		.map((point) => (({ ...point, ...point.fresh }).level - noise.level) / size);
	const last = shares.length - 1;
	const misfit = (expected: (index: number) => number): number =>
		shares.reduce((sum, share, index) => sum + (share - expected(index)) ** 2, 0);
	let best = { begin: 0, misfit: Number.POSITIVE_INFINITY };
	for (let begin = 0; begin < shares.length - creepNights; begin += 1) {
		const own = misfit((index) => Math.max(0, index - begin) / (last - begin));
		if (own < best.misfit) best = { begin, misfit: own };
	}
	const gain = misfit((index) => (first + index >= from ? 1 : 0)) - best.misfit;
	return (gain / 2) * (size / noise.sd) ** 2 < creepNats ? null : first + best.begin + 1;
}
