import { expect, it } from "vitest";
import { alarmBudget, budgetText } from "../../../src/history/core/alarm-budget.ts";
import { findAlarms } from "../../../src/history/core/alarms.ts";
import { readSeries } from "../../../src/history/core/series.ts";
import { buildFacts, buildRatio, buildRecord, buildRow, short } from "../../support/history-records.ts";
import { randomFrom } from "../../support/random.ts";

/** Nights of four series: errors of one pair, scatter from night to night, and the night of a step. */
function budgetOf({
	pairSd,
	between,
	outliers = 0,
	stepAt = 999,
}: Record<string, number> & { pairSd: number; between: number }) {
	const random = randomFrom(11);
	const records = Array.from({ length: 120 }, (_, night) => {
		const rows = ["a", "b", "c", "d"].map((name) => {
			const stays = between * random.normal() * (random.uniform() < outliers ? 12 : 1);
			const ppm = (stays + (night >= stepAt ? 0.02 : 0)) * 1e6;
			const measured = Math.round(ppm + (pairSd * 1e6 * random.normal()) / Math.sqrt(8));
			return buildRow({
				series: `${name}/fp16/b1`,
				ratio: buildRatio(measured, { sdPpm: Math.round(pairSd * 1e6), pairs: 8 }),
				fresh: buildRatio(Math.round(ppm), { halfPpm: 500 }),
				head: buildFacts(night >= stepAt ? { model: short("wider") } : {}),
			});
		});
		return buildRecord(night, { rows });
	});
	const series = readSeries(records);
	return alarmBudget(findAlarms(series), series);
}

it("the budget of quiet series is a limit, below one alarm in a year", () => {
	const budget = budgetOf({ pairSd: 1e-3, between: 2e-4 });
	expect(budget).toMatchObject({ isLimit: true, raised: { change: 0, noise: 0 } });
	expect(budget.falsePerMonth).toBeGreaterThan(0);
	expect(budget.falsePerMonth).toBeLessThan(1 / 12);
	expect(budgetText(budget)).toMatch(
		/^0 alarms in 119 days\. At these limits, the noise of these series raises fewer than 0\.\d+ a month\.$/,
	);
});

it("the budget counts nights that stay off when they are measured again, and a step of the engine is no noise", () => {
	const disturbed = budgetOf({ pairSd: 1e-3, between: 2e-4, outliers: 0.05 });
	expect(disturbed.isLimit).toBe(false);
	expect(disturbed.falsePerMonth).toBeGreaterThan(0.5);
	const stepped = budgetOf({ pairSd: 1e-3, between: 2e-4, stepAt: 60 });
	expect(stepped).toMatchObject({ isLimit: true, raised: { change: 1, noise: 0 } });
	expect(budgetText(stepped)).toMatch(/^1 alarm in 119 days \(0\.26 a month\): 1 by the change\./);
});

it("the budget of series with disturbed nights agrees with the alarms that they raised", () => {
	const random = randomFrom(3);
	const records = Array.from({ length: 240 }, (_, night) => {
		const rows = Array.from({ length: 20 }, (__, index) => {
			const stays = 200 * random.normal() * (random.uniform() < 0.05 ? 12 : 1);
			const measured = () => Math.round(stays + 354 * random.normal());
			return buildRow({
				series: `net-${index}/fp16/b1`,
				ratio: buildRatio(measured(), { sdPpm: 1000, pairs: 8 }),
				fresh: buildRatio(measured(), { halfPpm: 1043 }),
			});
		});
		return buildRecord(night, { rows });
	});
	const series = readSeries(records);
	const { days, raised, falsePerMonth } = alarmBudget(findAlarms(series), series);
	const perMonth = (raised.noise / days) * 30.44;
	expect(raised.noise).toBeGreaterThan(12);
	expect(falsePerMonth).toBeGreaterThan(perMonth / 2.5);
	expect(falsePerMonth).toBeLessThan(perMonth * 2.5);
});
