// Watches one chain: finds creep by a clipped CUSUM and steps by single points, and lets fresh pairs decide.
import { median } from "../stats/quantile.ts";
import type { Chain, Metric, Point, Run } from "./series.ts";

/** A change of level that was decided. */
export interface Shift {
	direction: "up" | "down";
	/** Places among the points: the first that the change may have reached, and the one that decided. */
	from: number;
	raised: number;
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

/** Newer points may be of a change that nobody noticed yet. */
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

interface MetricRules {
	/** Noise that is believed at least. */
	minSd: number;
	/** Smallest change that an alarm is worth. */
	minSize: number;
	/** Pairs can be measured again; other figures hardly scatter, and must only persist. */
	confirms: boolean;
}

const rules: Readonly<Record<Metric, MetricRules>> = {
	latency: { minSd: 2e-4, minSize: 5e-4, confirms: true },
	control: { minSd: 2e-4, minSize: 5e-4, confirms: true },
	memory: { minSd: 2e-3, minSize: 5e-3, confirms: false },
	size: { minSd: 1e-3, minSize: 5e-3, confirms: false },
	// Another choice of kernels moves an error by some percent.
	error: { minSd: 2e-2, minSize: 5e-2, confirms: false },
};

interface Noise {
	level: number;
	sd: number;
	/** Scatter between nights that the pairs do not explain: of machines. */
	between: number;
	/** Points that it was made from. */
	count: number;
}

interface State {
	rule: MetricRules;
	/** Places of the points that tell what is normal; those of an open alarm never do. */
	learned: number[];
	noise: Noise | null;
	/** Set where a level was accepted or improved: from there on it is the reference. */
	anchor: number | null;
	up: Score;
	down: Score;
	open: Shift | null;
	well: number;
	/** Points in a row beyond four times the noise, with their sign. */
	streak: number;
}

interface Score {
	sum: number;
	/** First place since the sum was zero. */
	since: number;
}

export function watch(chain: Chain, runs: readonly Run[]): Watched {
	const state: State = {
		rule: rules[chain.metric],
		...{ learned: [], noise: null, anchor: null, open: null, well: 0, streak: 0 },
		up: { sum: 0, since: 0 },
		down: { sum: 0, since: 0 },
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
	if (state.learned.length >= noisePoints || (state.open !== null && at >= state.open.from)) return;
	state.learned.push(at);
	if (state.learned.length < fewest) return;
	const known = state.learned.flatMap((place) => points[place] ?? []);
	const steps = known.slice(1).map((point, index) => Math.abs(point.level - (known[index]?.level ?? point.level)));
	// Of neighbours, so that creep within the points does not count as noise.
	const scatter = (1.4826 * median(steps)) / Math.SQRT2;
	const own = median(known.map(({ error }) => error));
	const level = state.anchor ?? median(known.slice(0, referencePoints).map((point) => point.level));
	state.noise = {
		level,
		sd: Math.max(scatter, own, state.rule.minSd),
		between: Math.sqrt(Math.max(0, scatter ** 2 - own ** 2)),
		count: known.length,
	};
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
	if (point.accepted !== undefined) return accept(step);
	if (state.open !== null) return follow(step, state.open);
	const z = (point.level - noise.level) / Math.hypot(noise.sd, point.linkError);
	const clipped = Math.min(clip, Math.max(-clip, z));
	advance(state.up, clipped, at);
	advance(state.down, -clipped, at);
	state.streak = Math.abs(z) < 4 ? 0 : Math.sign(z) === Math.sign(state.streak) ? state.streak + Math.sign(z) : Math.sign(z);
	const isSuspect = isOff(state, z);
	if (!isSuspect) return null;
	const raised = decide(step, z > 0 || state.up.sum > limit ? "up" : "down");
	if (raised === null) return { isSuspect };
	state.open = raised.direction === "up" ? raised : null;
	if (raised.direction === "down") settle(state, raised, noise.level + raised.size);
	return { isSuspect, raised };
}

function isOff({ rule, up, down, streak }: State, z: number): boolean {
	const isSingle = rule.confirms ? Math.abs(z) > suspicious : Math.abs(streak) >= persistent;
	return isSingle || up.sum > limit || down.sum > limit;
}

function advance(score: Score, z: number, at: number): void {
	if (score.sum === 0) score.since = at;
	score.sum = Math.max(0, score.sum + z - slack);
}

/** Only fresh pairs decide on times. Those that agree with the reference take the suspicion away. */
function decide({ at, point, state, noise, points }: Step, direction: Shift["direction"]): Shift | null {
	const { rule } = state;
	const sign = direction === "up" ? 1 : -1;
	if (rule.confirms && point.fresh === undefined) return null;
	const plain = { level: point.level, low: point.level - 2 * noise.sd, high: point.level + 2 * noise.sd };
	const { level, low, high } = point.fresh ?? plain;
	const margin = Math.max(rule.minSize, 3 * noise.between, 2 * point.linkError);
	const nearest = sign > 0 ? low - noise.level : noise.level - high;
	if (nearest <= margin) {
		if (point.fresh !== undefined) reset(state);
		return null;
	}
	const size = level - noise.level;
	let from = Math.min(at, (direction === "up" ? state.up : state.down).since);
	// A night that already had half of it may have been too uncertain to decide.
	while (from > 0 && ((points[from - 1]?.level ?? noise.level) - noise.level) / size > 0.5) from -= 1;
	reset(state);
	return { direction, from, raised: at, size, low: low - noise.level, high: high - noise.level };
}

function reset(state: State): void {
	state.up.sum = 0;
	state.down.sum = 0;
	state.streak = 0;
	state.well = 0;
}

/** An open alarm ends when the level is back, or by a commit that accepts it. */
function follow({ at, point, state, noise }: Step, open: Shift): Judged | null {
	const isWell = point.level - noise.level < Math.max(2 * noise.sd, open.size / 2);
	state.well = isWell ? state.well + 1 : 0;
	if (state.well < wellAgain) return null;
	open.closed = { at, by: "recovered" };
	state.open = null;
	reset(state);
	return null;
}

function accept({ at, point, state }: Step): null {
	if (state.open !== null) state.open.closed = { at, by: "accepted" };
	state.open = null;
	settle(state, { from: at }, point.fresh?.level ?? point.level);
	return null;
}

/** From here on this level is the reference; the noise stays. */
function settle(state: State, { from }: Pick<Shift, "from">, level: number): void {
	state.anchor = level;
	if (state.noise !== null) state.noise = { ...state.noise, level };
	state.learned = state.learned.filter((place) => place < from);
	reset(state);
}
