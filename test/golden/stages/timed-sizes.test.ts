import { expect, it } from "vitest";
import type { GoldenCase, TensorFile } from "../../../generated/golden.ts";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { keepVerdicts, recallVerdicts } from "../../../src/golden/stages/kept-verdicts.ts";
import { uncheckedNotes } from "../../../src/golden/stages/timed-sizes.ts";
import { verify } from "../../../src/golden/stages/verify.ts";
import type { BuiltEngine, InferJob, InferResult } from "../../../src/ports/backend.ts";
import { buildConfig } from "../../support/build-config.ts";
import { type Answer, collect, crash, echo, streamedRun, streamedSet } from "../../support/golden-stream.ts";
import { float32 } from "../../support/golden-tensors.ts";

const axes = ["batch", 4];
const graph = {
	inputs: [{ name: "x", kind: "tensor", dtype: "float32", dims: axes }],
	outputs: [{ name: "y", kind: "tensor", dtype: "float32", dims: axes }],
};

/** Three cases of one row, which the engine repeats as outputs. */
function timedAt(batch: number, answer: Answer = echo) {
	const rows = "dims: { batch: { min: 1, opt: 4, max: 16 } }";
	const config = buildConfig("", `{ precision: fp32, ${rows}, workloads: [{ batch: ${batch} }] }`);
	const spec = engineSpecs(config)[0]!;
	const { manifest, folder } = streamedSet(3);
	const ofRow = (files: Record<string, TensorFile>) =>
		Object.fromEntries(Object.entries(files).map(([name, file]) => [name, { ...file, shape: [1, 4] }]));
	const cases = manifest.cases.map(
		(golden): GoldenCase => ({ ...golden, inputs: ofRow(golden.inputs), outputs: ofRow(golden.outputs) }),
	);
	const set = { manifest: { ...manifest, cases: cases as typeof manifest.cases }, folder };
	const read = async (path: string) => {
		const index = Number.parseInt(path.slice(path.lastIndexOf("/") + 1), 10);
		return float32([index, index + 0.5, 1, 2], [1, 4]);
	};
	const { input, ports, jobs } = streamedRun(answer, set);
	const engines = input.engines.map(
		(engine) =>
			({
				...engine,
				spec,
				model: {
					...engine.model,
					onnx: { ...engine.model.onnx, graph: { ...engine.model.onnx.graph, ...graph } },
				},
			}) as unknown as BuiltEngine,
	);
	return { input: { ...input, engines }, ports: { ...ports, tensors: { read } }, jobs };
}

async function verdictsOf(batch: number, answer?: Answer) {
	const { input, ports } = timedAt(batch, answer);
	return collect(verify(input, ports));
}

/** Swaps the first two rows of every batch. */
function swapped(job: InferJob): InferResult {
	const all = echo(job);
	if (all.state !== "done") return all;
	const cases = all.cases.map((one) => {
		if (one.state !== "done") return one;
		const { shape, data } = one.outputs["y"]!;
		const bytes = data.slice();
		if (shape[0]! > 1) bytes.set([...data.subarray(16, 32), ...data.subarray(0, 16)]);
		return { ...one, outputs: { y: { dtype: "float32" as const, shape, data: bytes } } };
	});
	return { ...all, cases };
}

/** Gives one row, whatever was asked. */
function firstRow(job: InferJob): InferResult {
	const all = echo(job);
	if (all.state !== "done") return all;
	const outputs = { y: float32([0, 0.5, 1, 2], [1, 4]) };
	return {
		...all,
		cases: all.cases.map((one) => (one.id.startsWith("rows") ? { ...one, state: "done", outputs } : one)),
	};
}

const composed = "rows of case-0…case-2 × 2 at batch 4";
const ofHead =
	(answer: Answer, other: Answer = echo): Answer =>
	(job, nth) => {
		return job.engine.arm === "head" ? answer(job, nth) : other(job, nth);
	};
const dies: Answer = (job) => (job.cases.some(({ id }) => id === composed) ? crash : echo(job));

it.each<[string, Answer, object]>([
	["match where each row gives its case's output", echo, { state: "match", scope: "batch" }],
	["mismatch where rows change places", ofHead(swapped), { state: "mismatch", scope: "batch" }],
	["exist where the base's rows change places too", swapped, { state: "existing" }],
	[
		"mismatch in shape where rows are missing",
		ofHead(firstRow),
		{ state: "mismatch", checks: [{ metric: "shape", detail: "expected [4, 4], got [1, 4]" }] },
	],
])("the rows of a composed batch %s", async (_, answer, expected) => {
	const all = await verdictsOf(4, answer);
	expect(all.length).toBe(4);
	expect(all.at(-1)).toMatchObject({ state: "judged", verdict: { case: composed, ...expected } });
});

it("an engine that dies of a composed batch fails, and a base that does excuses nothing", async () => {
	expect((await verdictsOf(4, ofHead(dies))).at(-1)).toMatchObject({ state: "failed" });
	const alone = await verdictsOf(4, ofHead(swapped, dies));
	expect(alone.at(-1)).toMatchObject({ verdict: { state: "mismatch" }, lacksBase: true });
});

it("runs each side once more for a batch that no case has, and says nothing where there is none", async () => {
	const { input, ports, jobs } = timedAt(4);
	await collect(verify(input, ports));
	expect(jobs.map(({ arm, ids }) => `${arm} ${ids.length}`)).toEqual([
		"base 3",
		"head 3",
		"base 1",
		"head 1",
	]);
	expect(new Set(jobs.map(({ logPath }) => logPath)).size).toBe(4);
	expect((await verdictsOf(1)).length).toBe(3);
	expect(uncheckedNotes(input.engines, input.goldens)).toEqual([]);
});

it("kept verdicts hold only for the batches that they were made of", async () => {
	const backend = { kind: "tensorrt", name: "TensorRT", version: "10.6.0", device: "GPU" } as const;
	const facts = { version: "1", backend, environment: {} };
	const keys: string[] = [];
	const see = async (key: string) => {
		keys.push(key);
		return null;
	};
	const kept = { recall: see, keep: async (key: string) => void see(key) };
	const { input, ports } = timedAt(4);
	const verified = await collect(verify(input, ports));
	await keepVerdicts(input, verified, { facts, kept, at: "2026-01-01T00:00:00Z" });
	for (const batch of [4, 8]) await recallVerdicts(timedAt(batch).input, facts, kept);
	expect(keys[0]).toBe(keys[1]);
	expect(keys[2]).not.toBe(keys[1]);
});
