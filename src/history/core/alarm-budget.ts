// How many alarms a history raised, and how many its own noise would raise if nothing ever changed.
import { normalSource, uniformSource } from "../../core/stats/random.ts";
import { counted, present } from "../../core/text/labels.ts";
import { twoDigits } from "../../core/text/units.ts";
import type { Cause, Findings, WatchedChain } from "./alarms.ts";
import { causeNames } from "./judge-trend.ts";
import type { Series } from "./series.ts";
import { type Shift, watch } from "./watch.ts";

export interface AlarmBudget {
	days: number;
	raised: Readonly<Record<Cause, number>>;
	falsePerMonth: number | null;
	/** No simulated night raised one: a limit at 95 % confidence. */
	isLimit: boolean;
}

/** The engine or the way of timing changed. */
const hasReason: ReadonlySet<Cause> = new Set(["change", "method"]);
const daysPerMonth = 365.25 / 12;
const longestDays = 365;
/** A chain that ended earlier raises nothing. */
const currentDays = 30;
const leastSpacing = 1 / 24;
/** Of all chains together, which keeps the page at about a second. */
const simulatedNights = 40_000;
/** Of more chains, some stand for all. */
const mostChains = 100;
/** The mean of a Poisson count of zero is below this at 95 %. */
const ruleOfThree = 3;

export function alarmBudget({ alarms, gains, chains }: Findings, { runs }: Series): AlarmBudget {
	const lastDay = ({ chain }: WatchedChain) => runs[chain.points.at(-1)?.run ?? -1]?.day ?? 0;
	const last = chains.reduce((newest, chain) => Math.max(newest, lastDay(chain)), 0);
	const days = Math.max(1, Math.min(longestDays, last - (runs[0]?.day ?? 0)));
	const raised = { change: 0, method: 0, host: 0, noise: 0 };
	for (const alarm of alarms) if ((runs[alarm.raised]?.day ?? 0) >= last - days) raised[alarm.cause] += 1;
	const explained = [...alarms, ...gains].flatMap(({ shifts }) =>
		shifts.filter(({ cause }) => hasReason.has(cause)),
	);
	const all = chains.flatMap((one) => {
		const isCurrent = lastDay(one) >= last - currentDays;
		const shifts = explained.filter(({ chain }) => chain === one.chain).map(({ shift }) => shift);
		return isCurrent ? (nightsOf(one, shifts, runs) ?? []) : [];
	});
	const uniform = uniformSource(0);
	const shuffled = all
		.map((own) => ({ own, place: uniform() }))
		.sort((left, right) => left.place - right.place);
	const chosen = shuffled.slice(0, mostChains).map(({ own }) => own);
	const tried = chosen.map((own, index) => {
		const times = Math.ceil(simulatedNights / chosen.length / own.count);
		return { found: falseAlarms(own, times, index), days: times * own.count * own.spacing };
	});
	const perChain = tried.reduce((sum, { found, days: own }) => sum + found / own, 0) / chosen.length;
	const perDay = all.length * perChain;
	const simulatedDays = tried.reduce((sum, { days: own }) => sum + own, 0);
	const most = (ruleOfThree * all.length) / simulatedDays;
	return {
		...{ days, raised },
		falsePerMonth: all.length === 0 ? null : (perDay > 0 ? perDay : most) * daysPerMonth,
		isLimit: perDay === 0,
	};
}

interface Nights extends Pick<WatchedChain["chain"], "metric" | "unrepeated"> {
	count: number;
	spacing: number;
	/** Scatter that pairs do not explain: fresh pairs of the same night have it too. */
	between: number;
	/** Differences of neighbours, over √2, with the error of their pairs. */
	moves: readonly { size: number; own: number }[];
}

/** @param shifts these nights are no noise. @returns null if there are too few nights, or if none differs. */
function nightsOf({ chain, watched }: WatchedChain, shifts: readonly Shift[], runs: Series["runs"]) {
	const { points, metric, unrepeated, joints } = chain;
	const dayAt = (place: number) => runs[points[place]?.run ?? 0]?.day ?? 0;
	const isShift = (place: number) =>
		shifts.some(({ from, raised, closed }) => {
			const end = closed?.by === "recovered" ? closed.at : -1;
			return (place >= from && place <= raised) || (place >= end - 1 && place <= end);
		});
	const moves = points.flatMap(({ level, error }, place) => {
		const before = points[place - 1];
		if (before === undefined || joints.includes(place) || isShift(place)) return [];
		const own = Math.hypot(error, before.error) / Math.SQRT2;
		return [{ size: (level - before.level) / Math.SQRT2, own }];
	});
	if (watched.noise === null || !moves.some(({ size }) => size !== 0)) return null;
	const spacing = (dayAt(points.length - 1) - dayAt(0)) / (points.length - 1);
	return {
		...{ metric, unrepeated, moves, between: watched.noise.between },
		count: Math.min(points.length, Math.ceil(longestDays / Math.max(spacing, leastSpacing))),
		spacing: Math.max(spacing, leastSpacing),
	};
}

/** Half widths of a 99 % interval in standard errors. */
const intervalErrors = 3;

/** Alarms on nights drawn from a chain's own, in histories as long as it: most are raised while little is known. */
function falseAlarms(
	{ metric, unrepeated = false, count, spacing, between, moves }: Nights,
	times: number,
	seed: number,
) {
	const uniform = uniformSource(seed);
	const normal = normalSource(uniform);
	const runs = Array.from({ length: count }, (_, night) => ({ day: night * spacing }));
	const nightOf = (_: unknown, run: number) => {
		const { size, own } = moves[Math.floor(uniform() * moves.length)] ?? { size: 0, own: 0 };
		const level = uniform() < 0.5 ? size : -size;
		const share = stayingShare(level, { own, between });
		const again = level * share + normal() * own * Math.sqrt(share + 1);
		const fresh = unrepeated ? undefined : { level: again, half: intervalErrors * own };
		const made = { content: "", pin: "" };
		return { run, level, error: own, linkError: 0, baseNs: NaN, headNs: NaN, fresh, made };
	};
	let found = 0;
	for (let time = 0; time < times; time += 1) {
		const points = Array.from({ length: count }, nightOf);
		const { shifts } = watch({ metric, unrepeated, points, decisions: [] }, runs);
		found += shifts.filter(({ direction }) => direction === "up").length;
	}
	return found;
}

/** The part of a night's level that fresh pairs would show again: what its own pairs do not explain. */
function stayingShare(level: number, { own, between }: { own: number; between: number }) {
	const usual = between === 0 ? 0 : between ** 2 / (between ** 2 + own ** 2);
	return level === 0 ? usual : Math.max(usual, 1 - ((intervalErrors * own) / level) ** 2);
}

export function budgetText({ days, raised, falsePerMonth, isLimit }: AlarmBudget): string {
	const causes = Object.entries(raised) as [Cause, number][];
	const count = causes.reduce((sum, [, own]) => sum + own, 0);
	const perMonth = twoDigits((count / days) * daysPerMonth);
	const byCause = present(causes.map(([cause, own]) => own > 0 && `${own} by ${causeNames[cause]}`));
	const each = count === 0 ? "" : ` (${perMonth} a month): ${byCause.join(", ")}`;
	const noise =
		falsePerMonth === null
			? "Too few nights differ to tell how many noise alone would raise"
			: `At these limits, the noise of these series raises ${isLimit ? "fewer than" : "about"} ${twoDigits(falsePerMonth)} a month`;
	return `${counted(count, "alarm")} in ${counted(Math.round(days), "day")}${each}. ${noise}.`;
}
