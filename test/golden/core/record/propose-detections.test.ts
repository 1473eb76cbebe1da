// Outputs that hold boxes are found by their names, shapes and values, and others are left alone.
import { expect, it } from "vitest";
import { validate } from "../../../../generated/golden-validator.js";
import { findRuleProblem } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { proposeDetections } from "../../../../src/golden/core/record/propose-semantic.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

type Outputs = Record<string, Tensor>;

const corners = float32([1, 1, 5, 6, 2, 3, 9, 9, 0, 0, 0, 0], [1, 3, 4]);
const centers = float32([8, 8, 2, 2, 5, 5, 1, 3, 7, 7, 4, 4], [1, 3, 4]);
const scores = float32([0.9, 0.5, 0], [1, 3]);
const classes = float32([1, 0, -1], [1, 3]);
const count = float32([2], [1, 1]);
const nms = { num_dets: count, det_boxes: corners, det_scores: scores, det_classes: classes };

function packed(rows: readonly (readonly number[])[]): Tensor {
	return float32(rows.flat(), [1, rows.length, 6]);
}

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
		{
			output0: packed([
				[1, 1, 5, 5, 0.9, 3],
				[2, 2, 3, 3, 0.4, 0],
				[0, 0, 0, 0, 0, 0],
			]),
		},
		{ boxes: "output0", format: "xyxy" },
	],
])("proposeDetections finds %s", (_, outputs, detections) => {
	const proposal = proposeDetections([outputs], {});
	expect(proposal?.detections).toMatchObject(detections);
	expect(proposal?.why).toContain("boxes in any order");
	const plain = manifestOf(outputs, Object.fromEntries(Object.keys(outputs).map((name) => [name, {}])));
	const manifest = {
		...plain,
		detections: [proposal!.detections] as [NonNullable<typeof proposal>["detections"]],
	};
	expect(validate(manifest), JSON.stringify(validate.errors)).toBe(true);
	expect(findRuleProblem(manifest)).toBeNull();
});

it.each<[string, Outputs]>([
	["a raw head, whose boxes have their places", { boxes: corners, scores }],
	[
		"numbers of six columns that are no scores",
		{
			output0: packed([
				[1, 1, 5, 5, 1.9, 3],
				[2, 2, 3, 3, 0.4, 0.5],
				[0, 0, 0, 0, 0, 1],
			]),
		},
	],
	["logits", { logits: scores }],
	["nothing", {}],
])("proposeDetections leaves %s alone", (_, outputs) => {
	expect(proposeDetections([outputs], {})).toBeNull();
});

it("proposeDetections adds mAP over the whole set if there are images enough", () => {
	const kinds = (cases: number) =>
		proposeDetections(
			Array.from({ length: cases }, () => nms),
			{},
		)?.detections.comparators?.map(({ kind, scope }) => [kind, scope]);
	expect(kinds(3)).not.toContainEqual(["map", "set"]);
	expect(kinds(4)).toContainEqual(["map", "set"]);
});
