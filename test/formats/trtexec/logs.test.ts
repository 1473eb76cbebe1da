// What build logs and performance summaries tell.
import { expect, it } from "vitest";
import { throughputOf } from "../../../src/core/stats/summary.ts";
import { classifyWarning, createBuildLog } from "../../../src/formats/trtexec/build-log.ts";
import { createPerfLog } from "../../../src/formats/trtexec/perf-log.ts";
import { recordedCases, recordedLines, recordedVersions } from "./recorded.ts";

function build(name: string) {
	const reader = createBuildLog();
	for (const line of recordedLines(name)) reader.feed(line);
	return reader.result();
}

function perf(name: string) {
	const reader = createPerfLog();
	for (const line of recordedLines(name)) reader.feed(line);
	return reader.result();
}

it("build logs report times, sizes and memory", () => {
	expect(build("10.6/build-classifier-fp16-warm-cache")).toMatchObject({
		ended: "passed",
		generationSeconds: 0.538059,
		builtSeconds: 0.55622,
		engineMiB: 0.414143,
		precision: "FP32+FP16",
		opset: 17,
		inputs: 1,
		outputs: 1,
		layers: null,
		memory: {
			weightsBytes: 32_768,
			activationBytes: 360_448,
			scratchBytes: 1024,
			hostPersistentBytes: 29_712,
			devicePersistentBytes: 0,
			peakCpuMiB: 0,
			peakGpuMiB: 5,
		},
		warnings: [],
		errorLines: 0,
	});
});

it("build logs report whether the timing cache was filled before", () => {
	expect(build("10.6/build-classifier-fp16-warm-cache").timingCache).toEqual({
		mode: "global",
		loadedBytes: 119_892,
		savedBytes: 119_892,
		entries: 445,
		started: "filled",
		cachedResults: 0,
	});
	expect(build("10.6/build-classifier-fp16-cold-cache").timingCache).toMatchObject({ mode: "global", started: "empty", entries: 445 });
	expect(build("10.6/build-superres-fp32").timingCache).toMatchObject({ mode: "local", started: "unknown", entries: null });
});

it("build logs report layers and cached timings when they are verbose", () => {
	const facts = build("10.6/build-classifier-verbose");
	expect(facts.layers).toBe(9);
	expect(facts.timingCache.cachedResults).toBeGreaterThan(50);
});

it("build logs report warnings by class", () => {
	expect(build("10.6/build-classifier-int8-no-calibration").warnings.map((entry) => [entry.class, entry.count])).toEqual([
		["int8-uncalibrated", 1],
	]);
	expect(build("10.6/build-int64-fp32").warnings.map((entry) => [entry.class, entry.count])).toEqual([["int64-binding", 2]]);
});

it("build logs report a failed build", () => {
	expect(build("10.6/fail-workspace-tiny")).toMatchObject({ ended: "failed", engineMiB: null, builtSeconds: null });
	expect(build("10.6/fail-workspace-tiny").warnings.map((entry) => entry.class)).toContain("tactic-memory");
});

it("build logs have a class for every warning that was recorded", () => {
	for (const version of recordedVersions) {
		for (const name of recordedCases(version)) {
			for (const { level, text } of recordedLines(`${version}/${name}`))
				if (level === "warning") expect(classifyWarning(text), text).not.toBe("other");
		}
	}
});

it("performance summaries report every figure", () => {
	const facts = perf("10.6/perf-classifier-graph");
	expect(facts).toMatchObject({
		iterations: 34_100,
		warmUpIterations: 16_887,
		wallSeconds: 1.00005,
		computeSeconds: 0.953571,
		mode: { cudaGraph: true, spinWait: true, transfers: false, streams: 1 },
		graphCaptured: true,
		unstablePercent: null,
		compute: { minMs: 0.02771, maxMs: 0.0459595, meanMs: 0.027964, medianMs: 0.0279541 },
		h2d: { maxMs: 0 },
	});
	expect([...(facts.compute?.percentilesMs ?? [])]).toEqual([
		[50, 0.0279541],
		[90, 0.0280762],
		[95, 0.0280762],
		[99, 0.0285034],
	]);
	expect(facts.throughput).toBeGreaterThan(30_000);
});

it("performance summaries report the throughput that was measured, which the mean latency does not give", () => {
	const { throughput, compute, iterations, wallSeconds } = perf("10.6/perf-build-and-run");
	expect(throughput).toBeCloseTo(15_247.6, 1);
	expect(throughputOf({ iterations: iterations ?? 0, timedMs: 1000 * (wallSeconds ?? 0) })).toBeCloseTo(15_247.7, 0);
	expect(1000 / (compute?.meanMs ?? 0)).toBeGreaterThan(29_000);
});

it("performance summaries report the mode that trtexec really used, and its own doubt", () => {
	expect(perf("10.6/perf-classifier-defaults")).toMatchObject({
		mode: { cudaGraph: false, spinWait: false, transfers: true },
		graphCaptured: null,
		unstablePercent: 5.99573,
	});
});

it("performance summaries report nothing where no inference ran", () => {
	expect(perf("10.6/build-superres-fp32")).toMatchObject({ throughput: null, compute: null, iterations: null });
});

it("performance summaries read exponents, and take inf for unknown", () => {
	const reader = createPerfLog();
	reader.feed({
		number: 1,
		level: "info",
		text: "[x] [I] GPU Compute Time: min = 1e-05 ms, max = 2 ms, mean = 1.5 ms, median = 1.5 ms, percentile(99%) = 2e-05 ms",
	});
	reader.feed({ number: 2, level: "info", text: "[x] [I] Throughput: inf qps" });
	const facts = reader.result();
	expect(facts.compute).toMatchObject({ minMs: 1e-5 });
	expect(facts.compute?.percentilesMs.get(99)).toBe(2e-5);
	expect(facts.throughput).toBeNull();
});
