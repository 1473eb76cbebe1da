// The reference runs a model in every variant, and changes weights only in a copy of its own.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileModelReader, readWeights } from "../../../src/adapters/files/model-reader.ts";
import { onnxRuntimeReference } from "../../../src/adapters/onnxruntime/reference.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
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

/** y = (x · far + near) · zeros + … : one weight beside the model, one inside, one of zeros. */
async function writeModel(folder: string) {
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
	writeFileSync(join(folder, "m.onnx"), model({ nodes, initializers, inputs: [value("x", [1, 4])], outputs: [value("y", [1, 4])] }));
	writeFileSync(join(folder, "w.bin"), floats(9, 9, 9, 9, 10, 20, 30, 40));
	return fileModelReader().read(join(folder, "m.onnx"));
}

const numbers = (data: Uint8Array | undefined): number[] => [...new Float32Array((data ?? new Uint8Array(0)).slice().buffer)];

describe("onnxRuntimeReference", () => {
	it("runs a model with external data in any level", async () => {
		const folder = temporaryFolder();
		const job = {
			model: await writeModel(folder),
			cases: [{ id: "one", inputs: { x: tensorOf([1, 1, 1, 1], [1, 4]) } }],
			scratchFolder: join(folder, "s"),
		};
		for (const level of ["disabled", "all"] as const) {
			const variant = { flavour: "wasm", level, threads: 1 } as const;
			const result = await reference.run({ ...job, variant, logPath: join(folder, "log"), timeoutMs: 600_000 });
			const [only] = result.state === "done" ? result.cases : [];
			expect(only?.state === "done" ? numbers(only.outputs["y"]?.data) : result).toEqual([11, 22, 33, 44]);
		}
	});

	it("changes one weight at a time by 1 %, beside the model and in it, and never the user's own files", async () => {
		const folder = temporaryFolder();
		const onDisk = await writeModel(folder);
		const before = [readFileSync(join(folder, "m.onnx")), readFileSync(join(folder, "w.bin"))];
		const { places, unplaced } = await readWeights(onDisk);
		expect([places.map(({ name }) => name), unplaced]).toEqual([["far", "near", "zero"], []]);
		const done: number[] = [];
		const result = await reference.mutate({
			model: onDisk,
			cases: [{ id: "one", inputs: { x: tensorOf([1, 1, 1, 1], [1, 4]) } }],
			variant: { flavour: "wasm", level: "basic", threads: 1 },
			weights: places.map((place, index) => ({ place, index })),
			relative: 0.01,
			seed: 1,
			scratchFolder: join(folder, "s"),
			logPath: join(folder, "log"),
			timeoutMs: 600_000,
			onWeight: (count) => done.push(count),
		});
		if (result.state !== "done") throw new Error(result.failure.message);
		const outputs = result.runs.map((run) => (run.state === "ran" ? numbers(run.outputs[0]?.["y"]?.data) : run.state));
		const [far, near, zero] = outputs;
		expect(zero).toBe("unchanged");
		const moves = (got: unknown, weight: number[]) =>
			(got as number[]).map((sum, at) => Math.abs(sum - [11, 22, 33, 44][at]!) / weight[at]!);
		for (const move of moves(far, [10, 20, 30, 40])) expect(move).toBeCloseTo(0.01, 5);
		for (const move of moves(near, [1, 2, 3, 4])) expect(move).toBeCloseTo(0.01, 5);
		expect(done).toEqual([1, 2, 3]);
		expect([readFileSync(join(folder, "m.onnx")), readFileSync(join(folder, "w.bin"))]).toEqual(before);
	});
});
