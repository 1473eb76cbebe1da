import { expect, it } from "vitest";
import type { Arm } from "../../generated/result.ts";
import { firstArms } from "../../src/core/compare/pairs.ts";
import type { MeasureJob, MeasureResult } from "../../src/ports/backend.ts";
import { type MeasureInput, measure } from "../../src/stages/measure.ts";
import type { TimedWorkload } from "../../src/stages/workloads.ts";
import { buildConfig } from "../support/build-config.ts";
import {
	brokenRun,
	fakeBackend,
	fakeEngine,
	fakePorts,
	fakeWorkload,
	onlyOf,
	steadyRun,
} from "../support/fakes.ts";

const config = buildConfig();
const order = firstArms("seed", 16);

const timed = (hashes: Partial<Record<Arm, string>> = { base: "a", head: "b" }) =>
	fakeWorkload("one", hashes, order);

const wobble = (nth: number) => 1 + 0.0005 * Math.sin(nth * 7);
const steady = (_: Arm, nth: number) => steadyRun(wobble(nth));

async function measureOne(
	answer: (arm: Arm, nth: number, job: MeasureJob) => MeasureResult,
	options: { timed?: TimedWorkload; stopAfter?: number; cudaGraph?: boolean } = {},
) {
	const backend = fakeBackend(answer);
	const input: MeasureInput = {
		workloads: [options.timed ?? timed()],
		measure: { ...config.measure, cudaGraph: options.cudaGraph ?? true },
		family: 1,
		noBase: () => ({ verdict: "missing", reason: "new" }),
		outFolder: "/out",
	};
	return { backend, ...(await onlyOf(measure(input, fakePorts(backend, options.stopAfter)))) };
}

it("measure runs the pairs in the plan's order up to the first look that decides, after one discarded run of each side", async () => {
	const { backend } = await measureOne(steady);
	expect(backend.warmed).toEqual(["base", "head"]);
	const pairs = { base: ["base", "head"], head: ["head", "base"] };
	expect(backend.order).toEqual(order.slice(0, 5).flatMap((first) => pairs[first]));
});

it("measure lets the builds of a side take turns, pair by pair, and the verdict counts how they differ", async () => {
	const one = timed();
	const rebuilds = (arm: Arm) =>
		[2, 3].map((number) => ({ ...fakeEngine(arm, `${arm}${number}`), path: `/${arm}${number}` }));
	const factors: Record<string, number> = { "/head2": 1.01, "/base3": 1.008 };
	const head = { ...one.head, rebuilds: rebuilds("head") };
	const base = { ...one.base!, rebuilds: rebuilds("base") };
	const answer = (_: Arm, nth: number, job: MeasureJob) =>
		steadyRun(wobble(nth) * (factors[job.engine.path] ?? 1));
	const { row } = await measureOne(answer, { timed: { ...one, head, base } });
	for (const { pair, build } of row.runs) expect(build).toBe(pair % 3);
	expect(row.latency.builds?.count).toBe(3);
	expect(row.latency.builds?.sd).toBeGreaterThan(0.003);
	for (const { arm, build, medianMs } of row.runs)
		if (arm === "head" && build === 1) expect(medianMs).toBeGreaterThan(1.008);
});

it.each([
	["both", true, /takes the GPU, so that .+ Check that this engine runs as a CUDA graph/],
	["both", false, /takes the GPU, so that .+ `measure.cuda-graph: true` launches them all at once\./],
	["head", false, /takes the GPU in the head, so that/],
] as const)(
	"measure reports once where launching the kernels is the bottleneck: %s sides, CUDA graph %s",
	async (arms, cudaGraph, words) => {
		const answer = (arm: Arm, nth: number): MeasureResult => ({
			...(steadyRun(wobble(nth)) as Extract<MeasureResult, { state: "ok" }>),
			enqueueShare: (arms === "both" || arm === arms ? nth !== 1 : nth === 1) ? 0.95 : 0.4,
		});
		const { row } = await measureOne(answer, { cudaGraph });
		expect(row.notes).toHaveLength(1);
		expect(row.notes?.[0]).toMatch(words);
	},
);

it("measure reports nothing of launching where it is none", async () => {
	const answer = (_: Arm, nth: number) => ({ ...steadyRun(wobble(nth)), enqueueShare: 0.8 }) as MeasureResult;
	const { row } = await measureOne(answer);
	expect(row.notes).toBeUndefined();
	expect(row.runs[0]).toMatchObject({ enqueueBound: false, enqueueShare: 0.8 });
});

it("measure adds pairs while it is undecided, to the last look and no further", async () => {
	const noisy = [1, 1.3, 0.8, 1.2, 0.9, 1.4, 0.7];
	const { backend, row } = await measureOne((_, nth) => steadyRun(noisy[(nth * 3) % noisy.length] ?? 1));
	expect(backend.order).toHaveLength(32);
	expect(row).toMatchObject({ verdict: "inconclusive", latency: { pairs: 16 } });
});

it("measure times nothing if both engines have the same bytes", async () => {
	const { backend, row } = await measureOne(() => steadyRun(1), { timed: timed({ base: "a", head: "a" }) });
	expect([backend.order, backend.warmed]).toEqual([[], []]);
	expect(row).toMatchObject({ verdict: "unchanged", latency: { estimate: 0, excluded: 0 } });
});

it("measure measures a workload without a base three times, and gives no verdict", async () => {
	const { backend, row } = await measureOne(() => steadyRun(1), { timed: timed({ head: "b" }) });
	expect(backend.order).toEqual(["head", "head", "head"]);
	expect(row.verdict).toBe("missing");
	expect(row.head?.medianMs).toBe(1);
});

it.each(["base", "head"] as const)(
	"measure replaces a pair whole when its %s run breaks, whichever side it was",
	async (broken) => {
		let seen = 0;
		const { row } = await measureOne((arm, nth) => {
			if (arm === broken) seen += 1;
			return arm === broken && seen === 1 ? brokenRun("it crashed") : steadyRun(wobble(nth));
		});
		expect(row.replaced).toBe(1);
		expect(row.latency.pairs).toBe(5);
		const counted = row.runs.filter((run) => run.state === "ok").map(({ arm }) => arm);
		expect(counted.sort()).toEqual([...Array(5).fill("base"), ...Array(5).fill("head")]);
		for (const { state, reason } of row.runs) expect(reason === undefined).toBe(state === "ok");
	},
);

it("measure gives a workload up after three replacements, keeping every run and the last reason", async () => {
	const { row, error } = await measureOne((arm, nth) =>
		arm === "head" ? brokenRun(`crash ${nth}`) : steadyRun(1),
	);
	expect(error).toMatchObject({ kind: "runner", code: "tool-crashed" });
	expect(row).toMatchObject({ verdict: "not-comparable", replaced: 3 });
});

it.each([
	["empty", []],
	["not finite", [1, Number.NaN]],
])("measure rejects a run whose samples are %s", async (_, values) => {
	const samplesMs = Float64Array.from(values);
	const { row } = await measureOne(() => ({ ...steadyRun(1), samplesMs }) as MeasureResult);
	expect(row.verdict).toBe("not-comparable");
});

it("measure keeps the pairs so far when it is interrupted, and calls them inconclusive", async () => {
	const { row } = await measureOne(steady, { stopAfter: 5 });
	expect(row).toMatchObject({ verdict: "inconclusive", latency: { reason: "The timing was interrupted." } });
	expect(row.runs.length).toBeGreaterThanOrEqual(5);
});
