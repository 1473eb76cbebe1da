// Comparators that a manifest may not ask for: keys that nothing reads, limits that nothing breaks, axes that tell nothing.
import { expect, it } from "vitest";
import { ConfigError } from "../../../../src/core/errors.ts";
import { parseManifest } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { manifestOf, zeros } from "../../../support/golden-tensors.ts";

const outputs = {
	y: zeros("float32", [2, 4, 6]),
	ids: zeros("int64", [2, 6]),
	boxes: zeros("float32", [1, 5, 4]),
	scores: zeros("float32", [1, 5]),
};

const group = { name: "d", boxes: "boxes", scores: "scores", format: "xyxy" };

function problemOf(
	comparator: object,
	options: { output?: string; batchAxis?: number; labels?: object; detections?: object[] } = {},
): string {
	const { output = "y", batchAxis = 0, labels, detections } = options;
	const manifest = manifestOf(outputs, { [output]: { batchAxis, comparators: [comparator as never] } });
	const cases = [{ ...manifest.cases[0], labels }];
	try {
		parseManifest(JSON.stringify({ ...manifest, detections, cases }), "golden.json");
	} catch (error) {
		if (error instanceof ConfigError) return error.message;
		throw error;
	}
	return "";
}

it.each<[object, Parameters<typeof problemOf>[1]?]>([
	[{ kind: "relative-l2", floor: 1e-6, slice: { axis: 1, from: 1, to: 3 } }],
	[{ kind: "top-k", minScore: 0.25, slice: { axis: -1, from: 2 } }],
	[{ kind: "accuracy", slice: { axis: 1, to: 2 } }, { labels: { y: [1, 2, 3, 0] } }],
	[{ kind: "psnr", dataRange: 255, tolerance: 40 }],
	[{ kind: "ssim", window: "uniform", channels: "last", dataRange: 1 }],
	[{ kind: "miou", ignore: 255 }],
	[{ kind: "pixel-disagreement" }, { output: "ids" }],
	[{ kind: "recall-at-k", k: 3 }],
	[{ kind: "token-agreement", ignore: 0 }, { output: "ids" }],
	[{ kind: "accuracy", k: 2 }, { labels: { y: [1, 2, 3, 4, 5, 0, 1, 2] } }],
	[{ kind: "accuracy" }, { output: "ids", labels: { ids: new Array(12).fill(1) } }],
	[
		{ kind: "max-abs" },
		{ detections: [{ ...group, format: "cxcywh", comparators: [{ kind: "map", tolerance: 0.9 }] }] },
	],
])("comparators of a manifest are taken: %j", (comparator, options) => {
	expect(problemOf(comparator, options)).toBe("");
});

it.each<[object, string, Parameters<typeof problemOf>[1]?]>([
	[{ kind: "psnr", window: "uniform" }, "no such key for psnr"],
	[{ kind: "kl", input: "logits", floor: 1 }, "no such key for kl"],
	[{ kind: "relative-l2", minScore: 1 }, "no such key for relative-l2"],
	[{ kind: "custom", name: "x", slice: { axis: 1 } }, "no such key for custom"],
	[{ kind: "relative-l2", slice: { axis: 0, to: 1 } }, "another axis than the batch axis"],
	[{ kind: "top-k", slice: { axis: -1, from: 5 } }, "an axis of more than 1 classes"],
	[{ kind: "accuracy", slice: { axis: 1, to: 2 } }, "4 labels", { labels: { y: [1, 2, 3, 4, 5, 0, 1, 2] } }],
	[{ kind: "max-abs", k: 2 }, "no such key for max-abs"],
	[{ kind: "miou", threshold: 0.5, axis: 1 }, "no such key for miou by threshold"],
	[{ kind: "miou", tolerance: 0 }, "one that miou always keeps"],
	[{ kind: "pixel-disagreement", tolerance: { fp16: 1 } }, "one that pixel-disagreement always keeps"],
	[{ kind: "ssim", tolerance: 1.5 }, "a limit from 0 to 1"],
	[{ kind: "accuracy", scope: "per-sample" }, "whole for accuracy"],
	[{ kind: "accuracy" }, 'labels of "y"'],
	[{ kind: "accuracy" }, "8 labels, one for each row, got 2", { labels: { y: [1, 2] } }],
	[{ kind: "max-abs" }, "with the comparator accuracy", { labels: { y: [1] } }],
	[{ kind: "top-k", k: 6 }, "an axis of more than 6 classes, got one of 6"],
	[{ kind: "miou", axis: 7 }, "an axis of the output, which has 3"],
	[{ kind: "max-abs" }, "an output of [images, boxes, 4]", { detections: [{ ...group, boxes: "ids" }] }],
	[
		{ kind: "max-abs" },
		'an output of case "only"',
		{ detections: [{ name: "d", boxes: "__proto__", format: "xyxy" }] },
	],
	[
		{ kind: "max-abs" },
		"a limit above 0 and up to 1",
		{ detections: [{ ...group, format: "xyxy", comparators: [{ kind: "box-iou", tolerance: 2 }] }] },
	],
])("comparators of a manifest are refused: %j, %s", (comparator, words, options) => {
	expect(problemOf(comparator, options)).toContain(words);
});
