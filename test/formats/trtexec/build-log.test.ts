// Facts in build logs and performance summaries.
import { expect, it } from "vitest";
import { classifyWarning, createBuildLog, createPerfLog } from "../../../src/formats/trtexec/build-log.ts";
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

it("build logs report precision and memory", () => {
	expect(build("10.6/build-classifier-fp16-warm-cache")).toMatchObject({
		precision: "FP32+FP16",
		memory: { weightsBytes: 32_768, activationBytes: 360_448, scratchBytes: 1024 },
		warnings: [],
	});
});

it("build logs report how many kernel timings the timing cache holds", () => {
	expect(build("10.6/build-classifier-fp16-warm-cache").timingCache).toEqual({
		isLocal: false,
		entries: 445,
	});
	expect(build("10.6/build-classifier-fp16-cold-cache").timingCache).toEqual({
		isLocal: false,
		entries: 445,
	});
	expect(build("10.6/build-superres-fp32").timingCache).toEqual({ isLocal: true, entries: null });
});

it("build logs report warnings by class", () => {
	expect(
		build("10.6/build-classifier-int8-no-calibration").warnings.map((entry) => [entry.class, entry.count]),
	).toEqual([["int8-uncalibrated", 1]]);
	expect(build("10.6/build-int64-fp32").warnings.map((entry) => [entry.class, entry.count])).toEqual([
		["int64-binding", 2],
	]);
});

it("build logs report why memory failed a build", () => {
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

it("performance summaries report iterations, throughput and mode", () => {
	const facts = perf("10.6/perf-classifier-graph");
	expect(facts).toMatchObject({
		iterations: 34_100,
		mode: { cudaGraph: true, spinWait: true, transfers: false },
	});
	expect(facts.throughput).toBeGreaterThan(30_000);
});

it("performance summaries report the throughput that was measured", () => {
	expect(perf("10.6/perf-build-and-run").throughput).toBeCloseTo(15_247.6, 1);
});

it("performance summaries report the mode that trtexec really used", () => {
	expect(perf("10.6/perf-classifier-defaults").mode).toEqual({
		cudaGraph: false,
		spinWait: false,
		transfers: true,
	});
});

it("performance summaries report nothing if no inference ran", () => {
	expect(perf("10.6/build-superres-fp32")).toMatchObject({ throughput: null, iterations: null });
});

it("performance summaries read exponents, and take inf for unknown", () => {
	const reader = createPerfLog();
	reader.feed({ number: 1, level: "info", text: "[x] [I] Throughput: 1.5e+04 qps" });
	expect(reader.result().throughput).toBe(15_000);
	reader.feed({ number: 2, level: "info", text: "[x] [I] Throughput: inf qps" });
	expect(reader.result().throughput).toBe(15_000);
});
