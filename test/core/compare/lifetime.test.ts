import { describe, expect, it } from "vitest";
import {
	growthState,
	growthText,
	judgeGrowth,
	judgeStarts,
	steadyAfter,
	summarizeStarts,
} from "../../../src/core/compare/lifetime.ts";

const MiB = 2 ** 20;
const limit = MiB;
type Curve = (step: number) => number;
const noise: Curve = (step) => 200_000 * Math.sin(step * 12.9898) ** 3;
/** As the driver hands memory out. */
const granted =
	(of: Curve): Curve =>
	(step) =>
		Math.ceil(of(step) / (2 * MiB)) * 2 * MiB;

function soaked(curves: { reserved?: Curve; resident?: Curve; used?: Curve }, count = 120, steps = 34) {
	const flat: Curve = () => 100 * MiB;
	const { reserved = flat, resident = flat, used } = curves;
	const samples = Array.from({ length: count }, (_, at) => {
		const step = (at + 1) * steps;
		const seen = [reserved(step), resident(step)] as const;
		return used === undefined ? seen : ([...seen, used(step), 7] as const);
	});
	const phase = judgeGrowth({ phase: "shape-changes", shapes: 3, steps, samples }, limit);
	return { phase, grows: phase?.figures.filter(({ grows }) => grows).map(({ figure }) => figure) };
}

const leak =
	(bytes: number): Curve =>
	(step) =>
		100 * MiB + bytes * step;
const jumps =
	(...at: readonly number[]): Curve =>
	(step) =>
		(100 + 2 * at.filter((one) => one < step).length) * MiB;

describe("growth", () => {
	it.each<[name: string, curves: Parameters<typeof soaked>[0], grows: string[]]>([
		["nothing moves", { used: () => 5 * MiB }, []],
		["memory is freed", { reserved: (step) => 900 * MiB - 1000 * step }, []],
		["kernels are loaded late, once", { reserved: jumps(700) }, []],
		["kernels are loaded late, twice", { reserved: jumps(1400, 2800) }, []],
		["kernels are loaded late, often at first", { reserved: jumps(50, 90, 200, 300) }, []],
		["host memory moves to and fro", { resident: (step) => 300 * MiB + noise(step) }, []],
		["host memory creeps", { resident: (step) => 300 * MiB + noise(step) + 200 * step }, []],
		["64 KiB are lost each step", { reserved: granted(leak(65_536)) }, ["reserved"]],
		["4 KiB are lost each step", { reserved: granted(leak(4096)) }, ["reserved"]],
		["64 KiB of the host are lost", { resident: (step) => leak(65_536)(step) + noise(step) }, ["resident"]],
		["TensorRT keeps 2 KiB each step", { used: leak(2048) }, ["used"]],
		["TensorRT keeps less than the limit", { used: leak(1000) }, []],
	])("%s", (_, curves, grows) => {
		expect(soaked(curves).grows).toEqual(grows);
	});

	it("has the slope per 1,000 steps, the last sample's blocks, and the peak", () => {
		const { phase } = soaked({ reserved: jumps(900), used: leak(2048) }, 121);
		expect(phase).toMatchObject({ steps: 121 * 34, peakBytes: 102 * MiB, liveBlocks: 7 });
		expect(phase!.usedBytes).toBe(leak(2048)(121 * 34));
		const used = phase!.figures[2]!;
		expect(used.slope).toBeCloseTo(2_048_000, 3);
		for (const bound of used.interval) expect(bound).toBeCloseTo(2_048_000, 3);
	});

	it("is unknown from fewer than twelve samples", () => {
		expect(soaked({}, 11).phase).toBeNull();
		expect(growthState([])).toBe("unknown");
		expect(growthText([], limit)).toBe("Too few runs fit into the time.");
	});

	it("is told with its interval and limit", () => {
		const [grown, flat] = [soaked({ reserved: granted(leak(65_536)) }).phase!, soaked({}).phase!];
		expect(growthState([flat, grown])).toBe("grows");
		expect(growthText([flat, grown], limit)).toMatch(
			/^1,000 changes of shape: GPU memory grows by 6\d\.\d MiB \(99 % interval 6\d\.\d MiB to 6\d\.\d MiB\); allowed 1\.00 MiB\.$/,
		);
		expect(growthText([flat], limit)).toBe("No growth in 4,080 changes of shape; allowed 1.00 MiB.");
	});
});

describe("starts", () => {
	it.each<[runs: number[], after: number]>([
		[[1, 1, 1, 1, 1, 1], 0],
		[[9, 3, 1, 1, 1, 1, 1, 1], 2],
		[[9, 1, 3, 1, 1, 1, 1, 1], 3],
		[[1.05, 1.09, 1, 1, 1, 1], 0],
		[[4], 0],
	])("runs of %j are steady after %i", (runs, after) => {
		expect(steadyAfter(runs)).toBe(after);
	});

	it("are summarized by medians, cold ones apart", () => {
		const start = (read: number, cold = false) => ({ parts: { read, first: 10 }, runs: [1, 1, 1], cold });
		expect(summarizeStarts([start(1), start(5), start(2), start(70, true)])).toEqual({
			processes: 3,
			parts: { read: 2, first: 10 },
			totalMs: 12,
			coldMs: 80,
			steadyAfter: 1,
		});
		expect(summarizeStarts([start(1)])).toMatchObject({ coldMs: null });
		expect(summarizeStarts([])).toBeNull();
	});

	it.each<[name: string, base: number, more: number, verdict: string]>([
		["50 ms more", 30, 50, "regressed"],
		["12 ms more, which 20 ms allow", 30, 12, "unchanged"],
		["12 % of a second", 1000, 120, "regressed"],
		["2 % of a second, which 10 % allow", 1000, 20, "unchanged"],
	])("are judged by 10 %% or 20 ms, whichever is more: %s", (_, base, more, verdict) => {
		const scatter = [0, 0.02, -0.03, 0.01, -0.01];
		const started = (ms: number) =>
			scatter.map((share) => ({ parts: { first: ms * (1 + share) }, runs: [], cold: false }));
		const starts = { base: started(base), head: started(base + more).reverse() };
		expect(judgeStarts(starts, { minimalEffect: 0.1, looks: [5] })).toMatchObject({ verdict, pairs: 5 });
	});
});
