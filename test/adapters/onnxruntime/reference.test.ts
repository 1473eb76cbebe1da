// The reference runs a model in every variant, and damages weights only in a copy of its own.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileModelReader, readWeights } from "../../../src/adapters/files/model-reader.ts";
import { onnxRuntimeReference } from "../../../src/adapters/onnxruntime/reference.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import type { DefectVerdict } from "../../../src/core/golden/record/defects/judge.ts";
import type { InferResult } from "../../../src/ports/backend.ts";
import { manifestOf } from "../../support/golden-tensors.ts";
import { externalTensor, floats, model, node, tensor, value } from "../../support/onnx-writer.ts";
import { temporaryFolder, floats as tensorOf, wasmSource } from "../../support/ort-jobs.ts";

const reference = onnxRuntimeReference({
	flavour: "wasm",
	workerPath: join(import.meta.dirname, "../../../src/ort-worker.ts"),
	nodePath: process.execPath,
	wasmFolder: wasmSource,
	cacheFolder: "/nowhere",
	processes: createProcesses(),
	threads: 1,
});

const right = [11, 22, 33, 44];
const expected = { y: tensorOf(right, [1, 4]) };
const variant = { flavour: "wasm", level: "basic", threads: 1 } as const;

/** A job on y = x · far + near + zero: one weight beside the model, one inside, one of zeros. */
async function jobOnDisk() {
	const folder = temporaryFolder();
	const nodes = [
		node({ op: "Mul", inputs: ["x", "far"], outputs: ["a"] }),
		node({ op: "Add", inputs: ["a", "near"], outputs: ["b"] }),
		node({ op: "Add", inputs: ["b", "zero"], outputs: ["y"] }),
	];
	const initializers = [
		externalTensor("far", [4], { location: "w.bin", offset: "16", length: "16" }),
		tensor({ name: "near", dims: [4], raw: floats(1, 2, 3, 4) }),
		tensor({ name: "zero", dims: [1], raw: floats(0) }),
	];
	const [path, data] = [join(folder, "m.onnx"), join(folder, "w.bin")];
	const file = model({ nodes, initializers, inputs: [value("x", [1, 4])], outputs: [value("y", [1, 4])] });
	writeFileSync(path, file);
	writeFileSync(data, floats(9, 9, 9, 9, 10, 20, 30, 40));
	const onDisk = await fileModelReader().read(path);
	const job = {
		model: onDisk,
		cases: [{ id: "one", inputs: { x: tensorOf([1, 1, 1, 1], [1, 4]) } }],
		variant,
		scratchFolder: join(folder, "s"),
		logPath: join(folder, "log"),
		timeoutMs: 600_000,
	};
	const { places, unplaced } = await readWeights(onDisk);
	expect([places.map(({ name }) => name), unplaced]).toEqual([["far", "near", "zero"], []]);
	return { job, places, files: () => [path, data].map((each) => readFileSync(each)) };
}

function outputOf(result: InferResult): number[] {
	const [only] = result.state === "done" ? result.cases : [];
	if (only?.state !== "done") throw new Error(JSON.stringify(result));
	return [...new Float32Array((only.outputs["y"]?.data ?? new Uint8Array(0)).slice().buffer)];
}

it.each(["disabled", "all"] as const)("a model with external data runs on level %s", async (level) => {
	const { job } = await jobOnDisk();
	expect(outputOf(await reference.run({ ...job, variant: { ...variant, level } }))).toEqual(right);
});

it("weights one unit in the last place off are tried in a copy", async () => {
	const { job, places, files } = await jobOnDisk();
	const before = files();
	const nudged = places.filter(({ name }) => name === "far").map((place) => ({ ...place, steps: 1 }));
	const found = outputOf(await reference.run({ ...job, nudged }));
	expect(found).not.toEqual(right);
	for (const [at, each] of right.entries()) expect(Math.abs(found[at]! / each - 1)).toBeLessThan(4e-7);
	expect(files()).toEqual(before);
});

it("defects are tried one after the other, beside the model and in it, and never in the user's own files", async () => {
	const { job, places, files } = await jobOnDisk();
	const before = files();
	const manifest = {
		...manifestOf(expected, {
			y: { comparators: [{ kind: "relative-l2", tolerance: { fp32: 0.08, fp16: 0.2 } }] },
		}),
		model: { path: "m.onnx", sha256: "0".repeat(64) },
	};
	const kinds = ["tensor-zero", "tensor-noise", "row-zero"] as const;
	const defects = kinds.flatMap((kind, round) =>
		places.map((place, index) => ({
			number: round * 3 + index,
			place,
			defect: { kind, index, axis: 0, row: 0, seed: 1 },
		})),
	);
	const verdicts: Record<number, DefectVerdict | null> = {};
	const result = await reference.tryDefects({
		...job,
		trial: { manifest, reference: [expected], relativeL2: {}, rounding: {} },
		defects,
		onVerdict: (number, verdict) => {
			verdicts[number] = verdict;
		},
	});
	expect(result).toEqual({ state: "done" });
	const states = defects.map(({ number, place, defect }) => [
		defect.kind,
		place.name,
		verdicts[number] === null ? null : verdicts[number]?.states,
	]);
	expect(states).toEqual([
		["tensor-zero", "far", { fp32: "noticed", fp16: "noticed" }],
		["tensor-zero", "near", { fp32: "noticed", fp16: "missed" }],
		["tensor-zero", "zero", null],
		["tensor-noise", "far", { fp32: "missed", fp16: "missed" }],
		["tensor-noise", "near", { fp32: "missed", fp16: "unmoved" }],
		["tensor-noise", "zero", null],
		["row-zero", "far", { fp32: "noticed", fp16: "missed" }],
		["row-zero", "near", { fp32: "missed", fp16: "missed" }],
		["row-zero", "zero", null],
	]);
	// Row 0 of "far" is 10 of 11 in the first of four outputs.
	const change = expect.closeTo(10 / Math.hypot(...right), 5);
	expect(verdicts[6]).toMatchObject({ change, output: "y" });
	expect(files()).toEqual(before);
});

it("defects are tried no longer than the time allows", async () => {
	const { job, places } = await jobOnDisk();
	const result = await reference.tryDefects({
		...job,
		trial: { manifest: manifestOf(expected), reference: [expected], relativeL2: {}, rounding: {} },
		defects: places.map((place, number) => ({
			number,
			place,
			defect: { kind: "tensor-zero" as const, index: number, axis: 0, row: 0, seed: 1 },
		})),
		timeoutMs: 1,
		onVerdict: () => {},
	});
	expect(result).toEqual({ state: "time" });
});
