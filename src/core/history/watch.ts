// Watches one chain: finds creep by a clipped CUSUM and steps by single points, and lets fresh pairs decide.
import { median } from "../stats/quantile.ts";
import type { Point, Run } from "./points.ts";
import { type MetricRules, rules } from "./rules.ts";
import type { Chain } from "./series.ts";
import { creepStart, likelyStarts } from "./starts.ts";

/** A change of level that was decided. */
export interface Shift {
	direction: "up" | "down";
	/** Places among the points: the first that the change most likely reached, and the one that decided. */
	from: number;
	/** How likely each place is the first. */
	starts: readonly { place: number; nats: number }[];
	raised: number;
	/** It moved a little every night since `from`, which no single step explains as well. */
	isCreep: boolean;
	/** Against the reference, logarithms. */
	size: number;
	low: number;
	high: number;
	closed?: { at: number; by: "accepted" | "recovered" };
}

export interface Watched {
	shifts: readonly Shift[];
	/** Places of points that stood out; fresh pairs are due where the last is one. */
	suspects: readonly number[];
	/** Level that counts as normal, from each place on, and the noise around it. */
	references: readonly { from: number; level: number; sd: number }[];
}

/** Newer points may already include an unnoticed change. */
const embargoDays = 7;
/** Points until a chain is watched, and how many its reference is made of. */
const fewest = 10;
const referencePoints = 20;
/** After so many its noise is known well enough, and stays. */
const noisePoints = 60;
const slack = 1;
const limit = 6;
const clip = 3;
/** A single point so far off is looked at again at once. */
const suspicious = 2.5;
/** Points in a row that put an end to an alarm. */
const wellAgain = 2;
/** Without fresh pairs, so many points in a row must be off by four times the noise. */
const persistent = 2;

interface Noise {
	level: number;
	sd: number;
	/** Scatter between nights that the pairs do not explain: of machines. */
	between: number;
	/** Standard error of the level. */
	error: number;
}

interface State {
	rule: MetricRules;
	/** Places of the points that tell what is normal; those of an open alarm never do. */
	learned: number[];
	noise: Noise | null;
	/** First place at which the present level holds: later than 0 where one was accepted or improved. */
	since: number;
	/** First place that an alarm may reach back to: no later alarm begins before the end of the last. */
	first: number;
	up: number;
	down: number;
	open: Shift | null;
	well: number;
	/** Points in a row beyond four times the noise, with their sign. */
	streak: number;
}

export function watch(chain: Chain, runs: readonly Run[]): Watched {
	const state: State = {
		rule: rules[chain.metric],
		...{ learned: [], noise: null, since: 0, first: 0, up: 0, down: 0, open: null, well: 0, streak: 0 },
	};
	const found: Found = { shifts: [], suspects: [], references: [] };
	let waiting = 0;
	for (const [at, point] of chain.points.entries()) {
		const newest = dayAt(chain, at, runs) - embargoDays;
		while (waiting < at && dayAt(chain, waiting, runs) <= newest) learn(waiting++, chain, state);
		if (state.noise === null) continue;
		const judged = judge({ at, point, state, noise: state.noise, points: chain.points });
		if (judged?.isSuspect === true) found.suspects.push(at);
		if (judged?.raised !== undefined) found.shifts.push(judged.raised);
		if (state.open !== null && chain.accepted.has(at)) accept(at, chain, { state, open: state.open });
		noteReference(at, state.noise, found.references);
	}
	return found;
}

interface Found extends Watched {
	shifts: Shift[];
	suspects: number[];
	references: Watched["references"][number][];
}

function noteReference(at: number, { level, sd }: Noise, references: Found["references"]): void {
	const last = references.at(-1);
	if (last?.level !== level) references.push({ from: last === undefined ? 0 : at, level, sd });
}

function dayAt({ points }: Chain, at: number, runs: readonly Run[]): number {
	return runs[points[at]?.run ?? 0]?.day ?? 0;
}

/** The reference never follows later points: a baseline that moves absorbs creep. */
function learn(at: number, { points }: Chain, state: State): void {
	if (
		state.learned.length >= noisePoints ||
		at < state.since ||
		(state.open !== null && at >= state.open.from)
	)
		return;
	state.learned.push(at);
	if (state.learned.length < fewest) return;
	const known = state.learned.flatMap((place) => points[place] ?? []);
	const steps = known
		.slice(1)
		.map((point, index) => Math.abs(point.level - (known[index]?.level ?? point.level)));
	// Of neighbours, so that creep within the points does not count as noise.
	const most = 3 * 1.4826 * median(steps);
	const usual = steps.filter((one) => one <= most);
	const scatter = Math.sqrt(usual.reduce((sum, one) => sum + one ** 2, 0) / usual.length / 2);
	const own = median(known.map(({ error }) => error));
	const first = known.slice(0, referencePoints).map((point) => point.level);
	const sd = Math.max(scatter, own, state.rule.minSd);
	const between = Math.sqrt(Math.max(0, scatter ** 2 - own ** 2));
	state.noise = { sd, between, level: median(first), error: sd / Math.sqrt(first.length) };
}

interface Step {
	at: number;
	point: Point;
	state: State;
	noise: Noise;
	points: readonly Point[];
}

interface Judged {
	isSuspect: boolean;
	raised?: Shift;
}

function judge(step: Step): Judged | null {
	const { at, point, state, noise } = step;
	if (state.open !== null) return follow(step, state.open);
	const z = (point.level - noise.level) / Math.hypot(noise.sd, noise.error, point.linkError);
	const clipped = Math.min(clip, Math.max(-clip, z));
	state.up = Math.max(0, state.up + clipped - slack);
	state.down = Math.max(0, state.down - clipped - slack);
	state.streak =
		Math.abs(z) < 4
			? 0
			: Math.sign(z) === Math.sign(state.streak)
				? state.streak + Math.sign(z)
				: Math.sign(z);
	const isSuspect = isOff(state, z);
	if (!isSuspect) return null;
	const raised = decide(step, z > 0 || state.up > limit ? "up" : "down");
	if (raised === null) return { isSuspect };
	state.open = raised.direction === "up" ? raised : null;
	if (raised.direction === "down") settle(state, at, [noise.level + raised.size]);
	return { isSuspect, raised };
}

function isOff({ rule, up, down, streak }: State, z: number): boolean {
	const isSingle = rule.confirms ? Math.abs(z) > suspicious : Math.abs(streak) >= persistent;
	return isSingle || up > limit || down > limit;
}

/** Only fresh pairs decide on times. Those that agree with the reference take the suspicion away. */
function decide(step: Step, direction: Shift["direction"]): Shift | null {
	const { at, point, state, noise } = step;
	const { rule } = state;
	const sign = direction === "up" ? 1 : -1;
	if (rule.confirms && point.fresh === undefined) return null;
	const { level, half } = point.fresh ?? { level: point.level, half: 2 * noise.sd };
	const margin = Math.max(rule.minSize, 3 * Math.hypot(noise.between, noise.error), 2 * point.linkError);
	const nearest = sign * (level - noise.level) - half;
	if (nearest <= margin) {
		if (point.fresh !== undefined) reset(state);
		return null;
	}
	const size = level - noise.level;
	const course = { at, noise, points: step.points, first: state.first };
	const starts = likelyStarts(course, size);
	const from = starts.reduce((best, one) => (one.nats > best.nats ? one : best)).place;
	const creep = creepStart(course, size, from);
	reset(state);
	const interval = { size, low: size - half, high: size + half };
	return { direction, from: creep ?? from, isCreep: creep !== null, starts, raised: at, ...interval };
}

function reset(state: State): void {
	state.up = 0;
	state.down = 0;
	state.streak = 0;
	state.well = 0;
}

/** An open alarm ends when the level is back, or is accepted. */
function follow({ at, point, state, noise }: Step, open: Shift): Judged | null {
	// A disturbed night proves nothing.
	const isWell = point.level + point.error - noise.level < Math.max(2 * noise.sd, open.size / 2);
	state.well = isWell ? state.well + 1 : 0;
	if (state.well < wellAgain) return null;
	open.closed = { at, by: "recovered" };
	state.open = null;
	state.first = at;
	reset(state);
	return null;
}

/** A level that is accepted may still move, so only its newest points count. */
const acceptedPoints = 5;

function accept(at: number, { points }: Chain, { state, open }: { state: State; open: Shift }): void {
	open.closed = { at, by: "accepted" };
	state.open = null;
	const newest = points.slice(Math.max(open.from, at - acceptedPoints + 1), at + 1);
	settle(
		state,
		at,
		newest.map(({ level }) => level),
	);
}

/** These levels are the reference until later points give a better one; the noise is kept until then. */
function settle(state: State, at: number, levels: readonly number[]): void {
	const { noise } = state;
	if (noise !== null)
		state.noise = { ...noise, level: median(levels), error: noise.sd / Math.sqrt(levels.length) };
	state.learned = [];
	state.since = at;
	state.first = at;
	reset(state);
}
