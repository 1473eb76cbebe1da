import { expect, it } from "vitest";
import type { PerfRun } from "../../../generated/result.ts";
import {
	clockNotes,
	inCycles,
	judgeValidity,
	type RunConditions,
	workloadGpu,
} from "../../../src/core/telemetry/conditions.ts";
import { gpuWindow } from "../../../src/core/telemetry/window.ts";
import recorded from "../../fixtures/nvidia-smi/shares.json" with { type: "json" };
import { buildComparison, buildGpuWindow } from "../../support/build-result.ts";
import { readComparison } from "../../support/gpu-recording.ts";

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

interface Change {
	clock?: number;
	reasons?: string[];
	share?: number;
	capped?: number;
	foreign?: string[];
}

function conditions(of: Change = {}): RunConditions {
	const { clock = 1980, reasons = [], share = 0.64, capped = 0, foreign = [] } = of;
	const smClockMhz = { mean: clock, min: clock, max: clock };
	return {
		window: buildGpuWindow({ smClockMhz, throttleReasons: reasons, powerCapShare: capped }),
		computeShare: share,
		foreignProcesses: foreign.map((name) => ({ pid: 7, name })),
	};
}

const unknown: RunConditions = { window: null, computeShare: null, foreignProcesses: [] };
const usual = (count: number) => Array.from({ length: count }, () => conditions());
const judge = (run: RunConditions, others: RunConditions[]) => judgeValidity(run, [run, ...others]);

const throttled = (reason: string): Change => ({ reasons: ["sw-power-cap", reason] });

it.each<[Change, string | null]>([
	[throttled("hw-slowdown"), "the GPU's clocks were limited by a hardware slowdown"],
	[throttled("hw-power-brake"), "the GPU's clocks were limited by the power brake of the machine"],
	[{ foreign: ["python3", "ffmpeg"] }, "another process used the GPU: python3 (process 7) and 1 more"],
	// The load is the cause of the power cap.
	[{ clock: 1500, capped: 1, reasons: ["sw-power-cap"] }, null],
	[{ share: 0.3 }, "the GPU computed for 30.0 % of the time, in other runs for 64.0 %"],
	[{ share: 0.9 }, null],
])("judgeValidity of a run with %j among usual ones: %s", (change, reason) => {
	const expected = reason === null ? { state: "valid" } : { state: "invalid", reason };
	expect(judge(conditions(change), usual(5))).toEqual(expected);
});

it.each([
	[1919, "invalid"],
	[1921, "valid"],
	[2039, "valid"],
	[2041, "invalid"],
])("judgeValidity judges a clock of %i MHz among 1980 MHz as %s: 3 %% is the limit", (clock, state) => {
	expect(judge(conditions({ clock }), usual(5)).state).toBe(state);
});

it("judgeValidity takes a property of half of the runs for a result", () => {
	const slow = Array.from({ length: 4 }, () => conditions({ clock: 1500, share: 0.3 }));
	for (const run of slow) expect(judgeValidity(run, [...slow, ...usual(4)])).toEqual({ state: "valid" });
});

it("judgeValidity judges nothing that is not known", () => {
	expect(judgeValidity(unknown, [])).toEqual({ state: "valid" });
	expect(judge(unknown, usual(5))).toEqual({ state: "valid" });
	expect(judgeValidity(conditions(), [])).toEqual({ state: "valid" });
});

it.each(["same-model", "slower-head", "wrong-head"])(
	"in the recorded %s every run has samples, ran at 1980 MHz, and counts",
	(name) => {
		const { samples, runs } = readComparison(name);
		expect(runs).toHaveLength(16);
		const all = runs.map(({ fromMs, toMs }): RunConditions => {
			const window = gpuWindow({ samples, use: [], processes: [] }, fromMs, toMs);
			return { ...unknown, window };
		});
		for (const run of all) {
			expect(run.window?.samples).toBeGreaterThanOrEqual(4);
			expect(Math.abs((run.window?.smClockMhz?.mean ?? 0) / 1980 - 1)).toBeLessThan(0.001);
			expect(run.window?.throttleReasons).toEqual([]);
			expect(judgeValidity(run, all)).toEqual({ state: "valid" });
		}
	},
);

it("another recorded process is found by the compute share alone, and accuses no other run", () => {
	const all = recorded.map(({ n, medianMs, wallMs }) => ({
		...unknown,
		computeShare: (n * medianMs) / wallMs,
	}));
	const invalid = recorded.filter((_, at) => judgeValidity(all[at]!, all).state === "invalid");
	const neighbours = recorded.filter(({ arm }) => arm === "neighbour");
	expect(neighbours).toHaveLength(4);
	expect(invalid).toEqual(neighbours);
});
