import { expect, it } from "vitest";
import type { GpuWindow, PerfRun } from "../../generated/result.ts";
import type { ForeignProcess } from "../../src/core/telemetry/conditions.ts";
import type { Telemetry } from "../../src/ports/world.ts";
import { type MeasureInput, measure } from "../../src/stages/measure.ts";
import type { TimedWorkload } from "../../src/stages/workloads.ts";
import { buildConfig } from "../support/build-config.ts";
import { buildGpuWindow } from "../support/build-result.ts";
import { fakeWorkload, onlyOf, silent, steadyRun } from "../support/fakes.ts";

interface Moment {
	clock?: number;
	reasons?: string[];
	foreignProcesses?: ForeignProcess[];
}

/** What happens to the GPU during a run, each of which takes a second. */
type Moments = (order: number) => Moment | null;

function world(moment: Moments) {
	let nowMs = 0;
	const spans: { at: Moment | null; fromMs: number }[] = [];
	const calls: string[] = [];
	const of = (fromMs: number): Moment | null => spans.find((span) => span.fromMs === fromMs)?.at ?? null;
	const window = (fromMs: number): GpuWindow | null => {
		const at = of(fromMs);
		if (at === null) return null;
		const clock = at.clock ?? 1980;
		const smClockMhz = { mean: clock, min: clock, max: clock };
		return buildGpuWindow({ smClockMhz, throttleReasons: at.reasons ?? [] });
	};
	const telemetry: Telemetry = {
		start: async () => void calls.push("start"),
		stop: async () => void calls.push("stop"),
		window,
		foreignProcesses: (fromMs) => of(fromMs)?.foreignProcesses ?? [],
		degradations: () => [],
	};
	const backend = {
		measure: async ({ durationMs }: { durationMs: number }) => {
			if (durationMs === 0) return steadyRun(1);
			const at = moment(spans.length);
			spans.push({ at, fromMs: nowMs });
			nowMs += 1000;
			return { ...steadyRun(1, 500), wallMs: 1000, timedMs: 1000 };
		},
	};
	const progress = { ...silent, detail: (text: string) => void calls.push(text) };
	const clock = { now: () => nowMs, timestamp: () => "" };
	const ports = { backend, telemetry, progress, interrupt: { reason: () => null }, clock };
	return { ports: ports as unknown as Parameters<typeof measure>[1], calls };
}

const settings = { ...buildConfig().measure, looks: [5], adaptsLength: false };
const input: MeasureInput = {
	workloads: [fakeWorkload("one", { base: "a", head: "b" }, ["base", "head", "base", "head", "base"])],
	measure: settings,
	family: 1,
	noBase: () => ({ verdict: "missing" }),
	outFolder: "/out",
};

async function run(moment: Moments) {
	const { ports, calls } = world(moment);
	return { ...(await onlyOf(measure(input, ports))), calls };
}

const counted = (runs: readonly PerfRun[]) =>
	(["base", "head"] as const).map((arm) =>
		runs.flatMap((one) => (one.arm === arm && one.state === "ok" ? [one.pair] : [])).sort(),
	);
const allPairs = [0, 1, 2, 3, 4];

it("measure beside a GPU records window and compute share on every run, and watches for the time of the measurements alone", async () => {
	const { row, calls } = await run(() => ({}));
	expect(row.replaced).toBe(0);
	expect(row.runs).toHaveLength(10);
	const gpu = { samples: 6, smClockMhz: { mean: 1980 } };
	for (const one of row.runs) expect(one).toMatchObject({ state: "ok", computeShare: 0.5, gpu });
	expect([calls[0], calls.at(-1)]).toEqual(["start", "stop"]);
});

it("measure beside a GPU measures a pair again, both runs of it, when one was throttled", async () => {
	const { row, calls } = await run((order) => (order === 3 ? { reasons: ["hw-thermal"] } : {}));
	expect(row.replaced).toBe(1);
	expect(row.runs).toHaveLength(12);
	const reason = "the GPU's clocks were limited by a thermal slowdown by the hardware";
	expect(row.runs.filter(({ state }) => state === "unusable")).toMatchObject([
		{ order: 2, reason: "the other run of its pair did not count" },
		{ order: 3, reason },
	]);
	expect(counted(row.runs)).toEqual([allPairs, allPairs]);
	expect(row.latency.pairs).toBe(5);
	expect(calls).toContain(`pair 2 again: ${reason}`);
});

it("measure beside a GPU finds out later that the first run's clock was off", async () => {
	const { row } = await run((order) => (order === 0 ? { clock: 1400 } : {}));
	expect(row.replaced).toBe(1);
	const reason = "the GPU's clock was 1400 MHz, in all runs 1980 MHz";
	expect(row.runs[0]).toMatchObject({ state: "unusable", reason });
	expect(counted(row.runs)).toEqual([allPairs, allPairs]);
});

it("measure beside a GPU gives up when more than three pairs do not count, and explains why", async () => {
	const foreignProcesses = [{ pid: 7, name: "miner", memoryBytes: null }];
	const { error } = await run(() => ({ foreignProcesses }));
	expect(error).toMatchObject({
		code: "runs-unstable",
		message:
			"More than 3 pairs of runs were invalid, the last because another process used the GPU: miner (process 7).",
	});
});

it("measure beside a GPU records nothing if no GPU is watched", async () => {
	const { row } = await run(() => null);
	expect(row.replaced).toBe(0);
	expect(row.runs).not.toEqual([]);
	for (const one of row.runs) expect(Object.keys(one)).not.toContain("computeShare");
});

it("measure takes the clocks of paced runs as they come, and tells where the pauses are none", async () => {
	const { ports } = world((order) => ({ clock: order === 3 ? 700 : 1980 }));
	const [one] = input.workloads as [TimedWorkload];
	const config = { ...one.workload.config, everyMs: 1 };
	const workloads = [{ ...one, workload: { ...one.workload, config } }];
	const { row } = await onlyOf(measure({ ...input, workloads }, ports));
	expect(row).toMatchObject({ everyMs: 1, replaced: 0 });
	expect(row.notes?.at(-1)).toMatch(/takes 1\.000 ms, so at an interval of 1\.000 ms the GPU was never idle/);
	expect((await run((order) => ({ clock: order === 3 ? 700 : 1980 }))).row.replaced).toBe(1);
});
