import { expect, it } from "vitest";
import { renderInspection } from "../../../src/golden/app/inspect.ts";
import type { Inspection } from "../../../src/golden/stages/inspect.ts";

type Limit = Inspection["groups"][number]["limits"][number];

const limit = (kind: Limit["kind"], label: string, severity: Limit["severity"], least: number): Limit => ({
	...{ kind, label, severity, bound: "at-least", allowed: [{ precision: "fp32", limit: least }] },
});

const inspection: Inspection = {
	golden: "net@2",
	reason: "Retrained.",
	author: null,
	model: { path: "net.onnx", sha256: "a".repeat(64) },
	producer: {
		...{ backend: "onnxruntime-wasm", version: "1", precision: "fp32", seed: 3 },
		inputs: { image: "image, SplitMix64", mask: "given" },
	},
	cases: [],
	outputs: [
		{
			...{ name: "boxes", semantic: "boxes", noise: null, rounding: [], group: "found", limits: [] },
			proposal: { output: {}, why: ["Never shown."] },
		},
		{
			...{ name: "logits", semantic: "logits", rounding: [], group: undefined },
			noise: { relativeL2: 0, maxAbs: 0 },
			limits: [limit("cosine", "cosine similarity", "warn", 0.99999)],
			proposal: { output: { comparators: [{ kind: "kl" }] }, why: ["Treated as logits."] },
		},
	],
	groups: [{ name: "found", limits: [limit("box-iou", "smallest overlap", "fail", 0.99982)] }],
	detections: null,
	noiseFloor: null,
	sensitivity: {
		...{ state: "complete", seed: 1, planned: 72, tensors: 9, tested: 72 },
		precisions: { fp32: { kinds: { "tensor-zero": { tried: 9, moving: 8, noticed: 8 } }, missed: [] } },
	},
	findings: [],
};

const text = renderInspection(inspection);
it.each([
	["how inputs were made", "inputs: image image, SplitMix64; mask given (seed 3)"],
	["limits just below one with the digits that count", "  cosine (warns): cosine similarity: fp32 ≥ 0.99999"],
	["limits of boxes", "boxes found\n  box-iou: smallest overlap: fp32 ≥ 0.99982"],
	["outputs that are compared as boxes", "output boxes (boxes)\n  compared with the boxes of found\n"],
	["what it notices", "notices 8 of 8 defects that move an output beyond rounding at fp32."],
])("renderInspection tells %s", (_, words) => {
	expect(text).toContain(words);
});
