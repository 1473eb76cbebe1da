// Drift, steps, throttling and steadiness of long loads: one recorded on an H200, others made up of known parts.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { seededRandom } from "../../../bench/run-model.ts";
import type { GpuWindow, SoakProcess } from "../../../generated/result.ts";
import {
	analyseSoak,
	isSteady,
	type SoakPoint,
	soakPoints,
	soakSlice,
	soakText,
} from "../../../src/core/soak/analyse.ts";

const none = { processes: [], slices: [] };

/** 90 s of a recognition net, four streams: iterations and median of each second, as trtexec's 32-bit times have them. */
const recorded: SoakPoint[] = Object.entries(
	JSON.parse(readFileSync(new URL("../../fixtures/soak/rec-fp16.json", import.meta.url), "utf8")) as Record<
		string,
		[number, number]
	>,
)
	.filter(([, [iterations]]) => iterations > 1000)
	.map(([second, [, ms]]) => ({ atS: Number(second), ms, p99Ms: ms * 1.02 }));

/** Points with 0.1 % of noise at levels that begin at these seconds. */
function levels(seconds: number, from: Readonly<Record<number, number>>, seed = 3): SoakPoint[] {
	const random = seededRandom(seed);
	let level = 1;
	return Array.from({ length: seconds }, (_, atS) => {
		level = from[atS] ?? level;
		return { atS, ms: level * Math.exp(0.001 * random.normal()), p99Ms: level * 1.1 };
	});
}

it("analyseSoak finds the recorded step of a net on an H200, and the drift that runs of three seconds do not show", () => {
	const found = analyseSoak(recorded, none);
	expect(found?.steps).toEqual([{ atS: 13, change: expect.closeTo(0.007, 2.5) }]);
	expect(found?.drift).toBeGreaterThan(0.005);
	expect(found?.drift).toBeLessThan(0.012);
	expect(found?.seconds).toBe(90);
});

it.each([
	["nothing in a steady load", {}, []],
	[
		"a slowdown by throttling, and the recovery",
		{ 200: 1.12, 400: 1 },
		[
			[200, 0.12],
			[400, 1 / 1.12 - 1],
		],
	],
	["a small step", { 150: 1.006 }, [[150, 0.006]]],
	["nothing in a step below what processes differ by", { 150: 1.002 }, []],
	["nothing in single slow seconds", { 100: 1.3, 101: 1, 250: 1.2, 252: 1 }, []],
] as const)("analyseSoak finds %s", (_, from, steps) => {
	const found = analyseSoak(levels(600, from), none);
	expect(found?.steps).toHaveLength(steps.length);
	for (const [index, [atS, change]] of steps.entries()) {
		expect(Math.abs((found?.steps[index]?.atS ?? 0) - atS)).toBeLessThanOrEqual(2);
		expect(found?.steps[index]?.change).toBeCloseTo(change, 2);
	}
});

it("analyseSoak compares the last third with the seconds of the gate's runs, and says nothing of too short a load", () => {
	const found = analyseSoak(levels(300, { 0: 1.5, 1: 1, 120: 1.03 }), none);
	expect([found?.coldMs, found?.drift]).toEqual([expect.closeTo(1.5, 1), expect.closeTo(0.03, 2)]);
	expect(analyseSoak(levels(1, {}), none)).toBeNull();
});

const process = (ms: number, temperatureC?: number): SoakProcess => ({
	atS: 0,
	ms,
	p99Ms: ms,
	...(temperatureC === undefined ? {} : { temperatureC }),
});

it.each([
	["three processes agree", [process(1.02), process(1), process(1.001), process(1)], true],
	["two are too few", [process(1), process(1)], false],
	["a level still moves", [process(1), process(1.002), process(1.004)], false],
	["the GPU still warms up", [process(1, 60), process(1, 64), process(1, 67)], false],
	["level and temperature stay", [process(1, 66), process(1, 66.4), process(1, 66.9)], true],
] as const)("isSteady where %s: %#", (_, processes, steady) => {
	expect(isSteady(processes)).toBe(steady);
});

it("soakPoints puts each iteration where its time is, and sees through the grid of 32-bit times", () => {
	const random = seededRandom(8);
	const samples = Float64Array.from(
		{ length: 8000 },
		() => Math.round((1.003 + 0.004 * (random.uniform() - 0.5)) / 0.004) * 0.004,
	);
	const points = soakPoints(samples, { fromS: 60, timedMs: 8024, everyS: 1 });
	expect(points.map(({ atS }) => atS)).toEqual([60, 61, 62, 63, 64, 65, 66, 67]);
	for (const { ms, p99Ms } of points) {
		expect(Math.abs(ms - 1.003)).toBeLessThan(0.0015);
		expect(p99Ms).toBeGreaterThanOrEqual(1.004);
	}
});

it("a soak says how much, from when, and for how long the GPU was throttled", () => {
	const window = (throttleReasons: string[]): GpuWindow => ({
		...{
			samples: 10,
			memoryClockMhz: null,
			powerW: null,
			memoryUsedBytes: null,
			use: null,
			powerCapShare: 1,
			throttleReasons,
		},
		...{ smClockMhz: { mean: 1700, min: 1600, max: 1980 }, temperatureC: { mean: 84, min: 80, max: 88 } },
	});
	const slices = [
		soakSlice(0, window([])),
		soakSlice(10, window(["sw-power-cap"])),
		soakSlice(20, window(["hw-thermal"])),
		soakSlice(30, window([])),
	];
	const figures = analyseSoak(levels(300, { 120: 1.05 }), { processes: [process(1), process(1.05)], slices });
	if (figures === null) throw new Error("no figures");
	expect(figures.throttledShare).toBe(0.25);
	expect(soakText({ ...figures, state: "time-up" })).toMatch(
		/^After 5 min 00 s of load [45]\.\d % slower than fresh \(1\.\S+ ms → 1\.05\S* ms\), not steady when time ran out; \+5\.\d % at 2 min 0\d s; P99 .+; throttled for 25\.0 % of the time\.$/,
	);
});
