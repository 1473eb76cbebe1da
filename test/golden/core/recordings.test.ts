// Answers of TensorRT 10.6 on an H200 beside ONNX Runtime's in fp32: the default tolerances must tell right from wrong.
import { expect, it } from "vitest";
import type { GoldenOutput, Precision } from "../../../generated/golden.ts";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { decodeTensor } from "../../../src/formats/tensor/decode.ts";
import { judgeCase } from "../../../src/golden/core/compare/judge.ts";
import { findInsensitive } from "../../../src/golden/core/record/sensitivity.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import { int64, manifestOf, modelSha256 } from "../../support/golden-tensors.ts";
import { recordedBytes, recordedRuns, wholeShape } from "../../support/recorded-goldens.ts";

const relativeL2 = { fp32: 1e-3, fp16: 5e-3, int8: 5e-2 };

interface Recorded {
	name: string;
	output: string;
}

const classifier = (run: string): Recorded => ({ name: `classifier-${run}`, output: "probabilities" });

function load({ name, output }: Recorded): { expected: Tensor; got: Tensor } {
	const found = recordedRuns[`trtexec-10.6/golden-${name}`]?.outputs[output];
	if (found === undefined) throw new Error(`nobody recorded ${output} of ${name}`);
	const shape = wholeShape(found);
	const read = (key: string): Tensor => {
		const bytes = recordedBytes(key);
		return decodeTensor(bytes, { path: found.file, sha256: "", dtype: found.dtype, shape, format: "raw" });
	};
	return { expected: read(found.reference), got: read(found.got) };
}

function judge(recorded: Recorded, precision: Precision, spec: GoldenOutput = {}): GoldenVerdict {
	const { expected, got } = load(recorded);
	const outputs = { [recorded.output]: expected };
	return judgeCase({
		manifest: manifestOf(outputs, { [recorded.output]: spec }),
		caseId: "only",
		model: "net",
		engine: precision,
		precision,
		modelSha256,
		expected: outputs,
		got: { [recorded.output]: got },
		relativeL2,
	});
}

const everyKind: GoldenOutput = {
	semantic: "probabilities",
	batchAxis: 0,
	comparators: [
		{ kind: "relative-l2" },
		{ kind: "max-abs" },
		{ kind: "allclose" },
		{ kind: "cosine" },
		{ kind: "top-k" },
		{ kind: "kl" },
	],
};

it.each<[string, Precision, boolean]>([
	["fp32-0", "fp32", true],
	["fp32-1", "fp32", true],
	["fp16-0", "fp16", true],
	["fp16-1", "fp16", true],
	// int8 was never calibrated.
	["int8-0", "int8", false],
	["int8-1", "int8", false],
])("every metric's default for the recorded classifier %s at %s passes: %s", (run, precision, passes) => {
	const { checks } = judge(classifier(run), precision, everyKind);
	expect(checks.map(({ metric, pass }) => [metric, pass])).toEqual(
		checks.map(({ metric }) => [metric, passes]),
	);
	expect(checks).toHaveLength(6);
});

it("the verdict on recorded engines is a match for a half-precision network with half outputs, bit for bit", () => {
	expect(judge({ name: "half-fp32-0", output: "y" }, "fp32").checks[0]).toMatchObject({
		pass: true,
		got: 0,
		elements: 128,
	});
});

it("the verdict on recorded engines is a mismatch for a mask of which an fp16 engine moved some pixels, judged exactly", () => {
	const verdict = judge({ name: "segmenter-fp16-0", output: "mask" }, "fp16");
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]?.detail).toMatch(/^\d+ of 4096 elements are out of tolerance$/);
});

it("the verdict on recorded engines sees TF32 in an fp32 engine of low optimisation, just beyond the default limit", () => {
	const [check] = judge(classifier("level0-1"), "fp32").checks;
	expect(check?.pass).toBe(false);
	expect(Number(check?.got)).toBeGreaterThan(1e-3);
	expect(
		judge(classifier("level0-1"), "tf32", { comparators: [{ kind: "relative-l2", tolerance: 5e-3 }] }).state,
	).toBe("match");
});

it("the verdict on recorded engines is never a match if the network gives NaN, and the golden of it is refused", () => {
	const recorded: Recorded = { name: "nan-output-fp32-0", output: "y" };
	expect(judge(recorded, "fp32")).toMatchObject({
		state: "mismatch",
		checks: [{ metric: "non-finite", pass: false }],
	});
	expect(judge(recorded, "fp32", { nonFinite: "must-match" }).state).toBe("mismatch");
	const { expected } = load(recorded);
	expect(findInsensitive(manifestOf({ y: expected }), [{ y: expected }])).toMatchObject([
		{ kind: "non-finite", output: "y", case: "only" },
	]);
});

it("the verdict on recorded engines names the dump of a data-dependent output, which holds 1 of 14 values", () => {
	expect(() => load({ name: "data-dependent-fp32-0", output: "y" })).toThrow(
		"expected 112 bytes for int64 [2, 7], got 8 bytes",
	);
	const expected = int64(
		Array.from({ length: 14 }, (_, i) => BigInt(i % 4)),
		[2, 7],
	);
	const got: Tensor = { ...expected, data: expected.data.subarray(0, 8) };
	const manifest = manifestOf({ y: expected });
	const about = {
		manifest,
		caseId: "only",
		model: "net",
		engine: "fp32",
		precision: "fp32" as const,
		modelSha256,
		relativeL2,
	};
	expect(judgeCase({ ...about, expected: { y: expected }, got: { y: got } }).checks[0]).toMatchObject({
		metric: "shape",
		pass: false,
	});
});
