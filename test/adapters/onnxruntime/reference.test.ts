import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readModel, readWeights } from "../../../src/adapters/files/model-reader.ts";
import type { DefectVerdict } from "../../../src/golden/core/record/defects/judge.ts";
import { float32, manifestOf } from "../../support/golden-tensors.ts";
import { externalTensor, floats, model, tensor } from "../../support/onnx-writer.ts";
import { referenceJob, testReference } from "../../support/ort-jobs.ts";
import { temporaryFolder } from "../../support/project.ts";

const reference = testReference();

async function writeModel(folder: string) {
	const nodes = "a = Mul(x, far); b = Add(a, near); y = Add(b, zero)";
	const initializers = [
		externalTensor("far", [4], { location: "w.bin", offset: "16", length: "16" }),
		tensor({ name: "near", dims: [4], raw: floats(1, 2, 3, 4) }),
		tensor({ name: "zero", dims: [1], raw: floats(0) }),
	];
	writeFileSync(join(folder, "m.onnx"), model({ nodes, initializers }));
	writeFileSync(join(folder, "w.bin"), floats(9, 9, 9, 9, 10, 20, 30, 40));
	return readModel(join(folder, "m.onnx"));
}

const numbers = (data: Uint8Array | undefined): number[] => [
	...new Float32Array((data ?? new Uint8Array(0)).slice().buffer),
];

const jobIn = async (folder: string) =>
	referenceJob(folder, await writeModel(folder), [{ x: float32([1, 1, 1, 1], [1, 4]) }]);

it.each(["disabled", "all"] as const)(
	"onnxRuntimeReference runs a model with external data at level %s",
	async (level) => {
		const job = await jobIn(temporaryFolder());
		const result = await reference.run({ ...job, variant: { ...job.variant, level } });
		const [only] = result.state === "done" ? result.cases : [];
		expect(only?.state === "done" ? numbers(only.outputs["y"]?.data) : result).toEqual([11, 22, 33, 44]);
	},
);

it("onnxRuntimeReference compares with no other build where the user asks for WebAssembly alone", async () => {
	const why = "`--onnxruntime wasm` leaves it out";
	expect(await reference.otherBuild(1000)).toEqual({ why, isLate: false });
});

it("onnxRuntimeReference begins no case after its time if enough are done, and answers with those", async () => {
	const job = await jobIn(temporaryFolder());
	const cases = ["a", "b", "c", "d"].map((id) => ({ id, inputs: { x: float32([1, 1, 1, 1], [1, 4]) } }));
	const result = await reference.run({ ...job, cases, resumes: { enough: 2, softMs: 0 } });
	const states = result.state === "done" ? result.cases.map(({ id, state }) => [id, state]) : result;
	expect(states).toEqual([
		["a", "done"],
		["b", "done"],
	]);
});

const expected = { y: float32([11, 22, 33, 44], [1, 4]) };
const tolerance = { fp32: 0.08, fp16: 0.2 };
const manifest = manifestOf(expected, { y: { comparators: [{ kind: "relative-l2", tolerance }] } });
const trial = { manifest, reference: [expected], relativeL2: {}, rounding: {} };

it("onnxRuntimeReference tries defects one by one, inside and outside the model file, and never in the user's own files", async () => {
	const folder = temporaryFolder();
	const job = await jobIn(folder);
	const files = () => ["m.onnx", "w.bin"].map((name) => readFileSync(join(folder, name)));
	const before = files();
	const { places, unplaced } = await readWeights(job.model);
	expect([places.map(({ name }) => name), unplaced]).toEqual([["far", "near", "zero"], []]);
	const defects = (["tensor-scale", "tensor-noise", "row-zero"] as const).flatMap((kind, round) =>
		places.map((place, index) => ({
			number: round * 3 + index,
			place,
			defect: { kind, index, axis: 0, row: 0, seed: 1 },
		})),
	);
	const verdicts: (DefectVerdict | null)[] = [];
	const onVerdict = (number: number, verdict: DefectVerdict | null): void => {
		verdicts[number] = verdict;
	};
	expect(await reference.tryDefects({ ...job, trial, defects, onVerdict })).toEqual({ state: "done" });
	expect(verdicts.map((verdict) => verdict?.states ?? null)).toEqual([
		{ fp32: "noticed", fp16: "noticed" },
		{ fp32: "missed", fp16: "missed" },
		null,
		{ fp32: "missed", fp16: "missed" },
		{ fp32: "missed", fp16: "unmoved" },
		null,
		{ fp32: "noticed", fp16: "missed" },
		{ fp32: "missed", fp16: "missed" },
		null,
	]);
	// Row 0 of "far" is 10 of 11 in the first of four outputs.
	expect(verdicts[6]?.change).toBeCloseTo(10 / Math.hypot(11, 22, 33, 44), 5);
	expect(files()).toEqual(before);
});

it("onnxRuntimeReference stops when the time is over", async () => {
	const job = await jobIn(temporaryFolder());
	const { places } = await readWeights(job.model);
	const defects = places.map((place, number) => ({
		number,
		place,
		defect: { kind: "tensor-scale" as const, index: number, axis: 0, row: 0, seed: 1 },
	}));
	const result = await reference.tryDefects({ ...job, trial, defects, timeoutMs: 1, onVerdict: () => {} });
	expect(result).toEqual({ state: "time" });
});
