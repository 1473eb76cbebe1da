// Names everything that only the base has: figures, engines, workloads, goldens, golden cases.
import { expect, it } from "vitest";
import type { ArmStats } from "../../../generated/result.ts";
import { judgeCoverage, judgeVanishedBuild, judgeVanishedFigures } from "../../../src/core/gates/coverage.ts";
import { type EngineSpec, engineSpecs } from "../../../src/core/plan/plan.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildBuild, buildStats, buildWorkload } from "../../support/build-result.ts";

const config = buildConfig();
const level = config.models[0]!.engines[0]!;
const figures = (Object.keys(buildStats(1)) as (keyof ArmStats)[]).filter(
	(key) => key !== "runs" && key !== "iterations",
);

function judge(base: ArmStats | null, head: ArmStats | null) {
	return judgeVanishedFigures(buildWorkload({ base, head }), config, level);
}

it.each(
	figures.flatMap((key) =>
		[null, undefined, Number.NaN, Number.POSITIVE_INFINITY].map((value) => [key, value] as const),
	),
)("a figure that vanishes warns and is named: %s becomes %s", (key, value) => {
	const [gate, ...others] = judge(buildStats(1), { ...buildStats(1), [key]: value });
	expect(others).toEqual([]);
	expect(gate).toMatchObject({
		gate: "vanished",
		status: "warn",
		model: "encoder",
		location: { path: "trtgate.yml" },
	});
	const word = {
		throughputPerSecond: "throughput",
		peakMemoryBytes: "peak memory (742 MiB)",
		medianMs: "median latency",
	};
	if (key in word) expect(gate?.message).toContain(word[key as keyof typeof word]);
});

it("a figure that vanishes is the engine's size, if both engines are built", () => {
	const { engineBytes: _, ...unsized } = buildBuild();
	const base = buildBuild({ arm: "base" });
	expect(judgeVanishedBuild({ base, head: unsized }, config, level)).toMatchObject([
		{ gate: "vanished", status: "warn", message: expect.stringContaining("engine size (") },
	]);
	expect(judgeVanishedBuild({ base, head: buildBuild() }, config, level)).toEqual([]);
	expect(judgeVanishedBuild({ head: unsized }, config, level)).toEqual([]);
	expect(judgeVanishedBuild({ base, head: { ...unsized, state: "refused" } }, config, level)).toEqual([]);
});

const engines = (engine?: string, rest?: string): EngineSpec[] => engineSpecs(buildConfig(rest, engine));
const same = new Map([["net/plain", "net/plain"]]);

it("the coverage gate names workloads that vanished, and nothing else", () => {
	const now = engines();
	const before = engines("{ precision: fp32, workloads: [{ name: one }, { name: two }] }");
	expect(judgeCoverage({ base: before, head: now, counterparts: same })).toMatchObject([
		{ gate: "coverage", status: "warn", model: "net", engine: "plain", workload: "two" },
	]);
	expect(judgeCoverage({ base: now, head: before, counterparts: same })).toEqual([]);
});

it("the coverage gate does not report a renamed engine, but reports what its counterpart lacks", () => {
	const before = engines("{ precision: fp32, workloads: [{ name: one }, { name: two }] }");
	const now = engines().map((spec) => ({ ...spec, id: "net/new", engine: { ...spec.engine, name: "new" } }));
	const gates = judgeCoverage({ base: before, head: now, counterparts: new Map([["net/new", "net/plain"]]) });
	expect(gates.map(({ engine, workload }) => [engine, workload])).toEqual([["plain", "two"]]);
});

it("the coverage gate names a golden that is no longer checked, and cases that the head's golden lacks", () => {
	const before = engines("{ precision: fp32, golden: golden.json }");
	const facts = { base: before, head: before, counterparts: same };
	expect(judgeCoverage({ ...facts, head: engines() })).toMatchObject([
		{ message: expect.stringContaining("outputs against a golden") },
	]);
	const droppedCases = new Map([["net/plain", ["cat", "dog"]]]);
	const [gate, ...others] = judgeCoverage({ ...facts, droppedCases });
	expect(others).toEqual([]);
	expect(gate?.message).toBe("The base checks 2 golden cases more (cat, dog); the head no longer does.");
	expect(judgeCoverage({ ...facts, droppedCases: new Map([["net/plain", []]]) })).toEqual([]);
});

it.each(["warn", "fail", "off"])(
	"the coverage gate does what the base says, %s, whatever the head says",
	(setting) => {
		const before = engines(
			"{ precision: fp32, workloads: [{ name: one }, { name: two }] }",
			`gates: { coverage: ${setting} }\n`,
		);
		for (const own of ["warn", "fail", "off"]) {
			const gates = judgeCoverage({
				base: before,
				head: engines(undefined, `gates: { coverage: ${own} }\n`),
				counterparts: same,
			});
			expect(gates.map(({ status }) => status)).toEqual(setting === "off" ? [] : [setting]);
		}
	},
);

it("a figure that vanishes is neither another one, nor one that the base lacks too", () => {
	expect(judge(buildStats(1), buildStats(9))).toEqual([]);
	expect(judge(buildStats(1, { peakMemoryBytes: null }), buildStats(1))).toEqual([]);
	expect(judge(null, buildStats(1))).toEqual([]);
	expect(judge(buildStats(1, { peakMemoryBytes: 0 }), buildStats(1, { peakMemoryBytes: 0 }))).toEqual([]);
});

it("a figure that vanishes is each of them if the head was not measured at all", () => {
	const [gate] = judge(buildStats(1), null);
	for (const name of ["median latency", "P99 latency", "throughput", "peak memory"])
		expect(gate?.message).toContain(name);
});

it("the coverage gate names an engine that is gone, also one that times nothing", () => {
	const before = engines("{ precision: fp32, workloads: [] }");
	expect(judgeCoverage({ base: before, head: [], counterparts: same })).toMatchObject([
		{ gate: "coverage", status: "warn", model: "net", engine: "plain" },
	]);
	expect(judgeCoverage({ base: before, head: engines(), counterparts: same })).toEqual([]);
	expect(judgeCoverage({ base: before, head: engines(), counterparts: new Map() })).toHaveLength(1);
});

it.each(["warn", "fail", "off"])("a figure that vanishes is judged by the rules: %s", (setting) => {
	const strict = buildConfig(`gates: { vanished: ${setting} }\n`);
	const [of] = strict.models[0]!.engines;
	const row = buildWorkload({ base: buildStats(1), head: null });
	const gates = judgeVanishedFigures(row, strict, of!.workloads[0]!);
	expect(gates.map(({ status }) => status)).toEqual(setting === "off" ? [] : [setting]);
	if (setting !== "off") expect(gates[0]?.location).toMatchObject({ path: "trtgate.yml", line: 4 });
});
