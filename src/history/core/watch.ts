// Watches one chain: a clipped CUSUM finds creep, single points find steps, fresh pairs decide.
import { median } from "../../core/stats/quantile.ts";
import type { Point, Run } from "./points.ts";
import type { Chain, Metric } from "./series.ts";

export interface Shift {
	direction: "up" | "down";
	from: number;
	raised: number;
	starts: readonly { place: number; nats: number }[];
	isCreep: boolean;
	size: number;
	low: number;
	high: number;
	closed?: { at: number; by: "accepted" | "recovered" };
}

export interface Watched {
	shifts: Shift[];
	suspects: number[];
	references: { from: number; level: number; sd: number }[];
	/** The newest; null if too few points are known. */
	noise: Pick<Noise, "sd" | "between"> | null;
}

interface MetricRules {
	minSd: number;
	minSize: number;
	/** Only fresh pairs decide; other figures must persist instead. */
	confirms: boolean;
}

const rules: Readonly<Record<Metric, MetricRules>> = {
	latency: { minSd: 2e-4, minSize: 5e-4, confirms: true },
	memory: { minSd: 2e-3, minSize: 5e-3, confirms: false },
	size: { minSd: 1e-3, minSize: 5e-3, confirms: false },
	// Another choice of kernels moves an error by some percent.
	error: { minSd: 2e-2, minSize: 5e-2, confirms: false },
};

/** These may include a change that is not noticed yet. */
const embargoDays = 7;
/** Points before a chain is watched, and points of its reference. */
const fewest = 10;
const referencePoints = 20;
const noisePoints = 60;
const slack = 1;
const limit = 6;
const clip = 3;
/** A single point this far off is measured again at once. */
const suspicious = 2.5;
const wellAgain = 2;
/** Without fresh pairs, points in a row beyond four times the noise. */
const persistent = 2;
/** An accepted level may still move, so only its newest points count. */
const acceptedPoints = 5;

interface Noise {
	level: number;
	sd: number;
	/** Scatter between nights that pairs do not explain. */
	between: number;
	error: number;
}

interface State {
	rule: MetricRules;
	points: readonly Point[];
	learned: number[];
	noise: Noise | null;
	since: number;
	first: number;
	up: number;
	down: number;
	open: Shift | null;
	well: number;
	/** Points in a row beyond four times the noise, with their sign. */
	streak: number;
}

export function watch(
	{ metric, points, decisions, unrepeated }: Pick<Chain, "metric" | "points" | "decisions" | "unrepeated">,
	runs: readonly Pick<Run, "day">[],
): Watched {
	const accepted = new Set(decisions.filter(({ kind }) => kind === "accepted").map(({ place }) => place));
	const state: State = {
		rule: { ...rules[metric], ...(unrepeated && { confirms: false }) },
		points,
		learned: [],
		noise: null,
		since: 0,
		first: 0,
		up: 0,
		down: 0,
		open: null,
		well: 0,
		streak: 0,
	};
	const found: Watched = { shifts: [], suspects: [], references: [], noise: null };
	const dayAt = (at: number) => runs[points[at]?.run ?? 0]?.day ?? 0;
	let waiting = 0;
	for (const [at, point] of points.entries()) {
		while (waiting < at && dayAt(waiting) <= dayAt(at) - embargoDays) learn(waiting++, state);
		if (state.noise === null) continue;
		if (state.open !== null) follow(at, point, state, state.noise);
		else judge(at, point, state, found);
		if (state.open !== null && accepted.has(at)) {
			state.open.closed = { at, by: "accepted" };
			const newest = points.slice(Math.max(state.open.from, at - acceptedPoints + 1), at + 1);
			state.open = null;
			settle(state, at, newest);
		}
		const { level, sd } = state.noise;
		found.noise = state.noise;
		const { references } = found;
		if (references.at(-1)?.level !== level)
			references.push({ from: references.length === 0 ? 0 : at, level, sd });
	}
	return found;
}

/** A moving baseline would absorb creep. */
function learn(at: number, state: State) {
	const { learned, open, points, rule } = state;
	if (learned.length >= noisePoints || at < state.since || (open !== null && at >= open.from)) return;
	learned.push(at);
	if (learned.length < fewest) return;
	const known = learned.flatMap((place) => points[place] ?? []);
	const steps = known
		.slice(1)
		.map((point, index) => Math.abs(point.level - (known[index]?.level ?? point.level)));
	// Steps between neighbours, so that creep does not count as noise.
	const most = 3 * 1.4826 * median(steps);
	const usual = steps.filter((one) => one <= most);
	const scatter = Math.sqrt(usual.reduce((sum, one) => sum + one ** 2, 0) / usual.length / 2);
	const own = median(known.map(({ error }) => error));
	const first = known.slice(0, referencePoints).map(({ level }) => level);
	const sd = Math.max(scatter, own, rule.minSd);
	const between = Math.sqrt(Math.max(0, scatter ** 2 - own ** 2));
	state.noise = { sd, between, level: median(first), error: sd / Math.sqrt(first.length) };
}

function judge(at: number, point: Point, state: State, found: Watched) {
	const { noise, rule } = state;
	if (noise === null) return;
	const z = (point.level - noise.level) / Math.hypot(noise.sd, noise.error, point.linkError);
	const clipped = Math.min(clip, Math.max(-clip, z));
	state.up = Math.max(0, state.up + clipped - slack);
	state.down = Math.max(0, state.down - clipped - slack);
	if (Math.abs(z) < 4) state.streak = 0;
	else state.streak = Math.sign(z) + (Math.sign(z) === Math.sign(state.streak) ? state.streak : 0);
	const isOff = rule.confirms ? Math.abs(z) > suspicious : Math.abs(state.streak) >= persistent;
	if (!isOff && state.up <= limit && state.down <= limit) return;
	found.suspects.push(at);
	const raised = decide(at, state, noise, z > 0 || state.up > limit ? "up" : "down");
	if (raised === null) return;
	found.shifts.push(raised);
	if (raised.direction === "up") state.open = raised;
	else settle(state, at, [{ level: noise.level + raised.size }]);
}

/** Fresh pairs that agree with the reference end the suspicion. */
function decide(at: number, state: State, noise: Noise, direction: Shift["direction"]) {
	const { rule, points, first } = state;
	const { level: once = noise.level, linkError = 0, fresh } = points[at] ?? {};
	if (rule.confirms && fresh === undefined) return null;
	const { level, half } = fresh ?? { level: once, half: 2 * noise.sd };
	const margin = Math.max(rule.minSize, 3 * Math.hypot(noise.between, noise.error), 2 * linkError);
	const size = level - noise.level;
	if ((direction === "up" ? size : -size) - half <= margin) {
		if (fresh !== undefined) reset(state);
		return null;
	}
	const course = { at, noise, points, first };
	const starts = likelyStarts(course, size);
	const from = starts.reduce((best, one) => (one.nats > best.nats ? one : best)).place;
	const creep = creepStart(course, size, from);
	reset(state);
	const interval = { size, low: size - half, high: size + half };
	return { direction, from: creep ?? from, isCreep: creep !== null, starts, raised: at, ...interval };
}

function reset(state: State) {
	state.up = 0;
	state.down = 0;
	state.streak = 0;
	state.well = 0;
}

function follow(at: number, { level, error }: Point, state: State, noise: Noise) {
	const { open } = state;
	// A disturbed night proves nothing.
	const isWell = open !== null && level + error - noise.level < Math.max(2 * noise.sd, open.size / 2);
	state.well = isWell ? state.well + 1 : 0;
	if (open === null || state.well < wellAgain) return;
	open.closed = { at, by: "recovered" };
	state.open = null;
	state.first = at;
	reset(state);
}

/** These levels are the reference until there are enough later points. */
function settle(state: State, at: number, points: readonly Pick<Point, "level">[]) {
	const { noise } = state;
	const level = median(points.map((point) => point.level));
	if (noise !== null) state.noise = { ...noise, level, error: noise.sd / Math.sqrt(points.length) };
	state.learned = [];
	state.since = at;
	state.first = at;
	reset(state);
}

interface Course {
	at: number;
	first: number;
	noise: { level: number; sd: number };
	points: readonly Point[];
}

const unlikelyNats = 30;

/** Log-likelihoods, up to a constant, of a step of this size at each place. No night outweighs another. */
function likelyStarts({ at, first, noise, points }: Course, size: number) {
	const found: { place: number; nats: number }[] = [];
	let nats = 0;
	let most = -Infinity;
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

/** Where an evenly growing level left its reference; null if a step explains it about as well. */
function creepStart({ at, first: earliest, noise, points }: Course, size: number, from: number) {
	const first = Math.max(earliest, at - longestCreep);
	const shares = points
		.slice(first, at + 1)
		.map((point) => (({ ...point, ...point.fresh }).level - noise.level) / size);
	const last = shares.length - 1;
	const misfit = (expected: (index: number) => number) =>
		shares.reduce((sum, share, index) => sum + (share - expected(index)) ** 2, 0);
	let best = { begin: 0, misfit: Infinity };
	for (let begin = 0; begin < shares.length - creepNights; begin += 1) {
		const own = misfit((index) => Math.max(0, index - begin) / (last - begin));
		if (own < best.misfit) best = { begin, misfit: own };
	}
	const gain = misfit((index) => (first + index >= from ? 1 : 0)) - best.misfit;
	return (gain / 2) * (size / noise.sd) ** 2 < creepNats ? null : first + best.begin + 1;
}
