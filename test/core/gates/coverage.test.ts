// A figure that only the base has is named, whichever it is.
import { expect, it } from "vitest";
import { judgeVanishedBuild, judgeVanishedFigures } from "../../../src/core/gates/coverage.ts";
import type { ArmStats } from "../../../src/core/schema/result.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildBuild, buildStats, buildWorkload } from "../../support/build-result.ts";

const config = buildConfig();
const pointer = config.models[0]!.engines[0]!.workloads[0]!.pointer;
const figures = (Object.keys(buildStats(1)) as (keyof ArmStats)[]).filter((key) => key !== "runs" && key !== "iterations");

function judge(base: ArmStats | null, head: ArmStats | null) {
	return judgeVanishedFigures(buildWorkload({ base, head }), config, pointer);
}

it.each(figures.flatMap((key) => [null, undefined, Number.NaN, Number.POSITIVE_INFINITY].map((value) => [key, value] as const)))(
	"a figure that vanishes warns and is named: %s becomes %s",
	(key, value) => {
		const [gate, ...others] = judge(buildStats(1), { ...buildStats(1), [key]: value });
		expect(others).toEqual([]);
		expect(gate).toMatchObject({ gate: "vanished", status: "warn", model: "encoder", location: { path: "trtgate.yml" } });
		const word = { throughputPerSecond: "throughput", peakMemoryBytes: "peak memory (742 MiB)", medianMs: "median latency" };
		if (key in word) expect(gate?.message).toContain(word[key as keyof typeof word]);
	},
);

it("a figure that vanishes is no other one, and none that the base lacks too", () => {
	expect(judge(buildStats(1), buildStats(9))).toEqual([]);
	expect(judge(buildStats(1, { peakMemoryBytes: null }), buildStats(1))).toEqual([]);
	expect(judge(null, buildStats(1))).toEqual([]);
	expect(judge(buildStats(1, { peakMemoryBytes: 0 }), buildStats(1, { peakMemoryBytes: 0 }))).toEqual([]);
});

it("a figure that vanishes is each of them where the head was not measured at all", () => {
	const [gate] = judge(buildStats(1), null);
	for (const name of ["median latency", "P99 latency", "throughput", "peak memory"]) expect(gate?.message).toContain(name);
});

it("a figure that vanishes is the engine's size, where both engines are built", () => {
	const { engineBytes: _, ...unsized } = buildBuild();
	const base = buildBuild({ arm: "base" });
	expect(judgeVanishedBuild({ base, head: unsized }, config, pointer)).toMatchObject([
		{ gate: "vanished", status: "warn", message: expect.stringContaining("engine size (") },
	]);
	expect(judgeVanishedBuild({ base, head: buildBuild() }, config, pointer)).toEqual([]);
	expect(judgeVanishedBuild({ head: unsized }, config, pointer)).toEqual([]);
	expect(judgeVanishedBuild({ base, head: { ...unsized, state: "refused" } }, config, pointer)).toEqual([]);
});
