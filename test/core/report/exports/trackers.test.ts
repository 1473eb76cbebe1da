// The figures that other programs keep: only the head's, only what was measured.
import { expect, it } from "vitest";
import { headFigures, renderBencher, renderBenchmark } from "../../../../src/core/report/exports/trackers.ts";
import {
	buildBuild,
	buildCheck,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildStats,
	buildWorkload,
} from "../../../support/build-result.ts";
import { resultCases } from "../../../support/result-cases.ts";

it("headFigures are the head's, with the lowest and highest of its runs", () => {
	const [latency] = headFigures(buildResult({ workloads: [buildSlowWorkload()] }));
	expect(latency).toEqual({
		subject: "classifier · fp16 · batch 8",
		measure: "latency",
		title: "median latency",
		unit: "ms",
		value: 0.02902,
		spread: [0.02902, 0.02914],
		extra: "8 runs, 3200 iterations on NVIDIA H200",
	});
});

it("headFigures leave out figures that were not measured, not built or not finite", () => {
	const result = buildResult({
		workloads: [
			buildWorkload({ head: null }),
			buildWorkload({ head: buildStats(0.1, { peakMemoryBytes: null, p99Ms: Number.NaN }), runs: [] }),
		],
		builds: [buildBuild({ state: "refused" }), buildBuild({ arm: "base" })],
		golden: [
			buildGolden({
				checks: [buildCheck({ got: "NaN" }), buildCheck({ metric: "cosine", bound: "at-least" })],
			}),
		],
	});
	expect(headFigures(result).map(({ measure }) => measure)).toEqual(["latency", "throughput"]);
});

it("headFigures name the worst golden case of each engine and metric", () => {
	const golden = [0.001, 0.004, 0.002].map((got, index) =>
		buildGolden({ case: `case${index}`, checks: [buildCheck({ got })] }),
	);
	const figures = headFigures(buildResult({ golden, workloads: [], builds: [] }));
	expect(figures).toMatchObject([
		{ measure: "golden-relative-l2", value: 0.004, extra: "worst case: case1, output hidden" },
	]);
});

it("headFigures name the part of a merged result that each comes from, and its machine", () => {
	const backend = { kind: "tensorrt", name: "TensorRT", version: "10.13", device: "NVIDIA L4" } as const;
	const figures = headFigures(
		buildResult({
			parts: [{ name: "l4", state: "merged", backend }],
			workloads: [buildSlowWorkload({ part: "l4" })],
			builds: [],
			golden: ["l4", "h200"].map((part) => buildGolden({ part, checks: [buildCheck({ got: 0.001 })] })),
		}),
	);
	expect(figures[0]).toMatchObject({
		subject: expect.stringMatching(/\(l4\)$/),
		extra: expect.stringContaining("on NVIDIA L4"),
	});
	const goldens = figures.filter(({ measure }) => measure === "golden-relative-l2");
	expect(goldens.map(({ subject }) => /\((\w+)\)$/.exec(subject)?.[1])).toEqual(["l4", "h200"]);
});

it("headFigures say on a CPU, in every name about speed, that it was not TensorRT", () => {
	const figures = headFigures(resultCases["on-cpu"] ?? buildResult());
	const speeds = figures.filter(({ unit }) => unit === "ms" || unit === "s");
	expect(speeds.length).toBeGreaterThan(0);
	for (const { subject } of speeds) expect(subject).toContain("CPU, not TensorRT");
});

it("renderBencher gives latency in Bencher's nanoseconds and sizes in bytes", () => {
	const builds = [buildBuild({ model: "classifier" })];
	const metrics = JSON.parse(renderBencher(buildResult({ workloads: [buildSlowWorkload()], builds })));
	expect(metrics["classifier · fp16 · batch 8"].latency.value).toBeCloseTo(29_020, 6);
	expect(metrics["classifier · fp16 · batch 8"]["peak-memory"].value).toBe(742 * 1024 * 1024);
	expect(metrics["classifier · fp16"]).toMatchObject({
		"build-time": { value: 19.2 },
		"file-size": { value: 516_000 },
	});
});

it("renderBenchmark holds only figures of which less is better", () => {
	const entries: { name: string; unit: string }[] = JSON.parse(
		renderBenchmark(buildResult({ workloads: [buildSlowWorkload()] })),
	);
	expect(entries.map(({ name, unit }) => `${name} [${unit}]`)).toEqual([
		"classifier · fp16 · batch 8 · median latency [ms]",
		"classifier · fp16 · batch 8 · P99 latency [ms]",
		"classifier · fp16 · batch 8 · peak memory [bytes]",
		"encoder · fp16 · build time [s]",
		"encoder · fp16 · engine size [bytes]",
		"encoder · fp16 · golden relative-l2 [error]",
	]);
});
