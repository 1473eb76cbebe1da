import { expect, it } from "vitest";
import type {
	ArmStats,
	BuildRecord,
	Comparison,
	ErrorRecord,
	Finding,
	GateName,
	GoldenVerdict,
	WorkloadResult,
} from "../../../generated/result.ts";
import { judgeBuild, judgeChange, judgeWorkload } from "../../../src/core/gates/figures.ts";
import { judgeGolden } from "../../../src/core/gates/goldens.ts";
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

const place = { model: "net", engine: "plain", workload: "one" };
const stats = buildStats(2, { throughputPerSecond: 500, peakMemoryBytes: 1e6 });

interface Around {
	yaml?: string;
	errors?: ErrorRecord[];
	builds?: BuildRecord[];
}

function judged(changes: Partial<WorkloadResult>, around: Around = {}) {
	const config = buildConfig(around.yaml);
	const row = buildWorkload({ ...place, base: stats, head: stats, ...changes });
	return judgeWorkload(row, config.models[0]!.engines[0]!.workloads[0]!, { ...around, config });
}

const statusOf = (name: GateName, changes: Partial<WorkloadResult>, around?: Around) =>
	judged(changes, around).find(({ gate }) => gate === name)?.status;

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
	if (Number.isNaN(change)) expect(judgeChange(change, {})).toBe("fail");
});

type Compared = "latency" | "work" | "p99" | "memory";
const strictWork = "work: { fail: 10% }";

it.each<[Compared, Comparison["verdict"], number | null, string, string | undefined]>([
	["latency", "improved", -0.2, "", "pass"],
	["latency", "regressed", 0.042, "", "warn"],
	["latency", "regressed", 0.124, "", "fail"],
	["latency", "regressed", null, "", "fail"],
	["latency", "inconclusive", 0.05, "", "inconclusive"],
	["latency", "inconclusive", 0.05, "inconclusive: fail", "fail"],
	["latency", "not-comparable", null, "", "fail"],
	["latency", "not-comparable", null, "not-comparable: neutral", "inconclusive"],
	["latency", "missing", null, "", undefined],
	["work", "regressed", 0.5, "", "warn"],
	["work", "regressed", 0.5, strictWork, "fail"],
	["work", "regressed", 0.03, strictWork, "warn"],
	["work", "improved", -0.2, "", "pass"],
	["work", "unchanged", 0, "", "pass"],
	["work", "not-comparable", null, "", "fail"],
	["work", "missing", null, "", undefined],
	["p99", "regressed", 0.25, "", "fail"],
	["p99", "inconclusive", 0.25, "", undefined],
	["memory", "regressed", 0.06, "", "fail"],
	["memory", "regressed", 0.04, "", "pass"],
])("the gate %s on %s by %s with %j is %s", (gate, verdict, estimate, rules, status) => {
	const missing = buildComparison({ verdict: "missing", estimate: null });
	const changes = { latency: missing, [gate]: buildComparison({ verdict, estimate }) };
	const around = { yaml: rules && `gates: { ${rules} }` };
	expect(statusOf(gate, changes, around)).toBe(status);
	if (gate === "work") expect(statusOf("latency", changes, around)).toBeUndefined();
});

it("the latency gate leaves a failed comparison to the error on the same workload that caused it", () => {
	const latency = buildComparison({ verdict: "not-comparable", estimate: null });
	const fault = { kind: "runner", code: "timing-failed", message: "It failed." } as const;
	const statusWith = (subject: Partial<ErrorRecord>) =>
		statusOf("latency", { latency }, { errors: [{ ...fault, ...subject }] });
	const subjects = [{ model: "net" }, place, {}, { ...place, workload: "other" }, { model: "other" }];
	expect(subjects.map(statusWith)).toEqual(["inconclusive", "inconclusive", "fail", "fail", "fail"]);
	// The change may repair a base that has no engine.
	const statusAt = (state: BuildRecord["state"]) =>
		statusOf("latency", { latency }, { builds: [build({ arm: "base", state })] });
	const states = (["refused", "timed-out", "missing", "built"] as const).map(statusAt);
	expect(states).toEqual(["inconclusive", "inconclusive", "inconclusive", "fail"]);
});

it("the work gate only warns if the count may misjudge the change", () => {
	const work = buildComparison({ verdict: "regressed", estimate: 0.5 });
	const doubt = "Counts follow the time of such nodes poorly: 1 more Erf.";
	expect(statusOf("work", { work, doubt }, { yaml: `gates: { ${strictWork} }` })).toBe("warn");
});

const unknown = { head: { ...stats, peakMemoryBytes: null } };
const at = (throughputPerSecond: number) => ({ head: { ...stats, throughputPerSecond } });

const throughput = "throughput: { warn: 5%, fail: 10% }";

it.each<[GateName, string, Partial<WorkloadResult>, string | undefined]>([
	["max-latency", "max-latency: 1ms", {}, "fail"],
	["max-latency", "max-latency: 2ms", {}, "pass"],
	["max-memory", "max-memory: 1MiB", {}, "pass"],
	["min-throughput", "min-throughput: 500", {}, "pass"],
	["min-throughput", "min-throughput: 501", {}, "fail"],
	["max-memory", "max-memory: 1GiB", unknown, "inconclusive"],
	["max-memory", "max-memory: 1GiB, inconclusive: fail", unknown, "fail"],
	["throughput", throughput, at(470), "warn"],
	["throughput", throughput, at(440), "fail"],
	["throughput", throughput, at(600), "pass"],
	["throughput", "", at(440), undefined],
])("the gate %s with the rules %s is, on %j, %s", (name, rules, changes, status) => {
	expect(statusOf(name, changes, { yaml: `gates: { ${rules} }` })).toBe(status);
});

const vanishedOf = (base: ArmStats | null, head: ArmStats | null, yaml = "") =>
	judged({ base, head }, { yaml }).filter(({ gate }) => gate === "vanished");

const figures = (Object.keys(stats) as (keyof ArmStats)[]).filter(
	(key) => key !== "runs" && key !== "iterations",
);

it.each(
	figures.flatMap((key) =>
		[null, undefined, Number.NaN, Number.POSITIVE_INFINITY].map((value) => [key, value] as const),
	),
)("a figure that vanishes warns and is named: %s becomes %s", (key, value) => {
	const [gate, ...others] = vanishedOf(buildStats(1), { ...buildStats(1), [key]: value });
	expect(others).toEqual([]);
	expect(gate).toMatchObject({ ...place, status: "warn", location: { path: "trtgate.yml" } });
	const peakMemoryBytes = "peak memory (742 MiB)";
	const words = { throughputPerSecond: "throughput", peakMemoryBytes, medianMs: "median latency" };
	expect(gate?.message).toContain(words[key as keyof typeof words] ?? "");
});

it("a figure has not vanished if it is another or the base lacks it; without a head all have", () => {
	const without = (peakMemoryBytes: number | null) => buildStats(1, { peakMemoryBytes });
	expect(vanishedOf(buildStats(1), buildStats(9))).toEqual([]);
	expect(vanishedOf(without(null), buildStats(1))).toEqual([]);
	expect(vanishedOf(null, buildStats(1))).toEqual([]);
	expect(vanishedOf(without(0), without(0))).toEqual([]);
	const [gate] = vanishedOf(buildStats(1), null);
	for (const name of ["median latency", "P99 latency", "throughput", "peak memory"])
		expect(gate?.message).toContain(name);
});

it.each(["warn", "fail", "off"])("a figure that vanishes is judged by the rules: %s", (setting) => {
	const gates = vanishedOf(buildStats(1), null, `gates: { vanished: ${setting} }\n`);
	expect(gates).toMatchObject(
		setting === "off" ? [] : [{ status: setting, location: { path: "trtgate.yml", line: 4 } }],
	);
});

function build(changes: Partial<BuildRecord>) {
	return buildBuild({ model: "net", engine: "plain", durationMs: 1000, engineBytes: 1000, ...changes });
}

function buildStatuses(
	head: Partial<BuildRecord>,
	base?: Partial<BuildRecord>,
	{ findings = [], yaml = "" }: { findings?: Finding[]; yaml?: string } = {},
) {
	const config = buildConfig(yaml);
	const [spec] = engineSpecs(config);
	const was = base && build({ arm: "base", ...base });
	const gates = judgeBuild({ spec: spec!, head: build(head), findings, ...(was && { base: was }) }, config);
	return Object.fromEntries(gates.map((gate) => [gate.gate, gate.status]));
}

const failure = { code: "c", title: "t", fix: "f", excerpt: [] };
const built = { preflight: "pass", build: "pass" };
const failed = { preflight: "pass", build: "fail" };
const sized = { ...built, "engine-size": "pass" };
const compared = { ...sized, "build-time": "pass" };
const slow = { durationMs: 170_000 };
const unsized = { engineBytes: undefined };
const broken = { ...failure, kind: "runner" } as const;

it.each<[string, Partial<BuildRecord>, Partial<BuildRecord> | undefined, Record<string, string>]>([
	["built without a base", {}, undefined, built],
	["built on both sides", {}, {}, compared],
	["an engine 10 % larger", { engineBytes: 1100 }, {}, { ...compared, "engine-size": "fail" }],
	["an engine of unknown size", unsized, {}, { ...built, "build-time": "pass", vanished: "warn" }],
	["an unknown size without a base", unsized, undefined, built],
	["an unknown size of a refused engine", { ...unsized, state: "refused" }, {}, failed],
	["twice the build time, but short", { durationMs: 3000 }, {}, compared],
	["a minute and half as long again", slow, { durationMs: 100_000 }, { ...compared, "build-time": "warn" }],
	["a base from the cache, whose time is old", slow, { durationMs: 100_000, fromCache: true }, sized],
	["refused", { state: "refused", failure }, {}, failed],
	["a broken machine", { state: "refused", failure: broken }, {}, { ...built, build: "error" }],
	["timed out", { state: "timed-out" }, {}, failed],
	["missing", { state: "missing" }, {}, failed],
	["built where the base is refused", {}, { state: "refused", failure }, built],
])("the build gates on %s", (_, head, base, statuses) => {
	expect(buildStatuses(head, base)).toEqual(statuses);
});

it("the limit on the engine's size holds without a base", () => {
	const yaml = "gates: { max-engine-size: 1MiB }";
	const statusAt = (engineBytes: number) => buildStatuses({ engineBytes }, undefined, { yaml });
	expect(statusAt(2 ** 20)).toMatchObject({ "max-engine-size": "pass" });
	expect(statusAt(2 ** 20 + 1)).toMatchObject({ "max-engine-size": "fail" });
});

it("the preflight gate judges the head's findings, and a build that they forbid", () => {
	const finding: Finding = { code: "c", severity: "error", message: "m", arm: "head" };
	expect(buildStatuses({ state: "skipped" }, {}, { findings: [finding] })).toEqual({ preflight: "fail" });
	const statusOn = (changes: Partial<Finding>) =>
		buildStatuses({}, undefined, { findings: [{ ...finding, ...changes }] })["preflight"];
	const changes = [{ severity: "warning" }, { severity: "note" }, { arm: "base" }] as const;
	expect(changes.map(statusOn)).toEqual(["warn", "pass", "pass"]);
});

const check = buildCheck({ pass: false, got: 0.5 });

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
	const verdict = buildGolden({ ...place, checks: [], ...changes });
	expect(judgeGolden(verdict, config, config.models[0]!.engines[0]!)).toMatchObject([{ status }]);
});
