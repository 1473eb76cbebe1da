import { expect, it } from "vitest";
import type { ComparatorSpec, DType, Precision } from "../../../../generated/golden.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { toleranceAt } from "../../../../src/golden/core/compare/tolerances.ts";
import { parseManifest } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { deriveLimits } from "../../../../src/golden/core/record/derive-limits.ts";
import { encodeTensor, splitMix64 } from "../../../../src/golden/core/record/generators/encode.ts";
import { peakToRms, relativeL2Limits } from "../../../../src/golden/core/record/limits.ts";
import { findScaleParts, isBatched, proposeOutput } from "../../../../src/golden/core/record/propose.ts";
import { proposeDetections } from "../../../../src/golden/core/record/propose-semantic.ts";
import { findWeaknesses } from "../../../../src/golden/core/record/sensitivity.ts";
import { changeHead, detectorHead, type Head } from "../../../support/detector-heads.ts";
import { finish } from "../../../support/finish.ts";
import {
	caseInput,
	float32,
	manifestOf,
	type Outputs,
	type Tensor,
	zeros,
} from "../../../support/golden-tensors.ts";

function noise(dtype: DType, shape: number[], scale = 1) {
	const random = splitMix64(5, shape);
	const valueAt = () => (dtype.startsWith("int") ? random.below(4) : scale * random.normal());
	return encodeTensor(dtype, shape, valueAt);
}

const network = { isQuantised: false, normalisesInstances: false };

const floats = (shape: number[], valueAt: (index: number) => number) =>
	encodeTensor("float32", shape, valueAt);

const bytes = (shape: number[], count: number) => encodeTensor("uint8", shape, (at) => at % count);
const unitRows = floats([5, 16], (at) => (at % 16 === 0 ? 0.6 : at % 16 === 7 ? 0.8 : 0));
const probabilities = floats([3, 7], (at) => (1 + (at % 7)) / 28);

const [l2, labels] = [["relative-l2"], ["pixel-disagreement", "miou"]];
const mask = [...l2, ...labels];
const picture = [...l2, "psnr", "ssim"];
const textAt = (at: number) => [0.99, 0.99, 0.4, ...new Array(5).fill(1e-6)][Math.floor(at / 64) % 8];

it.each<[string, Tensor, string, string[]]>([
	["logits", noise("float32", [2, 1000]), "logits", ["relative-l2", "top-k", "kl"]],
	["probabilities", probabilities, "probabilities", ["relative-l2", "top-k", "kl"]],
	["a picture", noise("float32", [1, 3, 16, 16]), "image", picture],
	["a picture, channels last", noise("float32", [1, 16, 16, 3]), "image", picture],
	["a small picture", noise("float32", [1, 3, 8, 8]), "image", ["relative-l2", "psnr"]],
	["a picture in bytes", bytes([1, 16, 16, 3], 251), "image", ["max-abs", "psnr", "ssim"]],
	["labels in bytes", bytes([1, 1, 16, 16], 5), "mask", labels],
	["labels", noise("int32", [1, 16, 16]), "mask", labels],
	["negative labels", encodeTensor("int32", [1, 16, 16], (at) => -(at % 3)), "mask", ["allclose"]],
	["ids", noise("int64", [1, 5]), "ids", ["allclose"]],
	["flags of positions", zeros("bool", [1, 6]), "ids", ["allclose"]],
	["a map of text", floats([1, 1, 32, 64], textAt), "mask", mask],
	["a map without an axis of channels", floats([1, 32, 64], textAt), "mask", mask],
	["a map without a pixel of the mask", floats([1, 1, 32, 64], () => 1e-6), "image", l2],
	["vectors of length 1", unitRows, "embedding", ["relative-l2", "cosine"]],
	["features within 1", floats([4, 300], (at) => Math.sin(at * at)), "tensor", l2],
	["one row of numbers", noise("float32", [1, 256]), "tensor", l2],
	["coordinates", noise("float32", [300, 4]), "tensor", l2],
	["features of a text", noise("float32", [40, 1, 200]), "tensor", l2],
	["a cache in the shape of a grey picture", noise("float32", [1, 64, 19, 1], 8), "tensor", l2],
	["scores in a narrow table", floats([1, 130, 10], (at) => (at % 37 ? 0.01 : 0.95)), "tensor", l2],
	["a single probability", float32([0.7], [1, 1]), "tensor", l2],
])("proposeOutput takes %s for what it is", (_, tensor, semantic, kinds) => {
	const { output } = proposeOutput({ tensors: [tensor], batched: tensor.shape.length > 1 });
	expect([output.semantic, output.comparators?.map(({ kind }) => kind)]).toEqual([semantic, kinds]);
	const manifest = manifestOf({ y: tensor }, { y: output });
	parseManifest(JSON.stringify(manifest), "golden.json");
});

it.each<[boolean, Parameters<typeof isBatched>]>([
	[true, [["batch", 8], [["batch", 3, 8, 8]]]],
	[true, [[1, 8], [[1, 3, 8, 8]]]],
	[false, [[256, 4], [[1, 3, 8, 8]]]],
	[false, [[64], [["batch", 8]]]],
	[false, [null, [["batch", 8]]]],
])("isBatched is %s for the axes %j", (batched, axes) => {
	expect(isBatched(...axes)).toBe(batched);
});

it.each<[string, Outputs[], string[]]>([
	["outputs that vary", [{ y: float32([1, 2, 3]) }, { y: float32([3, 1, 2]) }], []],
	["one case", [{ y: float32([1, 2, 3]) }], ["one-case"]],
	["an output that never changes", [{ y: float32([2, 2]) }, { y: float32([2, 2]) }], ["constant"]],
])("findWeaknesses of %s", (_, outputs, found) => {
	const manifest = manifestOf(outputs[0] ?? {}, { y: {} });
	expect(findWeaknesses(manifest, outputs).map(({ kind }) => kind)).toEqual(found);
});

const corners = float32([1, 1, 5, 6, 2, 3, 9, 9, 0, 0, 0, 0], [1, 3, 4]);
const centers = float32([8, 8, 2, 2, 5, 5, 1, 3, 7, 7, 4, 4], [1, 3, 4]);
const scores = float32([0.9, 0.5, 0], [1, 3]);
const classes = float32([1, 0, -1], [1, 3]);
const count = float32([2], [1, 1]);
const nms = { num_dets: count, det_boxes: corners, det_scores: scores, det_classes: classes };

const packed = (...rows: number[][]) => ({ output0: float32(rows.flat(), [1, rows.length, 6]) });

it.each<[string, Outputs, object]>([
	[
		"the four outputs of an NMS plugin",
		nms,
		{ boxes: "det_boxes", scores: "det_scores", classes: "det_classes", count: "num_dets", format: "xyxy" },
	],
	[
		"boxes with scores and labels, as torchvision exports them",
		{ boxes: corners, labels: classes, scores },
		{ classes: "labels", format: "xyxy" },
	],
	["boxes by their center", { boxes: centers, labels: classes, scores }, { format: "cxcywh" }],
	[
		"boxes that are named by corner and size",
		{ boxes_xywh: centers, labels: classes, scores },
		{ format: "xywh" },
	],
	[
		"rows of box, score and class",
		packed([1, 1, 5, 5, 0.9, 3], [2, 2, 3, 3, 0.4, 0], [0, 0, 0, 0, 0, 0]),
		{ boxes: "output0", format: "xyxy" },
	],
])("proposeDetections finds %s", (_, outputs, detections) => {
	const proposal = proposeDetections([outputs], {});
	expect(proposal?.detections).toMatchObject(detections);
	expect(proposal?.why).toContain("boxes in any order");
	const plain = manifestOf(outputs, Object.fromEntries(Object.keys(outputs).map((name) => [name, {}])));
	parseManifest(JSON.stringify({ ...plain, detections: [proposal!.detections] }), "golden.json");
});

it.each<[string, Outputs]>([
	["a raw head, whose boxes have their places", { boxes: corners, scores }],
	[
		"numbers of six columns that are no scores",
		packed([1, 1, 5, 5, 1.9, 3], [2, 2, 3, 3, 0.4, 0.5], [0, 0, 0, 0, 0, 1]),
	],
	["logits", { logits: scores }],
	["nothing", {}],
])("proposeDetections leaves %s alone", (_, outputs) => {
	expect(proposeDetections([outputs], {})).toBeNull();
});

it("proposeDetections adds mAP over the whole set if there are images enough", () => {
	const kinds = (cases: number) =>
		proposeDetections(new Array(cases).fill(nms), {})?.detections.comparators?.map(({ kind, scope }) => [
			kind,
			scope,
		]);
	expect(kinds(3)).not.toContainEqual(["map", "set"]);
	expect(kinds(4)).toContainEqual(["map", "set"]);
});

function columns(scales: number[], rows: number, areScores = false) {
	const random = splitMix64(7, scales);
	const value = () => (areScores ? Math.abs(Math.sin(random.normal())) : random.normal());
	const values = Array.from({ length: rows }, () => scales.map((scale) => scale * value()));
	return float32(values.flat(), [1, rows, scales.length]);
}

const yolo: Head = { anchors: 2100, classes: 18, channels: "first", best: 0.9 };
const yolox: Head = { anchors: 900, classes: 20, channels: "last", best: 0.8 };
const heads = [
	[yolo, 1, 22],
	[yolox, -1, 24],
] as const;

it.each(heads)("findScaleParts tells boxes and scores apart: $channels", (head, axis, end) => {
	const parts = findScaleParts([1, 2].map((seed) => detectorHead(head, seed)));
	expect(parts.map(({ slice }) => slice)).toEqual([
		{ axis, from: 0, to: 4 },
		{ axis, from: 4, to: end },
	]);
});

const rowsOfPicture = floats([1, 1, 32, 32], (at) => (at < 512 ? 1e-6 : Math.sin(at)));

it.each<[string, Tensor[]]>([
	["scales less than 100 times apart", [columns([1, 5, 60, 20], 50)]],
	["channels that vary by themselves, without a gap", [columns([1e-3, 1e-2, 0.1, 1, 10], 50)]],
	["a dead channel", [columns([1, 2, 0, 1], 50)]],
	["the rows of a picture", [rowsOfPicture]],
	["scores alone, though some classes are not shown", [columns([0.9, 1e-4, 0.5], 50, true)]],
	["too few rows to tell", [columns([1e4, 1, 1e-4], 5)]],
	["tensors of other widths", [columns([1e4, 1], 50), columns([1e4, 1, 1], 50)]],
	["vectors", [float32([1e4, 1e-4])]],
])("findScaleParts leaves %s together", (_, tensors) => {
	expect(findScaleParts(tensors)).toEqual([]);
});

type Change = (channel: number, anchor: number, value: (channel: number) => number) => number;

const changes: Record<string, (classes: number) => Change> = {
	right: () => (channel, anchor, value) => value(channel) * (1 + 1e-3 * Math.sin(channel + 31 * anchor)),
	permuted: (classes) => (channel, _, value) =>
		value(channel < 4 ? channel : 4 + ((channel - 4 + 1) % classes)),
	"two classes swapped": () => (channel, _, value) => value(channel === 5 ? 6 : channel === 6 ? 5 : channel),
	"scores × 0.1": () => (channel, _, value) => value(channel) * (channel < 4 ? 1 : 0.1),
	"5 % noise": () => (channel, anchor, value) =>
		value(channel) * (1 + 0.05 * Math.sign(Math.sin(channel + 31 * anchor))),
	"boxes shifted": () => (channel, _, value) => value(channel) + (channel < 4 ? 8 : 0),
};

it.each(heads.flatMap(([head]) => Object.keys(changes).map((name) => [name, head] as const)))(
	"the proposal for an output of mixed scales judges at fp16 what is %s",
	(name, head) => {
		const cases = [1, 2, 3].map((seed) => detectorHead(head, seed));
		const { output } = proposeOutput({ tensors: cases, batched: true });
		const [expected] = cases as [Tensor];
		const manifest = manifestOf({ y: expected }, { y: output });
		parseManifest(JSON.stringify(manifest), "golden.json");
		const got = changeHead(expected, head, changes[name]!(head.classes));
		const { state } = judgeCase(caseInput({ y: expected }, { y: got }, { manifest }));
		expect(state).toBe(name === "right" ? "match" : "mismatch");
	},
);

it("the proposal for an output of mixed scales gives each part its own noise", () => {
	const tensors = [1, 2].map((seed) => detectorHead(yolo, seed));
	const shake: Change = (channel, anchor, value) =>
		value(channel) * (1 + (channel < 4 ? 1e-6 : 1e-4) * Math.sign(Math.sin(anchor)));
	const outputs = tensors.map((tensor) => ({ y: changeHead(tensor, yolo, shake) }));
	const { output } = proposeOutput({ tensors, batched: true });
	const derived = finish(
		deriveLimits(manifestOf({ y: tensors[0] as Tensor }, { y: output }), {
			reference: tensors.map((y) => ({ y })),
			noise: [{ label: "again", outputs }],
			rounded: [],
			network,
		}),
	);
	expect(derived.outputs["y"]?.comparators?.map(({ tolerance }) => tolerance)).toEqual([
		{ fp32: 2e-5 },
		{ fp32: expect.closeTo(9e-4, 4) },
	]);
});

it.each<[string, object, Record<string, number>]>([
	["three times the emulated rounding", {}, { fp32: 2e-5, fp16: 1.8e-3, tf32: 9e-4, bf16: 0.015 }],
	["nine times the noise of few runs", { noise: 1e-3 }, { fp32: 9e-3, fp16: 9e-3, tf32: 9e-3, bf16: 0.015 }],
	[
		"no less than an engine's own rounding",
		{ rounding: { fp16: 0, tf32: 0, bf16: 0 } },
		{ fp32: 2e-5, fp16: 9e-4, tf32: 9e-4, bf16: 7.5e-3 },
	],
	["what the network makes of fp32 rounding", { rounding: { fp16: 0.2 } }, { fp32: 2.1e-4, fp16: 0.6 }],
	[
		"more where long rows are added up one by one",
		{ normalisesInstances: true, rounding: { fp16: 9e-3 } },
		{ fp32: 2.1e-4, fp16: 0.027 },
	],
	[
		"not taken from an output that is all wrong",
		{ rounding: { fp16: 1, tf32: 1e-3 } },
		{ fp32: 2e-5, fp16: 1.2, tf32: 3e-3 },
	],
	[
		"below what lets zeros pass, as long as that leaves some room",
		{ rounding: { fp16: 0.5, bf16: 0.31 } },
		{ fp32: 2e-5, fp16: 0.9, bf16: 0.9 },
	],
	[
		"the root of the rounding where integers jump",
		{ isQuantised: true, rounding: { tf32: 0.2 } },
		{ fp32: 0.03, tf32: 0.6 },
	],
	[
		"what quantised builds differ by",
		{ isQuantised: true, rounding: { tf32: 0.002 } },
		{ fp32: 0.03, tf32: 0.03 },
	],
	[
		"what another build of a quantised model differs by, also at coarser precisions",
		{ isQuantised: true, rounding: { fp32: 0.13, tf32: 0.1 } },
		{ fp32: 0.39, tf32: 0.39, int8: 0.39, fp8: 0.39, int4: 0.39, fp4: 0.39 },
	],
	[
		"the defaults of coarser precisions where they allow more",
		{ isQuantised: true, rounding: { fp32: 0.03 } },
		{ fp32: 0.09, int8: 0.09 },
	],
	["room for rounding of the largest value", { peakRatio: 1e4, rounding: {} }, { fp32: 3e-3 }],
	["nothing where nothing was emulated", { rounding: {} }, { fp32: 2e-5 }],
])("limits of relative L2 are %s", (_, more, expected) => {
	const rounding = { fp16: 6e-4, tf32: 3e-4, bf16: 5e-3 };
	const strayed = { ...network, dtype: "float32", peakRatio: 1, noise: 1e-7, rounding } as const;
	const limits = Object.entries(relativeL2Limits({ ...strayed, ...more }));
	expect(Object.fromEntries(limits.map(([precision, { limit }]) => [precision, limit]))).toEqual(expected);
});

it("peakToRms compares the largest value with the quietest case, and leaves out what is below the floor", () => {
	const scores = (peak: number) => float32([peak, ...new Array(99).fill(1e-4)], [1, 100]);
	expect(peakToRms([scores(0.5), scores(0)])).toBeCloseTo(10_050, -1);
	expect(peakToRms([scores(0.5), scores(0)], 1e-3)).toBe(2);
	expect(peakToRms([float32([-3, 4], [1, 2])])).toBeCloseTo(4 / Math.sqrt(12.5), 6);
	expect(peakToRms([])).toBe(1);
});

function shaken(tensor: Tensor, share: number) {
	const values = [...new Float32Array(tensor.data.slice().buffer)];
	const sign = (index: number) => Math.sign(Math.sin(7 * index + 1));
	return float32(
		values.map((value, index) => value * (1 + share * sign(index))),
		tensor.shape,
	);
}

const classCount = 8;
const logitValues = Array.from({ length: 16 * classCount }, (_, index) => 4 * Math.sin(index * index + 1));
const logits = float32(logitValues, [16, classCount]);
const wave = floats([1, 1, 32, 32], (index) => 1 + Math.sin(index / 9));
const shares: Partial<Record<Precision, number>> = { fp16: 1e-3, tf32: 8e-4, bf16: 8e-3 };

type Specs = [ComparatorSpec, ...ComparatorSpec[]];

function derive(tensor: Tensor, comparators: Specs, emulated: Partial<typeof shares> = shares) {
	const manifest = manifestOf({ y: tensor }, { y: { comparators } });
	const rounded = (Object.entries(emulated) as [Precision, number][]).map(([precision, share]) => {
		return { precision, outputs: [{ y: shaken(tensor, share) }] };
	});
	const noise = [{ label: "again", outputs: [{ y: shaken(tensor, 1e-7) }] }];
	const derived = finish(deriveLimits(manifest, { reference: [{ y: tensor }], noise, rounded, network }));
	const full = { ...manifest, outputs: derived.outputs };
	parseManifest(JSON.stringify(full), "golden.json");
	const found = derived.outputs["y"]?.comparators ?? [];
	return { manifest: full, found, why: derived.why.join(" ") };
}

const distribution = { kind: "kl", input: "logits" } as const;
const dataRange = 2;

it.each<[string, Tensor, Specs]>([
	["logits", logits, [{ kind: "relative-l2" }, distribution, { kind: "cosine" }]],
	["a picture", wave, [{ kind: "relative-l2" }, { kind: "psnr", dataRange }, { kind: "ssim", dataRange }]],
])(
	"deriveLimits lets every comparator of %s pass errors like the emulated ones, and none five times as much",
	(_, tensor, comparators) => {
		const { manifest, found } = derive(tensor, comparators);
		for (const [precision, share] of Object.entries(shares) as [Precision, number][]) {
			const stateOf = (specs: ComparatorSpec[], times: number) => {
				const judged = { ...manifest, outputs: { y: { comparators: specs as Specs } } };
				const got = { y: shaken(tensor, times * share) };
				return judgeCase(caseInput({ y: tensor }, got, { manifest: judged, precision })).state;
			};
			expect([1, 2.5].map((times) => stateOf(found, times))).toEqual(["match", "match"]);
			for (const spec of found)
				expect([precision, spec.kind, stateOf([spec], 5)]).toEqual([precision, spec.kind, "mismatch"]);
		}
	},
);

it("deriveLimits lets rows turn whose lead is within the rounding, though the emulation turned none", () => {
	const best = Math.max(...logitValues.slice(0, classCount));
	const narrow = float32([best, best - 1e-4, ...logitValues.slice(2)], logits.shape);
	const limits = [logits, narrow].map((tensor) => {
		const [spec] = derive(tensor, [{ kind: "top-k" }]).found;
		return toleranceAt(spec?.tolerance, "fp16");
	});
	expect(limits).toEqual([undefined, 0.937]);
});

it("deriveLimits keeps default limits if no precision was emulated, and lets no more than half of all elements change", () => {
	const plain = derive(logits, [{ kind: "relative-l2" }, distribution], {});
	expect(plain.found).toEqual([{ kind: "relative-l2", tolerance: { fp32: 2e-5 } }, distribution]);
	expect(plain.why).toContain("other precisions keep their defaults");
	const [integers] = derive(logits, [{ kind: "allclose", rtol: 0, atol: 0, tolerance: 0 }]).found;
	expect(integers?.tolerance).toMatchObject({ fp32: 0, fp16: 0.5, int8: 0 });
});

it("deriveLimits lets the share of rows that another build keeps pass at fp32, and at every coarser precision", () => {
	const { found } = derive(wave, [{ kind: "relative-l2" }, { kind: "recall-at-k", k: 3, axis: -1 }], {
		fp32: 0.3,
	});
	const { tolerance } = found[1] ?? {};
	const limits = (["fp32", "fp16", "int8"] as const).map(
		(precision) => toleranceAt(tolerance, precision) ?? 1,
	);
	expect(Math.max(...limits)).toBeLessThan(0.9);
	expect(new Set(limits).size).toBe(1);
});

it.each([
	["ssim", wave, { kind: "ssim", dataRange }, 1e-6],
	["cosine", wave, { kind: "cosine" }, 1e-7],
] as const)("deriveLimits holds %s to no more than its arithmetic gives", (_, tensor, spec, finest) => {
	const { found } = derive(tensor, [{ kind: "relative-l2" }, spec], { fp16: 1e-2 });
	expect(1 - (toleranceAt(found[1]?.tolerance, "fp32") ?? 1)).toBeGreaterThanOrEqual(0.999 * finest);
	expect(1 - (toleranceAt(found[1]?.tolerance, "fp32") ?? 1)).toBeLessThan(1e-5);
});
