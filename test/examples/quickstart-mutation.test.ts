// The recorder's own mutation test on the quickstart's goldens: 1 % in any weight tensor is noticed, or lies below the noise.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fileModelReader, readWeights } from "../../src/adapters/files/model-reader.ts";
import { fileStore } from "../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../src/adapters/files/tensor-reader.ts";
import { onnxRuntimeReference } from "../../src/adapters/onnxruntime/reference.ts";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { silentProgress } from "../../src/adapters/terminal/progress.ts";
import { parseManifest } from "../../src/core/golden/manifest/parse-manifest.ts";
import type { Tensor } from "../../src/core/golden/tensor/tensor.ts";
import { inputKinds } from "../../src/core/input-kind.ts";
import { readTensors } from "../../src/stages/load-goldens.ts";
import { testMutations } from "../../src/stages/record-mutate.ts";
import { measureScatter } from "../../src/stages/record-noise.ts";
import { temporaryFolder, wasmSource } from "../support/ort-jobs.ts";

const quickstart = "examples/quickstart/base";
const files = fileStore();
const tensors = fileTensorReader();

const reference = {
	...onnxRuntimeReference({
		flavour: "wasm",
		workerPath: join(import.meta.dirname, "../../src/ort-worker.ts"),
		nodePath: process.execPath,
		wasmFolder: wasmSource,
		cacheFolder: "/nowhere",
		processes: createProcesses(),
		threads: 1,
	}),
	weights: readWeights,
};
const ports = { reference, progress: silentProgress(), clock: { now: () => performance.now(), timestamp: () => "" } };
const variant = { flavour: "wasm", level: "basic", threads: 1 } as const;

async function testModel(name: string, mayTighten: boolean) {
	const folder = `${quickstart}/golden/${name}`;
	const manifest = parseManifest(await files.readText(`${folder}/golden.json`, inputKinds.golden), name);
	const model = await fileModelReader().read(`${quickstart}/models/${name}.onnx`);
	const cases: { id: string; inputs: Record<string, Tensor> }[] = [];
	const expected: Record<string, Tensor>[] = [];
	for (const golden of manifest.cases) {
		cases.push({ id: golden.id, inputs: await readTensors(golden.inputs, folder, { files, tensors }) });
		expected.push(await readTensors(golden.outputs, folder, { files, tensors }));
	}
	const job = { model, cases, scratchFolder: temporaryFolder(), timeoutMs: 60_000 };
	const { noise } = await measureScatter({ ...job, reference: expected, made: variant }, ports);
	const context = { manifest: { ...manifest, ...(noise ? { noiseFloor: noise } : {}) }, reference: expected, relativeL2: {} };
	return testMutations({ ...job, variant, context, relative: 0.01, seed: 1, limitMs: 60_000, mayTighten }, ports);
}

describe("the quickstart's goldens", () => {
	test.each([
		["classifier", 6],
		["detector", 16],
		["segmenter", 9],
		["superres", 8],
	])("of the %s notice 1 %% in every weight tensor that moves an output beyond the noise", async (name, weights) => {
		const { manifest, findings, notes } = await testModel(name, false);
		expect(findings.map(({ message }) => message)).toEqual([]);
		expect(notes).toEqual([]);
		const { tested, noticed, belowNoise } = manifest.mutation ?? { tested: 0, noticed: 0, belowNoise: 0 };
		expect(tested).toBe(weights);
		expect(noticed + belowNoise).toBe(tested);
		expect(noticed / tested).toBeGreaterThan(0.9);
	});
});
