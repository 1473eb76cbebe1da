import { expect, test } from "vitest";
import { realisedRates, strong } from "../../../bench/run-model.ts";

const options = { minimalEffect: 0.02, replicates: 2000, seed: 11 };
const rates = (runCv: number, effect: number, more: { replicates?: number; family?: number } = {}) =>
	realisedRates({ runCv, effect }, { ...options, ...more });
const noises = [0.002, 0.005, 0.01, 0.02, 0.03];

test.each(noises)("without a change few jobs call latency or P99 slower at run noise %d", (runCv) => {
	// The long-run bar is 0.5 % at 20 000 replicates; three standard errors of 2000 are added.
	expect(rates(runCv, 0).slowerJobs).toBeLessThanOrEqual(0.01);
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

test.each(noises)(
	"at run noise %d a slowdown of the minimal effect is called unchanged in at most 1 %% of jobs",
	(runCv) => {
		expect(rates(runCv, 0.02).shares.unchanged).toBeLessThanOrEqual(0.013);
	},
);

test("a slowdown of 3 % is found although one run in twenty takes 1.3 times as long", () => {
	const { shares, meanPairs } = realisedRates({ runCv: 0.01, effect: 0.03, disturbance: strong }, options);
	expect(shares.regressed).toBeGreaterThanOrEqual(0.95);
	expect(meanPairs).toBeLessThan(10);
});

test("ten workloads share the error, each with its latency and its P99", () => {
	// The bar is 1 % of the jobs; three standard errors of 300 are added.
	expect(rates(0.03, 0, { family: 10, replicates: 300 }).changedJobs).toBeLessThanOrEqual(0.027);
});
