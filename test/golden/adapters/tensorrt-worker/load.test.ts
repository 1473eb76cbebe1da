// Serves schedules in real worker processes whose TensorRT and clock are stand-ins, so that all figures are exact.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { closedLoopMs, type LoadRequest, type LoadRun } from "../../../../src/core/load/measured.ts";
import { poissonArrivals, schedule, simulateBatcher } from "../../../../src/core/load/queues.ts";
import { quantile } from "../../../../src/core/stats/quantile.ts";
import { temporaryFolder } from "../../../support/project.ts";
import { type FakePlan, fakeWorker, float32, missing, writePlan } from "../../../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const shapes = [1, 8, 8].map((batch) => [batch, 2]);
const plan: FakePlan = {
	inputs: [{ name: "x", dtype: "FLOAT", shape: [-1, 2] }],
	outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, 2], op: "same", from: "x" }],
	profiles: [{ x: shapes }],
	clock: "virtual",
};
const table = [10, 12, 14, 16, 18, 20, 22, 24];
const single = { batched: [], minBatch: 1, maxBatch: 1, maxDelayMs: 0, graph: false };
const batcher = { batched: ["x"], minBatch: 1, maxBatch: 8, maxDelayMs: 0, graph: true };

async function serve(engine: Partial<FakePlan>, items: number, ...loads: LoadRequest[]): Promise<LoadRun[]> {
	const folder = temporaryFolder();
	const inputs = { x: float32([items, 2], new Array(2 * items).fill(1)) };
	const asked = loads.map((load, index) => ({ id: `${index}`, inputs: {}, load }));
	const result = await fakeWorker().infer({
		...{ cases: [{ id: "inputs", inputs }, ...asked], device: 0, plugins: [], timeoutMs: 600_000 },
		...{ onnxPath: "model.onnx", isStripped: false, mode: "load", logPath: join(folder, "worker.log") },
		enginePath: writePlan(folder, { ...plan, ...engine }),
	});
	if (result.state === "failed") throw new Error(result.failure.message);
	return result.cases.flatMap((one) => {
		if (one.state === "failed") throw new Error(one.message);
		return one.figures !== undefined && "latencyMs" in one.figures ? [one.figures] : [];
	});
}

const mean = (values: Float64Array) => values.reduce((sum, ms) => sum + ms, 0) / values.length;
const sorted = (values: Float64Array) => values.slice().sort();
const poisson = (perSecond: number, count: number) => schedule("poisson", { seed: 3, count, perSecond });

/** The worker looks at the clock a few times for each request, at 1 µs. */
const clockMs = 0.1;

function expectClose(got: Float64Array, expected: Float64Array, toleranceMs: number) {
	const apart = got.reduce((most, ms, index) => Math.max(most, Math.abs(ms - (expected[index] ?? NaN))), 0);
	expect(apart).toBeLessThan(toleranceMs);
}

suite("a schedule", () => {
	it("of constant arrivals below the capacity takes the service time, and of requests at once is a closed loop", async () => {
		const arrivalsMs = schedule("constant", { seed: 1, count: 500, perSecond: 90 });
		const closed = { ...single, arrivalsMs: new Float64Array(50) };
		const [open, loop] = await serve({ serviceMs: [10] }, 1, { ...single, arrivalsMs }, closed);
		expectClose(open!.latencyMs, new Float64Array(500).fill(10), 0.1);
		expect(quantile(sorted(open!.latenessMs), 1)).toBeLessThan(0.01);
		expect(closedLoopMs(loop!, 1)).toBeCloseTo(10, 1);
	});

	it.each([0.5, 0.9])("of Poisson arrivals at a load of %d waits as replayed", async (load) => {
		const arrivalsMs = poisson(100 * load, 5000);
		const [run] = await serve({ serviceMs: [10] }, 1, { ...single, arrivalsMs });
		const replayed = simulateBatcher({ arrivals: arrivalsMs, ...single, serviceMs: () => 10 });
		// Reading the clock takes 0.05 % of a service time, which adds up in busy periods.
		const p99 = (values: Float64Array) => quantile(sorted(values), 0.99);
		for (const figure of [mean, p99])
			expect(Math.abs(figure(run!.latencyMs) / figure(replayed) - 1)).toBeLessThan(0.01);
	});

	it.each([
		[0, true],
		[20, true],
		[20, false],
	])(
		"served in batches, with a delay of %d ms (as graphs: %s), is what the simulated batcher gives",
		async (maxDelayMs, graph) => {
			const arrivalsMs = poisson(240, 4000);
			const [run] = await serve({ serviceMs: table }, 8, { ...batcher, graph, maxDelayMs, arrivalsMs });
			const serviceMs = (batch: number) => table[batch - 1] ?? NaN;
			const simulated = simulateBatcher({ arrivals: arrivalsMs, maxBatch: 8, maxDelayMs, serviceMs });
			expect(Math.abs(mean(run!.latencyMs) / mean(simulated) - 1)).toBeLessThan(0.03);
		},
	);

	it("pads batches that are smaller than the smallest timed one", async () => {
		const arrivalsMs = schedule("constant", { seed: 1, count: 20, perSecond: 10 });
		const [run] = await serve({ serviceMs: table }, 8, { ...batcher, minBatch: 4, arrivalsMs });
		expectClose(run!.latencyMs, new Float64Array(20).fill(16), clockMs);
	});

	it("goes on while the engine is halted for a second: latencies count from the arrivals, as a closed loop's do not", async () => {
		const arrivalsMs = schedule("constant", { seed: 1, count: 3000, perSecond: 80 });
		// The inputs' case is the first run.
		const stall = { run: 1002, ms: 1000 };
		const [run] = await serve({ serviceMs: [10], stall }, 1, { ...single, arrivalsMs });
		let served = 0;
		const serviceMs = () => (++served === stall.run - 1 ? 1010 : 10);
		const replayed = simulateBatcher({ arrivals: arrivalsMs, ...single, serviceMs });
		const at = (values: Float64Array, share: number) => quantile(sorted(values), share);
		for (const share of [0.5, 0.99, 1])
			expect(at(run!.latencyMs, share) / at(replayed, share)).toBeCloseTo(1, 2);
		expect(at(run!.latencyMs, 1)).toBeGreaterThan(1000);
		expect(at(run!.latencyMs, 0.99)).toBeGreaterThan(500);
		const loop = new Float64Array(3000).fill(10);
		loop[1000] = 1010;
		expect(at(loop, 0.99)).toBe(10);
	});

	it("is served by a CUDA graph as without", async () => {
		const arrivalsMs = poisson(80, 1000);
		const load = { ...single, arrivalsMs };
		const [plain, graph] = await serve({ serviceMs: [10] }, 1, load, { ...load, graph: true });
		expectClose(graph!.latencyMs, plain!.latencyMs, clockMs);
	});

	it.each([
		["whose work waits for the host", { refusesCapture: true }],
		[
			"of a size that the data decides",
			{ outputs: [{ ...plan.outputs[0]!, dtype: "INT64", op: "nonzero" }] },
		],
	])("is refused for an engine %s, with the remedy", async (_, engine) => {
		const load = { ...single, arrivalsMs: poissonArrivals(1, 10, 1), graph: true };
		await expect(serve(engine, 1, load)).rejects.toThrow(/CUDA graph, set measure.cuda-graph to false/);
	});

	it("of batches is served kernel by kernel where TensorRT gives an optimization profile to one context", async () => {
		const load = { ...batcher, arrivalsMs: schedule("constant", { seed: 1, count: 20, perSecond: 10 }) };
		const engine = { serviceMs: table, isTensorRT8: true, mostContexts: 1, refusesCapture: true };
		const [run] = await serve(engine, 8, load);
		expectClose(run!.latencyMs, new Float64Array(20).fill(10), clockMs);
	});

	it("of batches is refused where the GPU's memory holds no context for each size, with the remedy", async () => {
		const load = { ...batcher, arrivalsMs: poissonArrivals(1, 10, 1) };
		await expect(serve({ mostContexts: 4 }, 8, load)).rejects.toThrow(
			/each size of batch has a context, and .*OutOfMemory.* Lower measure.load.max-batch/,
		);
	});

	it("without inputs is refused", async () => {
		const refused = { ...plan, behave: [{ run: 1, do: "refuse" }] };
		const load = { ...single, arrivalsMs: poissonArrivals(1, 10, 1) };
		await expect(serve(refused, 1, load)).rejects.toThrow(/refused/);
	});
});
