// Sweeps from the config to the gate, with in-memory ports: a cliff planted in the head's times.
import { describe, expect, it } from "vitest";
import type { SweepResult } from "../../generated/result.ts";
import { gatedRows } from "../../src/core/compare/sweep.ts";
import { ruleChanges } from "../../src/core/config/rules.ts";
import { judgeSweep } from "../../src/core/gates/serving.ts";
import { engineSpecs, makePlan } from "../../src/core/plan/plan.ts";
import { renderPlan } from "../../src/core/plan/render.ts";
import { sweepSection } from "../../src/core/report/sections/siblings.ts";
import { measureSweeps } from "../../src/stages/sweep.ts";
import { shapeWorkloads, timedWorkloads } from "../../src/stages/workloads.ts";
import { loaded, refusalOf, withModel } from "../core/config/load.ts";
import { buildResult, buildStats } from "../support/build-result.ts";
import { fakeBackend, fakeEngine, fakePorts, steadyRun } from "../support/fakes.ts";
import { inspectedOf, modelOf, value } from "../support/onnx-writer.ts";

const dims = "dims: { seq: { min: 16, opt: 128, max: 512 } }";
const sweeping = (range: string, more = dims) => `${more}, workloads: [{ sweep: { seq: ${range} } }]`;
const configOf = (text: string) => loaded(withModel(text));

interface Planted {
	range?: string;
	cliff?: number;
	hash?: string;
}

async function sweep({ range = "[32, 512]", cliff = 2.1, hash = "b" }: Planted = {}) {
	const config = configOf(sweeping(range));
	const [spec] = engineSpecs(config);
	const onnx = modelOf({ inputs: [value("x", ["seq", 4], 1)] });
	const plan = makePlan({ config, arms: ["base", "head"], cases: new Map(), seed: "s" });
	const models = (["base", "head"] as const).map(
		(arm) => ({ state: "ready", arm, spec: spec!, model: inspectedOf(onnx) }) as const,
	);
	const { shapes } = shapeWorkloads(plan, models, config);
	const engines = (["base", "head"] as const).map((arm) => ({
		...fakeEngine(arm, arm === "head" ? hash : "a"),
		spec: spec!,
	}));
	const workloads = timedWorkloads(plan, engines, shapes);
	const backend = fakeBackend((arm, nth, { inputs }) => {
		const size = inputs[0]?.shape[0] ?? 0;
		const factor = arm === "head" && size > 256 ? cliff : 1;
		return steadyRun((0.2 + 0.004 * size) * factor * (1 + 0.0005 * Math.sin(nth * 7)));
	});
	const { measure } = config;
	const noBase = () => ({ verdict: "missing" }) as const;
	const input = { workloads, measure, family: 9, noBase, outFolder: "/out", seed: "s" };
	const sweeps: SweepResult[] = [];
	for await (const found of measureSweeps(input, fakePorts(backend))) sweeps.push(...(found.sweeps ?? []));
	const [level] = config.models[0]!.engines[0]!.workloads;
	const gates = sweeps.flatMap((one) => judgeSweep(one, level!, { config }));
	return { sweeps, gates, config, plan, runs: backend.order.length };
}

it("a cliff is named by the two sizes around it, and the worst size decides each gate of the workload once", async () => {
	const { sweeps, gates } = await sweep();
	const [found] = sweeps;
	const sizes = found!.points.map(({ size }) => size);
	expect(sizes).toHaveLength(9);
	expect(sizes).toEqual(expect.arrayContaining([32, 256, 257, 512]));
	expect(found).toMatchObject({ model: "net", workload: "seq 32 to 512", dim: "seq" });
	expect(found!.points.at(-1)?.row.shapes).toEqual({ x: [512, 4] });
	const latency = gates.filter(({ gate }) => gate === "latency");
	expect(latency).toMatchObject([{ status: "fail", workload: "seq 32 to 512" }]);
	expect(latency[0]?.message).toMatch(/^Worst of 9 sizes, seq \d+: Slower: \+1(10|09\.\d) %/);
	const last = found!.points.at(-1)!.row;
	const rival = { ...last, engine: "static", head: buildStats((last.head?.medianMs ?? NaN) / 3) };
	const result = buildResult({ sweeps, workloads: [rival] });
	expect(gatedRows(result).at(-1)?.latency.estimate).toBeCloseTo(1.1, 2);
	const shown = sweepSection.show(
		{ result, highlights: [], lead: undefined, rows: [] },
		{ format: "html", detail: "full" as never },
	);
	const text = JSON.stringify(shown);
	expect(text).toContain("net · fp32: seq 257 costs 2.1× of seq 256 (base: 1×).");
	expect(text).toContain("net · fp32: seq 512 costs 3× of static's.");
	expect(text).toMatch(/<polyline class=\\"curve head\\"/);
});

it("engines with the same bytes take one size and no run; sizes that agree pass", async () => {
	const same = await sweep({ hash: "a" });
	expect([same.runs, same.sweeps[0]?.points.length]).toEqual([0, 1]);
	const { gates } = await sweep({ cliff: 1 });
	expect(gates.find(({ gate }) => gate === "latency")).toMatchObject({ status: "pass" });
});

it("the plan says how many sizes there may be", async () => {
	const { plan, config } = await sweep({ hash: "a" });
	expect(renderPlan(plan, config, "tensorrt")).toContain("net/fp32/seq 32 to 512 (up to 9 sizes)");
});

it.each([
	["[512, 32]", dims, "goes from 512 to 32"],
	["[32, 1024]", dims, "sweep.seq[1] is 1024, outside the range"],
	["[8, 512]", dims, "is 8, outside the range"],
	["[32, 512]", dims.replace("seq", "rows"), "is not a dimension that this model declares"],
	[
		"[32, 512]",
		"profiles: [{ seq: { min: 1, opt: 64, max: 64 } }, { seq: { min: 65, opt: 512, max: 512 } }]",
		"has sizes that no optimization profile holds together",
	],
])("a sweep of %s is refused with %s", (range, more, says) => {
	expect(refusalOf(sweeping(range, more)).message).toContain(says);
});

it("a dimension is swept or has a size", () => {
	const text = `${dims}, workloads: [{ seq: 64, sweep: { seq: [32, 512] } }]`;
	expect(refusalOf(text).message).toContain("also has a single size");
});

describe("a change", () => {
	const ids = new Map([["net/fp32", "net/fp32"]]);
	it.each([
		["leaves out large sizes", "[32, 256]", ["dims.seq: 512 → 256, looser"]],
		["leaves out small sizes", "[64, 512]", ["sweep.seq: 32 → 64, looser"]],
		["adds sizes", "[16, 512]", ["sweep.seq: 32 → 16"]],
	])("that %s is told", (_, range, told) => {
		const named = (of: string) => configOf(sweeping(of).replace("{ sweep", "{ name: all, sweep"));
		const changes = ruleChanges(named("[32, 512]"), named(range), ids);
		expect(
			changes.map(
				({ key, base, head, isLooser }) =>
					`${key.replace("workloads.", "")}: ${base} → ${head}${isLooser ? ", looser" : ""}`,
			),
		).toEqual(told);
	});
});
