// How soon the history finds creep and steps, how often it is wrong, and what peers' rules on stored milliseconds make of the same nights.
// `node bench/history.ts [FIRST LAST]`: seeds of 200 nights × 12 series.
import { median } from "../src/core/stats/quantile.ts";
import { alarmBudget } from "../src/history/core/alarm-budget.ts";
import { findAlarms } from "../src/history/core/alarms.ts";
import { type Nights, planOf, seriesOf, simulateNights } from "../test/support/history-nights.ts";
import { scoreNights } from "../test/support/history-score.ts";

/** Nights in which a rule on stored milliseconds calls a series slower. */
type Rule = (ms: readonly number[], night: number) => boolean;

const peers: Readonly<Record<string, Rule>> = {
	"previous night +10 %": (ms, night) => (ms[night] ?? 0) > 1.1 * (ms[night - 1] ?? Number.POSITIVE_INFINITY),
	"previous night +2 %": (ms, night) => (ms[night] ?? 0) > 1.02 * (ms[night - 1] ?? Number.POSITIVE_INFINITY),
	"mean of the last 30 + 3 sd": (ms, night) => {
		const last = ms.slice(Math.max(0, night - 30), night);
		const mean = last.reduce((sum, value) => sum + value, 0) / last.length;
		const sd = Math.sqrt(last.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (last.length - 1));
		return last.length >= 10 && (ms[night] ?? 0) > mean + 3 * sd;
	},
	"median of 4 nights +5 %": (ms, night) =>
		night >= 8 && median(ms.slice(night - 3, night + 1)) > 1.05 * median(ms.slice(night - 7, night - 3)),
};

function scorePeer(
	rule: Rule,
	{ records, events, levels }: Nights,
): { found: number; of: number; falseAlarms: number } {
	const score = { found: 0, of: 0, falseAlarms: 0 };
	const count = levels[0]?.length ?? 0;
	for (let index = 0; index < count; index += 1) {
		// What a store of milliseconds holds: the engine's own time on the machine of the night.
		const ms = records.map(({ record }, night) => {
			const row = record.rows.find(
				({ series, kind }) => series === `net-${index}/fp16/b1` && kind === "engine",
			);
			return (row?.base.ns ?? 0) * Math.exp(levels[night]?.[index] ?? 0);
		});
		const real = events.filter(
			({ kind, series }) => (kind === "creep" || kind === "step") && series.includes(index),
		);
		score.of += real.length;
		const alarms = ms.flatMap((_, night) => (night > 0 && rule(ms, night) ? [night] : []));
		const explains = (night: number) =>
			real.find((event) => night >= event.night && night <= event.night + (event.kind === "step" ? 2 : 15));
		score.found += new Set(alarms.flatMap((night) => explains(night) ?? [])).size;
		score.falseAlarms += alarms.filter((night) => explains(night) === undefined).length;
	}
	return score;
}

const [first = 1, last = 2] = process.argv.slice(2).map(Number);
const totals = new Map<string, { found: number; of: number; falseAlarms: number }>();
let seriesYears = 0;
const expected = { alarms: 0, limits: 0 };
const add = (
	name: string,
	{ found, of, falseAlarms }: { found: number; of: number; falseAlarms: number },
): void => {
	const sum = totals.get(name) ?? { found: 0, of: 0, falseAlarms: 0 };
	totals.set(name, { found: sum.found + found, of: sum.of + of, falseAlarms: sum.falseAlarms + falseAlarms });
};
for (let seed = first; seed <= last; seed += 1) {
	const nights = simulateNights(planOf(seed));
	const score = scoreNights(nights);
	seriesYears += score.seriesYears;
	const series = seriesOf(nights.records);
	const budget = alarmBudget(findAlarms(series), series);
	expected[budget.isLimit ? "limits" : "alarms"] +=
		((budget.falsePerMonth ?? 0) * 12 * nights.records.length) / 365.25;
	const { creep, step } = score.delays;
	const found =
		creep.filter((delay) => (delay ?? 99) <= 15).length + step.filter((delay) => (delay ?? 99) <= 2).length;
	add("trtgate", { found, of: creep.length + step.length, falseAlarms: score.falseAlarms });
	for (const [name, rule] of Object.entries(peers)) add(`${name}, stored ms`, scorePeer(rule, nights));
	process.stdout.write(
		`seed ${seed}: delays ${JSON.stringify(score.delays)}, cause right ${score.right} of ${score.explained}, machines blamed on a change ${score.blamed}, level error ${(score.levelError * 100).toFixed(2)} %\n`,
	);
}
process.stdout.write(
	`\nrule | found in time | false alarms in ${seriesYears.toFixed(0)} series-years\n---|---|---\n`,
);
for (const [name, { found, of, falseAlarms }] of totals)
	process.stdout.write(`${name} | ${found} of ${of} | ${falseAlarms}\n`);
process.stdout.write(
	`\nfalse alarms in this time as the trend pages expect them: ${expected.alarms.toFixed(1)}, and where none was simulated, fewer than ${expected.limits.toFixed(1)}\n`,
);
