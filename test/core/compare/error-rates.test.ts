// The error rates of the whole verdict path, on the seeded model of the bench with few replicates.
import { expect, test } from "vitest";
import { realisedRates } from "../../../bench/run-model.ts";

const rates = (runCv: number, effect: number, more: { replicates?: number; family?: number } = {}) =>
	realisedRates({ runCv, effect }, { minimalEffect: 0.02, replicates: 2000, seed: 11, ...more });

test.each([0.002, 0.005, 0.01, 0.02, 0.03])("without a change at most 1.2 %% of jobs are called slower at run noise %d", (runCv) => {
	// The long-run bar is 0.8 % at 20 000 replicates; three standard errors of 2000 are added.
	expect(rates(runCv, 0).shares.regressed).toBeLessThanOrEqual(0.012);
});

test.each([
	[0.02, 0.05],
	[0.01, 0.05],
	[0.01, 0.03],
	[0.002, 0.03],
])("at run noise %d a slowdown of %d is found in 97.5 %% of jobs", (runCv, effect) => {
	// The long-run bar is 98 %.
	expect(rates(runCv, effect).shares.regressed).toBeGreaterThanOrEqual(0.975);
});

test.each([0.002, 0.005, 0.01, 0.02, 0.03])(
	"a slowdown of the minimal effect is called unchanged in at most 1 %% of jobs at run noise %d",
	(runCv) => {
		expect(rates(runCv, 0.02).shares.unchanged).toBeLessThanOrEqual(0.013);
	},
);

test("quiet jobs without a change end early", () => {
	const { meanPairs, shares } = rates(0.005, 0);
	expect(meanPairs).toBeLessThanOrEqual(9);
	expect(shares.unchanged).toBeGreaterThan(0.95);
});

test("a family of ten shares the error", () => {
	const { shares } = rates(0.03, 0, { family: 10 });
	expect(shares.regressed + shares.improved).toBeLessThanOrEqual(0.004);
});

test("slower and faster are found alike", () => {
	const [slower, faster] = [rates(0.01, 0.04).shares.regressed, rates(0.01, 1 / 1.04 - 1).shares.improved];
	expect(Math.abs(slower - faster)).toBeLessThan(0.01);
});
