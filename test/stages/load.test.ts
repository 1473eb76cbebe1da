// Measures real worker processes whose TensorRT and clock are stand-ins, with planted service times.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Arm, WorkloadResult } from "../../generated/result.ts";
import { noTelemetry } from "../../src/adapters/gpu/sampler.ts";
import { loadsOf } from "../../src/core/load/at-load.ts";
import type { Arrivals } from "../../src/core/load/queues.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import type { BuiltEngine } from "../../src/ports/backend.ts";
import type { Telemetry } from "../../src/ports/world.ts";
import type { LifetimeFound } from "../../src/stages/lifetime.ts";
import { measureLoads } from "../../src/stages/load.ts";
import { measureTogether } from "../../src/stages/together.ts";
import type { TimedWorkload } from "../../src/stages/workloads.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { buildComparison, buildGpuWindow, buildStats } from "../support/build-result.ts";
import { fakeEngine, silent } from "../support/fakes.ts";
import { temporaryFolder } from "../support/project.ts";
import { bed } from "../support/replay/bed.ts";
import { type FakePlan, fakeWorker, missing, writePlan } from "../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const shapes = [1, 8, 8].map((batch) => [batch, 2]);
const plan: FakePlan = {
	inputs: [{ name: "x", dtype: "FLOAT", shape: [-1, 2] }],
	outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, 2], op: "same", from: "x" }],
	profiles: [{ x: shapes }],
	clock: "virtual",
};
const config = loaded(withModel("dims: { batch: { min: 1, opt: 4, max: 8 } }"));
const [spec] = engineSpecs(config);

function engine(arm: Arm, change: Partial<FakePlan>): BuiltEngine {
	const plain = fakeEngine(arm, `${arm}${JSON.stringify(change)}`);
	return { ...plain, spec: spec!, path: writePlan(temporaryFolder(), { ...plan, ...change }) };
}

interface Asked {
	base?: Partial<FakePlan>;
	head: Partial<FakePlan>;
	batches?: number[];
	/** A batch that the base's engine does not take. */
	isNew?: number;
	maxBatch?: number;
	slo?: { p99Ms: number; ratePerSecond: number };
	arrivals?: Arrivals;
	maxDelayMs?: number;
	durationMs?: number;
	telemetry?: Telemetry;
	/** Filled. */
	notes?: string[];
}

function portsWith(telemetry: Telemetry = noTelemetry()) {
	const clock = { now: () => performance.now(), timestamp: () => "" };
	const { backend } = bed({ worker: fakeWorker() });
	return { backend, progress: silent, interrupt: { reason: () => null }, clock, telemetry };
}

async function measured({
	base,
	head,
	batches = [1],
	isNew,
	maxBatch,
	slo,
	arrivals = "poisson",
	maxDelayMs = 0,
	durationMs = 2000,
	telemetry,
	notes: said = [],
}: Asked) {
	const sides = { head: engine("head", head), ...(base && { base: engine("base", base) }) };
	const level = spec!.engine.workloads[0]!;
	const workloads = batches.map((batch): TimedWorkload => {
		const own = { ...level, name: `batch ${batch}` };
		const workload = { id: `net/engine/${own.name}`, engineId: spec!.id, config: own };
		const inputs = [{ name: "x", dtype: "float32", shape: [batch, 2], fill: "normal" }] as const;
		const taken = batch === isNew ? { head: sides.head } : sides;
		return { workload, ...taken, inputs, firstArms: ["base", "head", "head", "base", "head"] };
	});
	const rows = workloads.map(({ workload, inputs: [input] }): WorkloadResult => {
		const latency = buildComparison({ base: 10, head: 10, interval: [0, 0] });
		return {
			...{ id: workload.id, model: spec!.model.name, engine: spec!.engine.name },
			...{ workload: workload.config.name, precision: "fp32", shapes: { x: [...input!.shape] }, streams: 1 },
			...{ verdict: "unchanged", latency, p99: latency, memory: latency, replaced: 0, runs: [] },
			...{ base: buildStats(10), head: buildStats(10), noise: { runCv: null, detectable: null } },
		};
	});
	const ports = portsWith(telemetry);
	const load = { ...config.measure.load, durationMs, maxDelayMs, ...(maxBatch && { maxBatch }) };
	const input = {
		...{ workloads, measure: { ...config.measure, looks: [5], load }, family: 1, arrivals },
		...{
			loads: loadsOf(rows, () => ({ gates: slo ? { slo } : {}, dims: {} })),
			outFolder: join(temporaryFolder(), "out"),
		},
		noBase: () => ({ verdict: "missing", reason: "New." }) as const,
	};
	const found: LifetimeFound[] = [];
	for await (const one of measureLoads(input, ports)) found.push(one);
	expect(found.flatMap(({ errors = [] }) => errors)).toEqual([]);
	said.push(...found.flatMap(({ notes = [] }) => notes));
	return found.flatMap(({ measuredLoads = [] }) => measuredLoads);
}

suite("measureLoads", () => {
	it("finds what 3 % more service time adds to the P99 at 80 % load, and at the rate of an slo", async () => {
		const slo = { p99Ms: 50, ratePerSecond: 50 };
		const [load] = await measured({ base: { serviceMs: [10] }, head: { serviceMs: [10.3] }, slo });
		expect(load).toMatchObject({ arrivals: "poisson", maxBatch: 1, replaced: 0 });
		const [busy, calm] = load!.points;
		expect(busy).toMatchObject({ share: 0.8, base: { runs: 5, requests: 2500 }, head: { runs: 5 } });
		expect(busy!.ratePerSecond).toBeCloseTo(80, 0);
		expect(busy!.comparison.verdict).toBe("regressed");
		expect(busy!.comparison.estimate).toBeGreaterThan(0.08);
		expect(busy!.base!.serviceMs).toBeCloseTo(10, 1);
		expect(busy!.base!.latenessMs).toBeLessThan(0.01);
		expect(calm).toMatchObject({ share: null, ratePerSecond: 50 });
		expect(calm!.head!.p99.highMs).toBeGreaterThan(calm!.head!.p99Ms);
		expect(calm!.head!.p99.lowMs).toBeLessThan(calm!.head!.p99Ms);
	});

	it("finds nothing between two engines of one service time, and serves workloads that differ in their batch as one batcher", async () => {
		const serviceMs = [10, 11, 12, 13];
		const loads = await measured({
			base: { serviceMs },
			head: { serviceMs },
			batches: [1, 4],
			maxDelayMs: 3,
		});
		expect(loads).toMatchObject([{ batches: [1, 4], maxBatch: 4, maxDelayMs: 3 }]);
		const [point] = loads[0]!.points;
		expect(point!.ratePerSecond).toBeCloseTo(0.8 * (4000 / 13), 0);
		expect(point).toMatchObject({ comparison: { verdict: "unchanged" } });
		expect(point!.base).toEqual(point!.head);
	});

	it.each([
		[2, [1, 4], [10, 11, 12, 13], 0.8 * (2000 / 11)],
		[2, [3, 4], [10, 11, 12, 13], 0.8 * (2000 / 12)],
		[4, [1, 3, 4], [10, 11, 12, 24], 0.8 * (4000 / 24)],
	])(
		"takes the capacity of batches of %d where %j are timed and take %j ms",
		async (maxBatch, batches, serviceMs, expected) => {
			const head = { serviceMs };
			const [load] = await measured({ head, batches, maxBatch });
			expect(load).toMatchObject({ batches, maxBatch });
			expect(load!.points[0]!.ratePerSecond).toBeCloseTo(expected, 0);
			expect(load!.points[0]!.head!.p99Ms).toBeLessThan(100);
		},
	);

	it("sends an engine no more requests than it serves within the limit of a process", async () => {
		const slo = { p99Ms: 50, ratePerSecond: 1000 };
		const [load] = await measured({ head: { serviceMs: [2000] }, slo });
		// 0.4 and 0.5 a second, a quarter of ten minutes, three runs.
		const close = (count: number) => ({ head: { requests: expect.closeTo(count, -1) } });
		expect(load!.points).toMatchObject([close(3 * 60), close(3 * 75)]);
		expect(load!.points[1]!.head!.p99Ms).toBeLessThan(150_000);
	});

	it.each([1, 4])("measures no base that takes no batch of %d", async (isNew) => {
		const serviceMs = [10, 11, 12, 13];
		const sides = { base: { serviceMs }, head: { serviceMs } };
		const loads = await measured({ ...sides, batches: [1, 4], isNew, durationMs: 20 });
		expect(loads).toMatchObject([
			{ batches: [1, 4], points: [{ base: null, comparison: { verdict: "missing" } }] },
		]);
	});

	it("launches kernels one by one where each size of batch would be a graph too many", async () => {
		const profiles = [{ x: [1, 17, 17].map((batch) => [batch, 2]) }];
		const head = { serviceMs: [10], refusesCapture: true, profiles };
		const [load] = await measured({ head, batches: [1, 17], durationMs: 20 });
		expect(load).toMatchObject({ maxBatch: 17, points: [{ head: { runs: 3 } }] });
	});

	it("says that nothing was served if no workload can be", async () => {
		const notes: string[] = [];
		expect(await measured({ head: { serviceMs: [10] }, batches: [], notes })).toEqual([]);
		expect(notes).toEqual([expect.stringMatching(/^measure.load: no requests were served/)]);
	});

	it("replays a file of arrivals at its own rate, for a head without a base too", async () => {
		const arrivals = Float64Array.from([0, 0, 100, 100, 200, 200]);
		const [load] = await measured({ head: { serviceMs: [10] }, arrivals });
		const [point] = load!.points;
		expect(point).toMatchObject({
			share: null,
			ratePerSecond: 25,
			base: null,
			comparison: { verdict: "missing" },
		});
		expect(point!.head).toMatchObject({ runs: 3, requests: 18, p99: { highMs: null } });
		expect(point!.head!.p50Ms).toBeCloseTo(15, 0);
	});

	it("gives no figures where requests were sent late, and names the service time that could be paced", async () => {
		const head = { serviceMs: [0.02] };
		const [load] = await measured({ head, durationMs: 20 });
		expect(load).toMatchObject({ points: [], replaced: 3 });
		expect(load!.reason).toMatch(
			/sent up to 3\.\d+ µs late .P99., more than 5 % of the service time of 2\d\.\d+ µs; .+ engine that takes 60\.\d+ µs or more/,
		);
	});
});

/** Another process uses the GPU in these runs, counted from 0. */
function disturbed(isDisturbed: (run: number) => boolean, calls: string[] = []): Telemetry {
	const spans: number[] = [];
	return {
		...noTelemetry(),
		start: async () => void calls.push("start"),
		stop: async () => void calls.push("stop"),
		foreignProcesses: (fromMs) => {
			if (!spans.includes(fromMs)) spans.push(fromMs);
			return isDisturbed(spans.indexOf(fromMs)) ? [{ pid: 77, name: "miner" }] : [];
		},
	};
}

suite("a disturbed GPU", () => {
	it("repeats the pair whose run another process shared, and says so", async () => {
		const calls: string[] = [];
		const telemetry = disturbed((run) => run === 3, calls);
		const notes: string[] = [];
		const [load] = await measured({ base: { serviceMs: [10] }, head: { serviceMs: [10] }, telemetry, notes });
		expect(load).toMatchObject({ replaced: 1, points: [{ base: { runs: 5 }, head: { runs: 5 } }] });
		expect(load).not.toHaveProperty("reason");
		expect(notes).toEqual([expect.stringMatching(/at load: 1 pair repeated, the last because .+ miner/)]);
		expect(calls).toEqual(["start", "stop"]);
	});

	it("gives no figures where its clocks are limited in every run", async () => {
		const gpu = buildGpuWindow({ throttleReasons: ["hw-thermal"] });
		const telemetry = { ...noTelemetry(), window: () => gpu };
		const [load] = await measured({ head: { serviceMs: [10] }, telemetry });
		expect(load).toMatchObject({ points: [], replaced: 3 });
		expect(load!.reason).toMatch(/^More than 3 pairs .+ clocks were limited by a thermal slowdown/);
	});

	it("keeps runs whose clock falls between requests", async () => {
		let mhz = 1000;
		const window = () => {
			mhz += 50;
			return buildGpuWindow({ smClockMhz: { mean: mhz, min: mhz, max: mhz } });
		};
		const [load] = await measured({ head: { serviceMs: [10] }, telemetry: { ...noTelemetry(), window } });
		expect(load).toMatchObject({ replaced: 0, points: [{ head: { runs: 3 } }] });
	});
});

suite("measureTogether", () => {
	it("runs two engines at once and each alone, and finds which one a slower neighbour slows", async () => {
		const level = spec!.engine.workloads[0]!;
		const timed = (name: string, base: number, head: number): TimedWorkload => {
			const own = { ...spec!, model: { ...spec!.model, name } };
			const side = (arm: Arm, ms: number) => ({ ...engine(arm, { serviceMs: [ms] }), spec: own });
			const workload = { id: `${name}/engine`, engineId: `${name}/engine`, config: level };
			const inputs = [{ name: "x", dtype: "float32", shape: [1, 2], fill: "normal" }] as const;
			const sides = { base: side("base", base), head: side("head", head) };
			return { workload, ...sides, inputs, firstArms: ["base", "head", "head", "base", "head"] };
		};
		const load = { ...config.measure.load, durationMs: 300, together: ["a + b", "a + c"] };
		const input = {
			...{ workloads: [timed("a", 10, 10), timed("b", 4, 6)], family: 1 },
			...{ measure: { ...config.measure, looks: [5], load }, outFolder: join(temporaryFolder(), "out") },
			noBase: () => ({ verdict: "missing", reason: "New." }) as const,
		};
		const ports = portsWith();
		const isShared = { ...ports, telemetry: disturbed(() => true) };
		const refused: LifetimeFound[] = [];
		for await (const one of measureTogether(input, isShared)) refused.push(one);
		expect(refused.flatMap(({ together = [] }) => together)).toEqual([]);
		expect(refused.flatMap(({ errors = [] }) => errors)).toMatchObject([
			{ code: "runs-unstable", message: expect.stringContaining("miner") },
		]);
		const found: LifetimeFound[] = [];
		for await (const one of measureTogether(input, ports)) found.push(one);
		expect(found.flatMap(({ errors = [] }) => errors)).toEqual([]);
		expect(found.flatMap(({ notes = [] }) => notes)).toEqual([
			expect.stringMatching(/a \+ c was not measured/),
		]);
		const [a, b] = found.flatMap(({ together = [] }) => together);
		const close = (ms: number) => expect.closeTo(ms, 0);
		expect(a).toMatchObject({
			...{ model: "a", comparison: { verdict: "regressed" } },
			base: { runs: 5, aloneMs: close(10), togetherMs: close(14) },
			head: { aloneMs: close(10), togetherMs: close(16) },
		});
		expect(b).toMatchObject({ model: "b", base: { aloneMs: close(4) }, head: { aloneMs: close(6) } });
		expect(b!.beside).toMatch(/^a\//);
		const shortest = { ...input, measure: { ...input.measure, load: { ...load, durationMs: 1 } } };
		for await (const { together = [] } of measureTogether(shortest, ports))
			for (const { base } of together) expect(base!.togetherMs).toBeGreaterThan(0);
	});
});
