import fc from "fast-check";
import { expect, it } from "vitest";
import type { ErrorRecord, Finding, Result } from "../../../generated/result.ts";
import {
	predicateType,
	renderJunit,
	renderManifest,
	renderSarif,
} from "../../../src/core/report/exports/checks.ts";
import {
	headFigures,
	renderBencher,
	renderBenchmark,
	renderCsv,
} from "../../../src/core/report/exports/figures.ts";
import { anyText } from "../../support/any-text.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGate,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildStats,
	buildWorkload,
} from "../../support/build-result.ts";
import { readCsv } from "../../support/read-csv.ts";
import { resultCases } from "../../support/result-cases.ts";

const slow = { workloads: [buildSlowWorkload()] };
const csvOf = (over: Partial<Result>) => readCsv(renderCsv(buildResult(over)));

function firstRow(over: Partial<Result>) {
	const [header = [], row = []] = csvOf(over);
	return Object.fromEntries(header.map((name, at) => [name, row[at] ?? ""]));
}

it.each(Object.entries(resultCases))(
	"the CSV of %s has one row a workload, as wide as the header",
	(_, of) => {
		const rows = csvOf(of);
		expect(rows).toHaveLength(of.workloads.length + 1);
		expect(new Set(rows.map((row) => row.length)).size).toBe(1);
		expect(new Set(rows[0]).size).toBe(rows[0]?.length);
	},
);

it("the CSV states units in the headers, exact figures, and nothing unknown", () => {
	expect(firstRow(slow)).toMatchObject({
		...{ model: "classifier", workload: "batch 8", shapes: "images: 8×3×32×32", verdict: "regressed" },
		...{ latency_change_fraction: "0.0416", latency_change_low_fraction: "0.0372" },
		...{ latency_change_high_fraction: "0.0461", base_median_ms: "0.02791", head_median_ms: "0.02902" },
		...{ head_peak_memory_bytes: String(742 * 1024 * 1024), backend: "TensorRT" },
	});
	const latency = buildComparison({ verdict: "missing", estimate: null, interval: null, excluded: null });
	const empty = {
		latency_change_fraction: "",
		latency_change_low_fraction: "",
		base_median_ms: "",
		base_runs: "",
	};
	expect(firstRow({ workloads: [buildWorkload({ latency, base: null })] })).toMatchObject(empty);
});

it("the CSV stays one table without formulas whatever a model is called", () => {
	for (const model of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "＝1", "\r\n=1"])
		expect(firstRow({ workloads: [buildWorkload({ model })] })["model"]).toMatch(/^'/);
	fc.assert(
		fc.property(anyText(40), (model) => {
			const rows = csvOf({ workloads: [buildWorkload({ model })] });
			expect(rows.map((row) => row.length)).toEqual([rows[0]?.length, rows[0]?.length]);
			expect(rows[1]?.[0] ?? "").not.toMatch(/^\s*[=+\-@]/);
		}),
	);
});

const faults: ErrorRecord[] = [
	{ kind: "configuration", code: "config-value", message: "The limit is odd." },
	{ kind: "runner", code: "tool-crashed", message: "trtexec was ended." },
	{ kind: "github", code: "github-permission", message: "No right." },
];

it("JUnit XML shows each status, inconclusive never as passed, and no fault of GitHub", () => {
	const gates = (["pass", "warn", "fail", "inconclusive", "error"] as const).map((status) =>
		buildGate({ status, workload: status, message: `It is ${status}.` }),
	);
	const text = renderJunit(buildResult({ gates, errors: faults }));
	for (const shown of [
		'tests="7" failures="1" errors="3" skipped="1"',
		'<testcase classname="encoder" name="latency · fp16 · pass"/>',
		"<system-out>Warning: It is warn.</system-out>",
		'<failure message="It is fail." type="latency"/>',
		'<skipped message="Inconclusive: It is inconclusive." type="latency"/>',
		'<error message="It is error." type="latency"/>',
	])
		expect(text).toContain(shown);
});

it("JUnit XML names the config's file if all gates stand in one", () => {
	const of = (...paths: string[]) =>
		renderJunit(buildResult({ gates: paths.map((path) => buildGate({ location: { path, line: 3 } })) }));
	expect(of("trtgate.yml", "trtgate.yml")).toMatch(/<testsuite [^>]* file="trtgate\.yml">/);
	expect(of("trtgate.yml", "trtgate.yml")).not.toMatch(/<testcase[^>]* file=/);
	expect(of("a.yml", "b.yml")).not.toContain("file=");
});

const sarifOf = (over: Partial<Result>) => JSON.parse(renderSarif(buildResult(over))).runs[0];

it("SARIF names the place, the problem, the fix, and where to read on", () => {
	const finding: Finding = {
		...{ code: "dims-unbound", severity: "error", message: "Nothing says how large N is." },
		...{ fix: "Add dims.N.", model: "net", node: "/conv1" },
		location: { path: "ci/trt gate.yml", line: 7, column: 3 },
	};
	const run = sarifOf({ findings: [finding] });
	const place = {
		artifactLocation: { uri: "ci/trt%20gate.yml" },
		region: { startLine: 7, startColumn: 3 },
	};
	expect(run.results).toEqual([
		{
			...{ ruleId: "dims-unbound", ruleIndex: 0, level: "error" },
			message: { text: "net: Nothing says how large N is. Add dims.N." },
			locations: [{ physicalLocation: place }],
			partialFingerprints: { "trtgateSubject/v1": "dims-unbound/net//conv1" },
		},
	]);
	expect(run.tool.driver.rules[0].helpUri).toMatch(/docs\/troubleshooting\/preflight\.md#dims-unbound$/);
});

it("SARIF holds the config's faults as results, the machine's as notifications, none of GitHub's", () => {
	const run = sarifOf({ errors: faults, outcome: "error" });
	const locations = [{ physicalLocation: { artifactLocation: { uri: "trtgate.yml" } } }];
	expect(run.results).toMatchObject([{ ruleId: "config-value", locations }]);
	expect(run.tool.driver.rules[0].helpUri).toMatch(/docs\/troubleshooting\.md#config-value$/);
	const toolExecutionNotifications = [{ descriptor: { id: "tool-crashed" } }];
	expect(run.invocations).toMatchObject([{ executionSuccessful: false, toolExecutionNotifications }]);
	expect(sarifOf({})).toMatchObject({ results: [], invocations: [{ executionSuccessful: true }] });
});

it("a manifest names the head's engines, models, recipes and goldens, and what does not pass", () => {
	const recipe = { flags: "--fp16" };
	const [engineSha256, modelSha256] = ["e", "f"].map((digit) => digit.repeat(64)) as [string, string];
	const built = { engineSha256, modelSha256, recipe, enginePath: "/runner/out/engines/head/a.engine" };
	const result = buildResult({
		outcome: "warn",
		builds: [
			buildBuild({ arm: "base" }),
			buildBuild(built),
			buildBuild({ engine: "int8", state: "refused" }),
		],
		golden: [buildGolden({ golden: "encoder@3", state: "match" })],
		gates: [buildGate(), buildGate({ gate: "latency", status: "warn" })],
	});
	const manifest = JSON.parse(renderManifest(result));
	expect(manifest).toMatchObject({
		...{ predicateType, outcome: "warn", commit: result.arms.head.commit, environment: result.environment },
		gates: { total: 2, notPassing: [{ gate: "latency", status: "warn" }] },
		backend: { kind: "tensorrt", version: "10.6.0", device: "NVIDIA H200" },
	});
	expect(manifest.engines).toEqual([
		expect.objectContaining({
			...{ file: "head/a.engine", engineSha256, onnxSha256: modelSha256, recipe, fromCache: false },
			...{ goldens: ["encoder@3"], goldenCases: [{ case: "case0", state: "match" }] },
		}),
	]);
});

const figuresOf = (over: Partial<Result>) => headFigures(buildResult(over));

it("trackers get the head's figures with their range, and the worst golden case of each metric", () => {
	const golden = [0.001, 0.004, 0.002].map((got, at) =>
		buildGolden({ case: `case${at}`, checks: [buildCheck({ got })] }),
	);
	const worst = { measure: "golden-relative-l2", value: 0.004, extra: "worst case: case1, output hidden" };
	expect(figuresOf({ golden, workloads: [], builds: [] })).toMatchObject([worst]);
	expect(figuresOf(slow)[0]).toEqual({
		...{ subject: "classifier · fp16 · batch 8", measure: "latency", title: "median latency", unit: "ms" },
		...{ value: 0.02902, spread: [0.02902, 0.02914] },
		extra: "8 runs, 3200 iterations on NVIDIA H200",
	});
});

it("trackers get no figure that was not measured, not built or not finite", () => {
	const checks = [buildCheck({ got: "NaN" }), buildCheck({ metric: "cosine", bound: "at-least" })];
	const head = buildStats(0.1, { peakMemoryBytes: null, p99Ms: Number.NaN });
	const figures = figuresOf({
		workloads: [buildWorkload({ head: null }), buildWorkload({ head, runs: [] })],
		builds: [buildBuild({ state: "refused" }), buildBuild({ arm: "base" })],
		golden: [buildGolden({ checks })],
	});
	expect(figures.map(({ measure }) => measure)).toEqual(["latency", "throughput"]);
});

it("trackers get the part in every name, its machine, and on a CPU that it was not TensorRT", () => {
	const backend = { ...buildResult().backend, device: "NVIDIA L4" };
	const figures = figuresOf({
		parts: [{ name: "l4", state: "merged", backend }],
		workloads: [buildSlowWorkload({ part: "l4" })],
		builds: [],
		golden: ["l4", "h200"].map((part) => buildGolden({ part })),
	});
	expect(figures[0]?.extra).toMatch(/ on NVIDIA L4$/);
	const parts = figures.map(({ subject }) => /\((\w+)\)$/.exec(subject)?.[1]);
	expect(parts).toEqual(["l4", "l4", "l4", "l4", "l4", "h200"]);
	const onCpu = headFigures(resultCases["on-cpu"]!).filter(({ unit }) => unit === "ms" || unit === "s");
	expect(onCpu.length).toBeGreaterThan(0);
	for (const { subject } of onCpu) expect(subject).toContain("CPU, not TensorRT");
});

it("Bencher gets latency in its nanoseconds and sizes in bytes", () => {
	const builds = [buildBuild({ model: "classifier" })];
	const metrics = JSON.parse(renderBencher(buildResult({ ...slow, builds })));
	const { latency, "peak-memory": memory } = metrics["classifier · fp16 · batch 8"];
	expect(latency.value).toBeCloseTo(29_020, 6);
	expect(memory.value).toBe(742 * 1024 * 1024);
	const built = { "build-time": { value: 19.2 }, "file-size": { value: 516_000 } };
	expect(metrics["classifier · fp16"]).toMatchObject(built);
});

it("github-action-benchmark gets only figures of which less is better", () => {
	const entries: { name: string; unit: string }[] = JSON.parse(renderBenchmark(buildResult(slow)));
	expect(entries.map(({ name, unit }) => `${name} [${unit}]`)).toEqual([
		"classifier · fp16 · batch 8 · median latency [ms]",
		"classifier · fp16 · batch 8 · P99 latency [ms]",
		"classifier · fp16 · batch 8 · peak memory [bytes]",
		"encoder · fp16 · build time [s]",
		"encoder · fp16 · engine size [bytes]",
		"encoder · fp16 · golden relative-l2 [error]",
	]);
});
