// Where a change of level began: the step that the nights show most likely, or the foot of a climb.
import type { Point } from "./points.ts";

interface Course {
	/** Place that decided, and the first that the change may reach back to. */
	at: number;
	first: number;
	noise: { level: number; sd: number };
	points: readonly Point[];
}

/** A start that is less likely by so much is none. */
const unlikelyNats = 30;

/** Log-likelihoods, up to a constant, that the level stepped by this size at each place; no single night weighs more than another. */
export function likelyStarts(
	{ at, first, noise, points }: Course,
	size: number,
): { place: number; nats: number }[] {
	const found: { place: number; nats: number }[] = [];
	let [nats, most] = [0, Number.NEGATIVE_INFINITY];
	for (let place = at; place >= first && nats > most - unlikelyNats; place -= 1) {
		const { level, error } = { error: 0, level: noise.level, ...points[place], ...points[place]?.fresh };
		const share = Math.min(1, Math.max(0, (level - noise.level) / size));
		nats += (share - 0.5) * (size / Math.max(noise.sd, error)) ** 2;
		most = Math.max(most, nats);
		found.push({ place, nats });
	}
	return found;
}

/** So many nights of creep, and so much likelier than one step. */
const creepNights = 5;
const creepNats = 5;
const longestCreep = 120;

/** Where a level that grew evenly up to now left its reference; null where a step at `from` explains it about as well. */
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
	const begins = Array.from({ length: Math.max(0, shares.length - creepNights) }, (_, begin) => ({
		begin,
		misfit: misfit((index) => Math.max(0, index - begin) / (last - begin)),
	}));
	const best = begins.reduce<(typeof begins)[number] | null>(
		(least, one) => (least !== null && least.misfit <= one.misfit ? least : one),
		null,
	);
	const gain = best === null ? 0 : misfit((index) => (first + index >= from ? 1 : 0)) - best.misfit;
	return best === null || (gain / 2) * (size / noise.sd) ** 2 < creepNats ? null : first + best.begin + 1;
}
