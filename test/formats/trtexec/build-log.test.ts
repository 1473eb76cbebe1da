import { expect, it } from "vitest";
import {
	classifyWarning,
	createBuildLog,
	createBuildProgress,
	createPerfLog,
	createSparsityLog,
} from "../../../src/formats/trtexec/build-log.ts";
import { recordedLines, recordedRuns } from "./recorded.ts";

function read<Facts>(reader: ReturnType<typeof createPerfLog | typeof createBuildLog>, name: string) {
	for (const line of recordedLines(`10.6/${name}`)) reader.feed(line);
	return reader.result() as Facts;
}

const build = (name: string) =>
	read<ReturnType<ReturnType<typeof createBuildLog>["result"]>>(createBuildLog(), name);
const perf = (name: string) =>
	read<ReturnType<ReturnType<typeof createPerfLog>["result"]>>(createPerfLog(), name);

it("build logs report precision, memory, and how many kernel timings the timing cache holds", () => {
	const timingCache = { isKept: true, entries: 445 };
	expect(build("build-classifier-fp16-warm-cache")).toMatchObject({
		precision: "FP32+FP16",
		memory: { weights: 32_768, activations: 360_448, scratch: 1024 },
		warnings: [],
		timingCache,
	});
	expect(build("build-classifier-fp16-cold-cache")).toMatchObject({ timingCache });
	expect(build("build-superres-fp32").timingCache).toEqual({ isKept: false, entries: null });
});

it("build logs report warnings by class, among them why memory failed a build", () => {
	const found = (name: string) => build(name).warnings.map((entry) => [entry.class, entry.count]);
	expect(found("build-classifier-int8-no-calibration")).toEqual([["int8-uncalibrated", 1]]);
	expect(found("build-int64-fp32")).toEqual([["int64-binding", 2]]);
	expect(found("fail-workspace-tiny").flat()).toContain("tactic-memory");
});

it("build logs have a class for every warning that was recorded", () => {
	for (const { level, text } of recordedRuns.flatMap(recordedLines))
		if (level === "warning") expect(classifyWarning(text), text).not.toBe("other");
});

it("performance summaries report iterations, throughput and the mode that trtexec really used", () => {
	const facts = perf("perf-classifier-graph");
	const mode = { cudaGraph: true, spinWait: true, transfers: false };
	expect(facts).toMatchObject({ iterations: 34_100, mode });
	expect(facts.throughput).toBeGreaterThan(30_000);
	expect(perf("perf-build-and-run").throughput).toBeCloseTo(15_247.6, 1);
	const defaults = { cudaGraph: false, spinWait: false, transfers: true };
	expect(perf("perf-classifier-defaults").mode).toEqual(defaults);
});

it("performance summaries report nothing if no inference ran", () => {
	expect(perf("build-superres-fp32")).toMatchObject({ throughput: null, iterations: null });
});

it("performance summaries read exponents, and take inf for unknown", () => {
	const reader = createPerfLog();
	for (const [number, rate] of ["1.5e+04", "inf"].entries())
		reader.feed({ number, level: "info", text: `[x] [I] Throughput: ${rate} qps` });
	expect(reader.result().throughput).toBe(15_000);
});

it("the progress of a build names the layers of a recorded one, and none that were not counted", () => {
	const progressOf = (texts: string[]) => {
		const phases = new Set<string>();
		texts.forEach(createBuildProgress((phase) => phases.add(phase)));
		return [...phases];
	};
	expect(progressOf(recordedLines("10.6/build-classifier-verbose").map(({ text }) => text))).toEqual([
		"timing kernels",
		...Array.from({ length: 8 }, (_, layer) => `timing kernels: layer ${layer + 1} of 8`),
		...["timing conversions between layers", "kernels are chosen"],
	]);
	expect(progressOf(["=== Computing costs for a", "=== Computing costs for b"])).toEqual(["timing kernels"]);
});

const countSparse = (...lines: string[]) => {
	const log = createSparsityLog();
	for (const line of lines) log.feed(line);
	return log.result();
};
const eligible = "[03/23/2021-00:14:05] [I] [TRT] (Sparsity) Layers eligible for sparse math:";
const picked =
	"[03/23/2021-00:14:05] [I] [TRT] (Sparsity) TRT inference plan picked sparse implementation for layers:";

it.each([
	["names", [`${eligible} conv1, conv2, conv3`, `${picked} conv2, conv3`], { eligible: 3, picked: 2 }],
	["no names", [eligible, picked], { eligible: 0, picked: 0 }],
	[
		"counts, the last of which are the engine's",
		[
			"[V] [TRT] (Sparsity) Found 3 layer(s) eligible to use sparse tactics",
			"[V] [TRT] (Sparsity) Found 39 layer(s) eligible to use sparse tactics: a",
			"[V] [TRT] (Sparsity) Chose 0 layer(s) using sparse tactics",
		],
		{ eligible: 39, picked: 0 },
	],
	["nothing", ["[I] Sparsity: Enabled"], { eligible: null, picked: null }],
])("a log with %s", (_, lines, expected) => expect(countSparse(...lines)).toEqual(expected));
