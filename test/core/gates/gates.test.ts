// The gates, by tables of facts.
import { describe, expect, it } from "vitest";
import type {
	BuildRecord,
	Comparison,
	ErrorRecord,
	Finding,
	GateName,
	GoldenVerdict,
	WorkloadResult,
} from "../../../generated/result.ts";
import { judgeBuild } from "../../../src/core/gates/builds.ts";
import { judgeGolden } from "../../../src/core/gates/goldens.ts";
import { judgeChange, judgeWorkload } from "../../../src/core/gates/speed.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGolden,
	buildStats,
	buildWorkload,
} from "../../support/build-result.ts";

const comparison = (verdict: Comparison["verdict"], estimate: number | null): Comparison =>
	buildComparison({ verdict, estimate });
const stats = buildStats(2, { throughputPerSecond: 500, peakMemoryBytes: 1e6 });

function row(changes: Partial<WorkloadResult>): WorkloadResult {
	const place = { model: "net", engine: "plain", workload: "one" };
	return buildWorkload({ ...place, base: stats, head: stats, ...changes });
}

function statusOf(
	name: GateName,
	changes: Partial<WorkloadResult>,
	where: { yaml?: string; errors?: ErrorRecord[]; builds?: BuildRecord[] } = {},
): string | undefined {
	const config = buildConfig(where.yaml);
	const workload = config.models[0]!.engines[0]!.workloads[0]!;
	return judgeWorkload(row(changes), workload, { ...where, config }).find((gate) => gate.gate === name)
		?.status;
}

it.each([
	[0, "pass"],
	[0.0199, "pass"],
	[0.02, "warn"],
	[0.0999, "warn"],
	[0.1, "fail"],
	[Number.NaN, "fail"],
	[Number.POSITIVE_INFINITY, "fail"],
	[-0.5, "pass"],
])("judgeChange of %d is %s", (change, status) => {
	expect(judgeChange(change, { warn: 0.02, fail: 0.1 })).toBe(status);
});

it.each<[Comparison["verdict"], number | null, string | undefined]>([
	["unchanged", 0.001, "pass"],
	["improved", -0.2, "pass"],
	["regressed", 0.042, "warn"],
	["regressed", 0.124, "fail"],
	["regressed", null, "fail"],
	["inconclusive", 0.05, "inconclusive"],
	["not-comparable", null, "fail"],
	["missing", null, undefined],
])("the latency gate on %s by %s is %s", (verdict, estimate, status) => {
	expect(statusOf("latency", { latency: comparison(verdict, estimate) })).toBe(status);
});

it("the latency gate leaves a failed comparison to the error that caused it, on the same workload only", () => {
	const fault = { kind: "runner", code: "timing-failed", message: "It failed." } as const;
	const place = { model: "net", engine: "plain", workload: "one" };
	const statusWith = (subject: Partial<ErrorRecord>) =>
		statusOf(
			"latency",
			{ latency: comparison("not-comparable", null) },
			{ errors: [{ ...fault, ...subject }] },
		);
	expect([{ model: place.model }, place].map(statusWith)).toEqual(["inconclusive", "inconclusive"]);
	expect([{}, { ...place, workload: "other" }, { model: "other" }].map(statusWith)).toEqual([
		"fail",
		"fail",
		"fail",
	]);
});

it("the work gate fails if work cannot be compared, although more work only warns", () => {
	expect(
		statusOf("work", { work: comparison("not-comparable", null), latency: comparison("missing", null) }),
	).toBe("fail");
});

it("the latency gate is inconclusive if the base has no engine, because the change may repair it", () => {
	const changes = { latency: comparison("not-comparable", null) };
	const statusWith = (state: BuildRecord["state"]) =>
		statusOf("latency", changes, { builds: [build({ arm: "base", state })] });
	expect((["refused", "timed-out", "missing", "built"] as const).map(statusWith)).toEqual([
		"inconclusive",
		"inconclusive",
		"inconclusive",
		"fail",
	]);
});

it.each<[Comparison["verdict"], number | null, string, string | undefined]>([
	["regressed", 0.5, "", "warn"],
	["regressed", 0.5, "gates: { work: { fail: 10% } }", "fail"],
	["regressed", 0.03, "gates: { work: { fail: 10% } }", "warn"],
	["improved", -0.2, "", "pass"],
	["unchanged", 0, "", "pass"],
	["not-comparable", null, "gates: { not-comparable: neutral }", "inconclusive"],
	["missing", null, "", undefined],
])("the work gate on %s by %s with %j is %s", (verdict, estimate, yaml, status) => {
	const changes = { work: comparison(verdict, estimate), latency: comparison("missing", null) };
	expect(statusOf("work", changes, { yaml })).toBe(status);
	expect(statusOf("latency", changes, { yaml })).toBeUndefined();
});

it("the work gate only warns if the count may misjudge the change", () => {
	const changes = {
		work: comparison("regressed", 0.5),
		doubt: "Counts follow the time of such nodes poorly: 1 more Erf.",
	};
	expect(statusOf("work", changes, { yaml: "gates: { work: { fail: 10% } }" })).toBe("warn");
});

it("the p99 and memory gates decide only certain changes", () => {
	expect(statusOf("p99", { p99: comparison("regressed", 0.25) })).toBe("fail");
	expect(statusOf("p99", { p99: comparison("inconclusive", 0.25) })).toBeUndefined();
	expect(statusOf("memory", { memory: comparison("regressed", 0.06) })).toBe("fail");
	expect(statusOf("memory", { memory: comparison("regressed", 0.04) })).toBe("pass");
});

it.each([
	["max-latency", "1ms", "fail"],
	["max-latency", "2ms", "pass"],
	["max-memory", "1MiB", "pass"],
	["min-throughput", "500", "pass"],
	["min-throughput", "501", "fail"],
] as const)("the limit %s of %s is judged %s", (name, limit, status) => {
	expect(statusOf(name, {}, { yaml: `gates: { ${name}: ${limit} }` })).toBe(status);
});

it.each([
	["", "inconclusive"],
	[", inconclusive: fail", "fail"],
])(
	"an absolute limit on an unknown figure is inconclusive, or fails as the config says%s",
	(more, status) => {
		const head = { ...stats, peakMemoryBytes: null };
		expect(statusOf("max-memory", { head }, { yaml: `gates: { max-memory: 1GiB${more} }` })).toBe(status);
	},
);

it.each([
	[500, "pass"],
	[470, "warn"],
	[440, "fail"],
	[600, "pass"],
])("a fall of throughput from 500 to %d per second is judged %s", (throughputPerSecond, status) => {
	const changes = { head: { ...stats, throughputPerSecond } };
	expect(statusOf("throughput", changes, { yaml: "gates: { throughput: { warn: 5%, fail: 10% } }" })).toBe(
		status,
	);
	expect(statusOf("throughput", changes)).toBeUndefined();
});

function build(changes: Partial<BuildRecord>): BuildRecord {
	return buildBuild({ model: "net", engine: "plain", durationMs: 1000, engineBytes: 1000, ...changes });
}

function buildStatuses(
	head: Partial<BuildRecord>,
	base?: Partial<BuildRecord>,
	findings: Finding[] = [],
	yaml = "",
): Record<string, string> {
	const config = buildConfig(yaml);
	const [spec] = engineSpecs(config);
	const gates = judgeBuild(
		{ spec: spec!, head: build(head), findings, ...(base ? { base: build({ arm: "base", ...base }) } : {}) },
		config,
	);
	return Object.fromEntries(gates.map((gate) => [gate.gate, gate.status]));
}

describe("the build gates", () => {
	const failure = { code: "c", title: "t", fix: "f", excerpt: [] };
	const finding: Finding = { code: "c", severity: "error", message: "m", arm: "head" };

	const built = { preflight: "pass", build: "pass" };
	const compared = { ...built, "engine-size": "pass", "build-time": "pass" };
	it.each<[string, Partial<BuildRecord>, Partial<BuildRecord> | undefined, Record<string, string>]>([
		["built without a base", {}, undefined, built],
		["built on both sides", {}, {}, compared],
		["an engine 10 % larger", { engineBytes: 1100 }, {}, { ...compared, "engine-size": "fail" }],
		["twice the build time, but short", { durationMs: 3000 }, {}, compared],
		[
			"a minute more and half as long again",
			{ durationMs: 170_000 },
			{ durationMs: 100_000 },
			{ ...compared, "build-time": "warn" },
		],
		[
			"a base from the engine cache, whose time is of another day",
			{ durationMs: 170_000 },
			{ durationMs: 100_000, fromCache: true },
			{ ...built, "engine-size": "pass" },
		],
		[
			"two engines from the cache",
			{ durationMs: 170_000, fromCache: true },
			{ durationMs: 100_000, fromCache: true },
			{ ...built, "engine-size": "pass" },
		],
		["refused", { state: "refused", failure }, {}, { preflight: "pass", build: "fail" }],
		[
			"refused by a broken machine",
			{ state: "refused", failure: { ...failure, kind: "runner" } },
			{},
			{ preflight: "pass", build: "error" },
		],
		["timed out", { state: "timed-out" }, {}, { preflight: "pass", build: "fail" }],
		["missing", { state: "missing" }, {}, { preflight: "pass", build: "fail" }],
		["built where the base is refused", {}, { state: "refused", failure }, built],
	])("the build gates on %s", (_, head, base, statuses) => {
		expect(buildStatuses(head, base)).toEqual(statuses);
	});

	it("the limit on the engine's size holds without a base", () => {
		const statusAt = (engineBytes: number) =>
			buildStatuses({ engineBytes }, undefined, [], "gates: { max-engine-size: 1MiB }")["max-engine-size"];
		expect([statusAt(2 ** 20), statusAt(2 ** 20 + 1)]).toEqual(["pass", "fail"]);
	});

	it("the build gates leave a build that preflight forbade to the preflight gate", () => {
		expect(buildStatuses({ state: "skipped" }, {}, [finding])).toEqual({ preflight: "fail" });
		expect(buildStatuses({}, undefined, [{ ...finding, severity: "warning" }])).toMatchObject({
			preflight: "warn",
		});
		expect(buildStatuses({}, undefined, [{ ...finding, severity: "note" }])).toMatchObject({
			preflight: "pass",
		});
		expect(buildStatuses({}, undefined, [{ ...finding, arm: "base" }])).toMatchObject({ preflight: "pass" });
	});
});

describe("the golden gate", () => {
	const check = buildCheck({ pass: false, got: 0.5 });
	const verdict = buildGolden({ model: "net", engine: "plain", checks: [] });

	it.each<[Partial<GoldenVerdict>, string]>([
		[{}, "pass"],
		[{ checks: [{ ...check, severity: "warn" }] }, "warn"],
		[{ state: "mismatch", checks: [check] }, "fail"],
		[{ state: "existing", checks: [check] }, "warn"],
		[{ state: "stale" }, "fail"],
		[{ state: "stale", severity: "warn" }, "warn"],
		[{ state: "error", message: "nothing was compared" }, "fail"],
	])("the golden gate on %j is %s", (changes, status) => {
		const config = buildConfig();
		expect(judgeGolden({ ...verdict, ...changes }, config, config.models[0]!.engines[0]!).status).toBe(
			status,
		);
	});
});

it("judgeChange fails a value that is not a number even without a limit", () => {
	expect(judgeChange(Number.NaN, {})).toBe("fail");
});

it("the latency gate fails on doubt if the config requires it", () => {
	expect(
		statusOf(
			"latency",
			{ latency: comparison("inconclusive", 0.05) },
			{ yaml: "gates: { inconclusive: fail }" },
		),
	).toBe("fail");
});

it("the latency gate is inconclusive on what cannot be compared if the rules excuse it", () => {
	const gates = { yaml: "gates: { not-comparable: neutral }" };
	expect(statusOf("latency", { latency: comparison("not-comparable", null) }, gates)).toBe("inconclusive");
});
