// Starts and soaks real worker processes whose TensorRT is a stand-in, with planted delays and leaks.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Arm, GateResult } from "../../generated/result.ts";
import { judgeMemoryGrowth, judgeStartUp } from "../../src/core/gates/serving.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import type { Backend, BuiltEngine } from "../../src/ports/backend.ts";
import { type LifetimeFound, soakEngines, timeStarts } from "../../src/stages/lifetime.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { fakeEngine, silent } from "../support/fakes.ts";
import { temporaryFolder } from "../support/project.ts";
import { bed } from "../support/replay/bed.ts";
import { type FakePlan, fakeWorker, missing, writePlan } from "../support/tensorrt-worker.ts";

const suite = missing === null ? describe : describe.skip;

const plan: FakePlan = {
	inputs: [{ name: "x", dtype: "FLOAT", shape: [-1, 2] }],
	outputs: [{ name: "y", dtype: "FLOAT", shape: [-1, 2], op: "same", from: "x" }],
	profiles: [
		{
			x: [
				[1, 2],
				[4, 2],
				[8, 2],
			],
		},
	],
};
const dims = "dims: { batch: { min: 1, opt: 4, max: 8 } }";
const config = loaded(withModel(dims));

function engine(arm: Arm, change: Partial<FakePlan> = {}): BuiltEngine {
	const plain = fakeEngine(arm, `${arm}${JSON.stringify(change)}`);
	const [spec] = engineSpecs(config);
	const port = (name: string) => ({ name, kind: "tensor", dtype: "float", dims: ["batch", 2] }) as const;
	const node = { name: "", domain: "", op: "Identity", inputs: ["x"], outputs: ["y"], attributes: [] };
	const graph = { ...plain.model.onnx.graph, nodes: [node], inputs: [port("x")], outputs: [port("y")] };
	const model = { ...plain.model, onnx: { ...plain.model.onnx, graph } };
	return { ...plain, spec: spec!, model, path: writePlan(temporaryFolder(), { ...plan, ...change }) };
}

const backend = () => bed({ worker: fakeWorker() }).backend;

function run(of: Pick<Backend, "infer">) {
	const ports = { backend: of, progress: silent, interrupt: { reason: () => null } };
	const noBase = () => ({ verdict: "missing", reason: "New." }) as const;
	const outFolder = join(temporaryFolder(), "out");
	return { ports, input: { workloads: [], measure: config.measure, family: 1, noBase, outFolder } };
}

async function collect(found: AsyncIterable<LifetimeFound>): Promise<LifetimeFound> {
	const all: LifetimeFound[] = [];
	for await (const one of found) all.push(one);
	return all[0] ?? {};
}

const statusOf = ([gate]: readonly GateResult[]) => [gate?.status, gate?.message];
const level = engineSpecs(config)[0]!.engine;

async function starts(
	base: BuiltEngine | undefined,
	head: BuiltEngine,
	of: Pick<Backend, "infer"> = backend(),
) {
	const { ports, input } = run(of);
	const workload = { id: "net/engine/one", engineId: head.spec.id, config: level.workloads[0]! };
	const inputs = [{ name: "x", dtype: "float32", shape: [4, 2], fill: "normal" }] as const;
	const firstArms = (["base", "head", "head", "base"] as const).flatMap((arm) => [arm, arm, arm, arm]);
	const timed = { workload, head, ...(base && { base }), inputs, firstArms };
	const found = await collect(timeStarts({ ...input, workloads: [timed, timed] }, ports));
	const [start] = found.startUps ?? [];
	return { found, start, gates: start === undefined ? [] : judgeStartUp(start, config, level) };
}

async function grown(engines: readonly BuiltEngine[], of: Pick<Backend, "infer"> = backend()) {
	const { ports, input } = run(of);
	const found = await collect(soakEngines(engines, input, ports));
	const [growth] = found.memoryGrowths ?? [];
	return { found, growth, gates: growth === undefined ? [] : judgeMemoryGrowth(growth, config, level) };
}

suite("start-up", () => {
	it("finds 50 ms at load, and names the part", async () => {
		const { start, gates } = await starts(engine("base"), engine("head", { loadMs: 50 }));
		expect(start?.comparison.verdict).toBe("regressed");
		const { base, head } = start!;
		expect(head!.parts["deserialize"]! - base!.parts["deserialize"]!).toBeGreaterThan(45);
		expect(head!.parts["first"]).toBeLessThan(50);
		expect(head!.totalMs - base!.totalMs).toBeGreaterThan(45);
		expect(head!.processes).toBe(start!.comparison.pairs);
		expect(head!.coldMs === null || head!.coldMs > 45).toBe(true);
		expect(head!.steadyAfter).toBeGreaterThanOrEqual(1);
		expect(statusOf(gates)[0]).toBe("warn");
	});

	it("shows a head without a base, and times nothing if both engines are the same", async () => {
		const alone = await starts(undefined, engine("head"));
		expect(alone.start).toMatchObject({
			base: null,
			head: { processes: 3 },
			comparison: { verdict: "missing" },
		});
		expect(alone.gates).toEqual([]);
		const head = engine("head");
		const same = await starts({ ...head, arm: "base" }, head);
		expect(same.start).toMatchObject({ head: null, comparison: { verdict: "unchanged" } });
		expect(statusOf(same.gates)[0]).toBe("pass");
	});

	it("says why nothing was timed, and which engine does not load", async () => {
		const without = bed().backend;
		expect(await starts(engine("base"), engine("head"), without)).toEqual({ found: {}, gates: [] });
		expect(without.notes?.()).toContainEqual(expect.stringMatching(/^Start-up, memory growth and load were/));
		const broken = engine("head", { behave: [{ run: 1, do: "refuse" }] });
		const failed = await starts(engine("base"), broken);
		expect(failed.found.errors).toMatchObject([{ model: "net", code: "tool-output" }]);
	});
});

suite("memory growth", () => {
	it("finds nothing in an engine that leaks nothing", async () => {
		const { growth, gates } = await grown([engine("base"), engine("head")]);
		expect(growth).toMatchObject({ state: "steady" });
		expect(growth!.phases).toMatchObject([
			{ phase: "same-shape", shapes: 1, liveBlocks: 1 },
			{ phase: "shape-changes", shapes: 3, liveBlocks: 1 },
			{ phase: "reloads", shapes: 1, liveBlocks: 1 },
		]);
		expect(growth!.phases[1]!.steps).toBeGreaterThan(3600);
		expect(statusOf(gates)[0]).toBe("pass");
	});

	it.each([
		["driver", "reserved"],
		["allocator", "used"],
		["host", "resident"],
	] as const)("finds 64 KiB that a change of shape loses to the %s", async (of, figure) => {
		const { growth, gates } = await grown([engine("head", { leak: { bytes: 65_536, each: "shape", of } })]);
		const growing = growth!.phases.flatMap(({ phase, figures }) =>
			figures.filter(({ grows }) => grows).map((one) => ({ phase, ...one })),
		);
		expect(growing.map(({ phase }) => phase)).toContain("shape-changes");
		expect(growing.map(({ phase }) => phase)).not.toContain("same-shape");
		const found = growing.find((one) => one.figure === figure && one.phase === "shape-changes")!;
		expect(found.slope / 1000).toBeGreaterThan(0.97 * 65_536);
		expect(found.slope / 1000).toBeLessThan(1.03 * 65_536);
		expect(statusOf(gates)).toMatchObject(["fail", /1,000 changes of shape/]);
	});

	it("finds what a reload does not free", async () => {
		const leak = { bytes: 1_000_000, each: "load", of: "driver" } as const;
		const { growth, gates } = await grown([engine("base"), engine("head", { leak })]);
		expect(growth).toMatchObject({ state: "grows" });
		expect(statusOf(gates)).toMatchObject(["fail", /^1,000 reloads: GPU memory grows by 9\d\d MiB/]);
	});

	it("leaves out engines that the base shares, and sizes that do not run", async () => {
		const narrow = engine("head", {
			profiles: [
				{
					x: [
						[1, 2],
						[4, 2],
						[4, 2],
					],
				},
			],
		});
		const { growth } = await grown([narrow]);
		expect(growth!.phases[1]).toMatchObject({ phase: "shape-changes", shapes: 2 });
		const shared = { ...narrow, record: { ...narrow.record, sharedWithBase: true } };
		const { ports, input } = run(backend());
		for await (const found of soakEngines([shared], input, ports)) expect(found).toBeUndefined();
	});
});
