import { expect, it } from "vitest";
import type { PerfRun } from "../../../generated/result.ts";
import { clockNotes, inCycles, workloadGpu } from "../../../src/core/telemetry/summary.ts";
import { buildComparison, buildGpuWindow } from "../../support/build-result.ts";

function run(arm: PerfRun["arm"], clock: number, over: Partial<PerfRun> = {}): PerfRun {
	const gpu = buildGpuWindow({
		smClockMhz: { mean: clock, min: clock, max: clock },
		temperatureC: null,
		memoryUsedBytes: clock,
		throttleReasons: ["sw-power-cap"],
		powerCapShare: 0.5,
	});
	return { arm, pair: 0, order: 0, state: "ok", wallMs: 1, gpu, ...over };
}

const latency = (verdict: "regressed" | "unchanged", estimate: number) =>
	buildComparison({ verdict, estimate });

it("inCycles takes the clock out of a change", () => {
	const [slow, fast] = [{ smClockMhz: 1800 }, { smClockMhz: 1980 }];
	expect(inCycles(fast, slow, 0.1)).toBeCloseTo(0, 12);
	expect(inCycles(fast, fast, 0.0418)).toBeCloseTo(0.0418, 12);
	expect(inCycles(null, fast, 0.1)).toBeNull();
	expect(inCycles({ smClockMhz: null }, fast, 0.1)).toBeNull();
	expect(inCycles(fast, fast, null)).toBeNull();
});

it("workloadGpu averages runs that count, each side apart", () => {
	const counted = [run("base", 1980), run("base", 1960), run("head", 1970)];
	expect(workloadGpu([...counted, run("head", 100, { state: "unusable" })], 0.04)).toMatchObject({
		base: {
			...{ runs: 2, smClockMhz: 1970, temperatureC: null, memoryUsedBytes: 1980 },
			...{ throttleReasons: ["sw-power-cap"], powerCapShare: 0.5 },
		},
		head: { runs: 1, smClockMhz: 1970 },
		cycles: expect.closeTo(0.04, 12),
	});
});

it("workloadGpu keeps to the better source of utilisation", () => {
	const rest = { smUtilisation: 0.4, memoryBandwidth: 0.02, smOccupancy: 0.1, tensorActivity: 0.2 };
	const use = { source: "gpm", ...rest } as const;
	const counted = run("head", 1980, { gpu: buildGpuWindow({ use }) });
	expect(workloadGpu([counted, run("head", 1980)], null)?.head?.use).toEqual(use);
});

const notes = (base: number, head: number, of: ReturnType<typeof latency>) => {
	const gpu = workloadGpu([run("base", base), run("head", head)], of.estimate);
	return gpu === null ? [] : clockNotes(gpu, of);
};

it.each([
	[1980, 1980, latency("regressed", 0.04), /^The GPU clock was the same for base and head: 1980 MHz\.$/],
	[
		1980,
		1800,
		latency("regressed", 0.1),
		/at 1980 MHz for the base and at 1800 MHz for the head; .* only 0\.0 %/,
	],
	[1980, 1960, latency("regressed", 0.2), /^Confirmed in GPU cycles \(\+18\.8 %\): the GPU ran at 1980 MHz/],
	[
		1980,
		1960,
		latency("unchanged", 0.01),
		/^The GPU ran at .* counted in its cycles, the change is 0\.0 %\.$/,
	],
])("clockNotes %i and %i MHz", (...[base, head, of, sentence]) => {
	expect(notes(base, head, of)).toEqual([expect.stringMatching(sentence)]);
});
