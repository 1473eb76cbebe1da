// The trend for other programs.
import type { AlarmBudget } from "../../history/core/alarm-budget.ts";
import { type Alarm, type Findings, levelNow } from "../../history/core/alarms.ts";
import { stateOf } from "../../history/core/decisions.ts";
import { answer } from "../../history/core/judge-trend.ts";
import { figureOf, type Series } from "../../history/core/series.ts";

/** Sizes and levels are logarithms of ratios; a level is relative to the normal one. */
export function trendFacts(findings: Findings, series: Series, budget: AlarmBudget) {
	const at = (run: number | undefined) => series.runs[run ?? -1]?.at ?? "";
	const describe = ({ start, raised, cause, evidence, isOpen, shifts }: Alarm) => ({
		...{ start: at(start), raised: at(raised), cause, evidence, isOpen },
		series: shifts.map(({ chain, shift: { size, low, high, raised: place, closed } }) => ({
			...{
				series: chain.series,
				figure: figureOf(chain),
				raised: at(chain.points[place]?.run),
				size,
				low,
				high,
			},
			closed: closed === undefined ? undefined : { at: at(chain.points[closed.at]?.run), by: closed.by },
		})),
	});
	return {
		answer: answer(findings, series),
		budget,
		alarms: findings.alarms.map((alarm) => ({ ...describe(alarm), ...stateOf(alarm, series) })),
		gains: findings.gains.map(describe),
		levels: findings.chains.map((watched) => {
			const { chain } = watched;
			const ends = { begins: at(chain.points[0]?.run), at: at(chain.points.at(-1)?.run) };
			return {
				series: chain.series,
				figure: figureOf(chain),
				...ends,
				changed: chain.changed,
				level: levelNow(watched),
			};
		}),
	};
}
