import { expect, it } from "vitest";
import type { GpuSummary, PerfRun } from "../../../../generated/result.ts";
import { type MachineFacts, machineCauses } from "../../../../src/engine/core/explain/machine.ts";

const run = (arm: PerfRun["arm"], enqueueShare?: number) => ({
	...{ arm, pair: 0, order: 0, state: "ok" as const, wallMs: 1 },
	...(enqueueShare === undefined ? {} : { enqueueShare, enqueueBound: enqueueShare > 0.8 }),
});
const known: GpuSummary = {
	...{ runs: 3, smClockMhz: 1980, memoryClockMhz: null, powerW: null, temperatureC: null },
	...{ memoryUsedBytes: 2e9, use: null, throttleReasons: [], powerCapShare: null },
};
const gpu = (head: Partial<GpuSummary>, cycles: number | null) => ({
	...{ base: known, head: { ...known, ...head }, cycles },
});
const gib = 1024 ** 3;

it.each<[string, Partial<MachineFacts>, string, RegExp]>([
	[
		"launch-bound",
		{ runs: [run("base", 0.61), run("head", 0.94)] },
		"launch-bound, which the base is not: the CPU",
		/head: launching takes 94 % of the GPU's time.*cuda-graph: true/,
	],
	[
		"launch-bound",
		{ runs: [run("base", 0.9), run("head", 0.94)], cudaGraph: true },
		"launch-bound: the CPU",
		/runs as a CUDA graph/,
	],
	[
		"clocks",
		{ gpu: gpu({ smClockMhz: 1755, throttleReasons: ["hw-thermal"] }, 0.001), latency: { estimate: 0.13 } },
		"1980 MHz for the base and 1755 MHz for the head",
		/in the GPU's cycles the change is \+0\.1 %.*limited in the head by hw-thermal/,
	],
	[
		"memory",
		{ gpu: gpu({ memoryUsedBytes: 79 * gib }, null), memoryBytes: 80 * gib },
		"the GPU's memory was 99 % full in the head",
		/79\.0? GiB of 80\.0? GiB; 1\.9 GiB in the base|of .*; .* in the base/,
	],
])("machineCauses claims %s from its evidence", (kind, facts, says, evidence) => {
	const [cause, ...others] = machineCauses({ runs: [], cudaGraph: false, ...facts });
	expect(others).toEqual([]);
	expect(cause?.kind).toBe(kind);
	expect(cause?.says).toContain(says);
	expect([...(cause?.evidence ?? []), cause?.try].join("; ")).toMatch(evidence);
});

it.each<[string, Partial<MachineFacts>]>([
	["nothing is known", {}],
	["launching is faster than the kernels", { runs: [run("base", 0.5), run("head", 0.7)] }],
	["only the base is launch-bound", { runs: [run("base", 0.95), run("head", 0.7)] }],
	["older results state no share and no bound", { runs: [run("base"), run("head")] }],
	["clocks are equal", { gpu: gpu({ smClockMhz: 1979 }, 0.04), latency: { estimate: 0.04 } }],
	[
		"a lower clock hides a larger change",
		{ gpu: gpu({ smClockMhz: 1755 }, -0.2), latency: { estimate: -0.1 } },
	],
	["the memory's size is unknown", { gpu: gpu({ memoryUsedBytes: 79 * gib }, null) }],
	["half of the memory is free", { gpu: gpu({ memoryUsedBytes: 40 * gib }, null), memoryBytes: 80 * gib }],
])("machineCauses claims nothing if %s", (_, facts) => {
	expect(machineCauses({ runs: [], cudaGraph: false, ...facts })).toEqual([]);
});
