import { expect, it } from "vitest";
import type { Arm } from "../../../generated/result.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { type Probed, probe } from "../../../src/golden/stages/probe.ts";
import type { BuiltEngine, InferJob, InferResult, InferredCase } from "../../../src/ports/backend.ts";
import { loaded, withModel } from "../../core/config/load.ts";
import {
	type Answer,
	collect,
	crash,
	echo,
	streamedEngine,
	streamedRun,
	streamedSet,
} from "../../support/golden-stream.ts";

function engine(arm: Arm, probes: string): BuiltEngine {
	const dims = "dims: { batch: { min: 1, opt: 4, max: 6 } }";
	const [spec] = engineSpecs(loaded(withModel(`${dims}, probes: ${probes}`)));
	const plain = streamedEngine(arm);
	const port = (name: string) => ({ name, kind: "tensor", dtype: "float", dims: ["batch", 3] }) as const;
	const node = { name: "", domain: "", op: "Identity", inputs: ["x"], outputs: ["y"], attributes: [] };
	const graph = { ...plain.model.onnx.graph, nodes: [node], inputs: [port("x")], outputs: [port("y")] };
	return { ...plain, spec: spec!, model: { ...plain.model, onnx: { ...plain.model.onnx, graph } } };
}

interface Asked {
	answer: Answer;
	probes?: string;
	arms?: Arm[];
	isScheduled?: boolean;
	isTensorRt?: boolean;
	shared?: { sharedWithBase: true; fromCache?: true };
}

async function probeAll({ answer, probes = "on", arms = ["base", "head"], ...more }: Asked) {
	const { isScheduled = false, isTensorRt = false, shared } = more;
	const { input, ports, jobs } = streamedRun(answer, streamedSet(3));
	const engines = arms
		.map((arm) => engine(arm, probes))
		.map((one) => ({ ...one, record: { ...one.record, ...shared } }));
	const probed = await collect(probe({ ...input, engines, isScheduled, isTensorRt }, ports));
	return { probed, asked: jobs.map(({ arm }) => arm), jobs };
}

function leaking(job: InferJob): InferResult {
	const cases = job.cases.map(({ id, inputs }): InferredCase => {
		const x = inputs["x"]!;
		const values = new Float32Array(x.data.slice().buffer);
		const leaked = values.map((value, index) => (index < 3 ? value : value + values[index % 3]!));
		return { id, state: "done", outputs: { y: { ...x, data: new Uint8Array(leaked.buffer) } } };
	});
	return { state: "done", cases, wallMs: 1 };
}

const found = (probed: Probed[], name: string) =>
	probed.flatMap((one) => (one.state === "judged" ? one.results : [])).find(({ probe: of }) => of === name);

it("probes only the head if it agrees with itself", async () => {
	const { probed, asked, jobs } = await probeAll({ answer: echo });
	expect(asked).toEqual(["head"]);
	expect(jobs[0]?.ids[0]).toBe("probe anchor");
	expect(jobs[0]?.logPath).toMatch(/^\/out\/logs\/probe-.*-head\.log$/);
	expect(found(probed, "neighbours")).toMatchObject({ state: "agrees", got: 0, model: "net" });
});

it("probes the base if the head does not agree with itself, and reports what is new", async () => {
	const fresh = await probeAll({ answer: (job) => (job.engine.arm === "head" ? leaking(job) : echo(job)) });
	expect(fresh.asked).toEqual(["head", "base"]);
	expect(found(fresh.probed, "neighbours")).toMatchObject({ state: "differs", base: 0 });
	const old = await probeAll({ answer: leaking });
	expect(found(old.probed, "neighbours")).toMatchObject({ state: "known" });
});

it("probe reports a machine that failed, and goes on without a base that did", async () => {
	const { probed } = await probeAll({ answer: () => crash });
	expect(probed).toMatchObject([
		{ state: "failed", error: { kind: "runner", code: "tool-crashed", model: "net", arm: "head" } },
	]);
	const alone = await probeAll({ answer: (job) => (job.engine.arm === "head" ? leaking(job) : crash) });
	expect(found(alone.probed, "neighbours")).toMatchObject({ state: "differs" });
	expect(found(alone.probed, "neighbours")).not.toHaveProperty("base");
});

it.each([
	["nightly", false, 0],
	["nightly", true, 1],
	["off", true, 0],
	["on", false, 1],
	["[neighbours]", false, 1],
	["new", false, 0],
	["new", true, 1],
])("probe is asked by %s, scheduled %s: %i times", async (probes, isScheduled, times) => {
	const { asked } = await probeAll({ answer: echo, probes, isScheduled });
	expect(asked.length).toBe(times);
});

it("probes by default what TensorRT built just now, or from another recipe than the base's", async () => {
	const ask = (shared?: Asked["shared"]) =>
		probeAll({ answer: leaking, probes: "new", isTensorRt: true, ...(shared && { shared }) });
	const built = await ask({ sharedWithBase: true });
	expect([built.asked, found(built.probed, "neighbours")?.state]).toEqual([["head"], "known"]);
	expect((await ask()).asked).toEqual(["head", "base"]);
	expect((await ask({ sharedWithBase: true, fromCache: true })).asked).toEqual([]);
});
