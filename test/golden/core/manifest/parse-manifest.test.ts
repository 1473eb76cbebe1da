import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ConfigError } from "../../../../src/core/errors.ts";
import { parseManifest } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { manifestOf, zeros } from "../../../support/golden-tensors.ts";

const examples = new URL("../../../../golden-schema/examples/golden/", import.meta.url);
const example = (name: string) => readFileSync(new URL(name, examples), "utf8");
const minimal = example("valid/minimal.json");

const complaints: Record<string, string[]> = {
	"unknown-key": ["/outputz", 'Write "outputs"'],
	"unknown-comparator": ["/outputs/y/comparators/0/kind", 'Write "relative-l2"'],
	"unknown-precision": ["/outputs/y/comparators/0/tolerance/fp17", 'Write "fp16"'],
	"missing-cases": ["/cases", "missing", 'Add "cases"'],
	"no-cases": ["/cases", "at least 1 entry", "an empty list"],
	"no-comparators": ["/outputs/y/comparators", "at least 1 entry"],
	"no-outputs-in-case": ["/cases/0/outputs", "at least 1 entry"],
	"other-version": ["/schemaVersion", "expected 1, got 2"],
	"bad-id": ["/goldenId", "name@revision"],
	"bad-hash": ["/model/sha256", "64 lower-case hexadecimal digits"],
	"negative-size": ["/cases/0/inputs/x/shape/0: expected a number of at least 0, got -"],
	"fractional-size": ["/cases/0/inputs/x/shape/0", "integer"],
	"path-upwards": ["/cases/0/outputs/y/path", "inside the manifest's folder", "a/../../y.npy"],
	"path-absolute": ["/cases/0/outputs/y/path", "/etc/passwd"],
	"path-drive": ["/cases/0/outputs/y/path", "C:y.npy"],
	"path-backslash": ["/cases/0/outputs/y/path"],
	"duplicate-case": ["/cases/1/id", "that of /cases/0"],
	"huge-tensor": ["/cases/0/inputs/x/shape", "at most 4294967296 bytes"],
	"compares-nothing": ["/cases/0/outputs", "nothing that could be compared"],
	"comparators-of-no-output": ["/outputs/yy", 'an output of the cases: "y"'],
	"unexpected-key": ["/outputs/y/comparators/0/rtol", "no such key for relative-l2"],
	"kl-of-what": ["/outputs/y/comparators/0/input", "logits or probabilities"],
	"sample-without-axis": ["/outputs/y/comparators/0/scope", "batchAxis"],
	"batch-axis-beyond-rank": ["/outputs/y/batchAxis", "an axis of the output, which has 2"],
	"class-axis-beyond-rank": ["/outputs/y/comparators/0/axis"],
	"slice-beyond-shape": ["/outputs/y/comparators/0/slice/to", "indices up to 10, the size of the axis", "40"],
	"class-axis-is-batch-axis": ["/outputs/y/comparators/0/axis", "another axis than the batch axis"],
	"limit-that-cannot-break": ["/outputs/y/comparators/0/tolerance", "one that top-k always keeps"],
	"share-above-one": ["/outputs/y/comparators/0/tolerance", "a limit from 0 to 1"],
};

function problemIn(text: string) {
	try {
		parseManifest(text, "golden/net/golden.json");
	} catch (error) {
		if (error instanceof ConfigError) return error;
		throw error;
	}
	return null;
}

const refusalOf = (text: string) => problemIn(text) ?? expect.fail("the manifest was taken");

it.each(readdirSync(new URL("valid/", examples)))("parseManifest takes the valid example %s", (name) => {
	expect(parseManifest(example(`valid/${name}`), name).schemaVersion).toBe(1);
});

it("parseManifest knows every invalid example", () => {
	const files = Object.keys(complaints).map((name) => `${name}.json`);
	expect(readdirSync(new URL("invalid/", examples)).toSorted()).toEqual(files.toSorted());
});

it.each(Object.entries(complaints))("parseManifest refuses %s and reports where and why", (name, words) => {
	const error = refusalOf(example(`invalid/${name}.json`));
	expect(error.code).toBe("golden-invalid");
	expect(error.message).toContain("golden/net/golden.json: ");
	for (const word of words) expect(`${error.message} ${error.fix}`).toContain(word);
	expect(error).toMatchObject({ pointer: expect.any(String), fix: expect.any(String) });
});

it("parseManifest takes names of the language for names of outputs, and refuses them as keys", () => {
	const named = minimal.replaceAll('"y"', '"__proto__"');
	expect(Object.keys(parseManifest(named, "x").cases[0].outputs)).toEqual(["__proto__"]);
	const keyed = minimal.replace('"schemaVersion"', '"__proto__": {}, "schemaVersion"');
	expect(refusalOf(keyed).message).toContain("__proto__");
});

it.each([
	["zero width space", "a\u200bb", "U+200B"],
	["right-to-left override", "a\u202eb", "U+202E"],
	["soft hyphen", "\u00adab", "U+00AD"],
	["line break", "a\nb", "U+000A"],
	["variation selector", "a\u{e0100}b", "U+E0100"],
])("parseManifest refuses a case whose name contains a %s", (_, id, point) => {
	const manifest = JSON.parse(minimal);
	manifest.cases[0].id = id;
	const { message, pointer } = refusalOf(JSON.stringify(manifest));
	expect(pointer).toBe("/cases/0/id");
	expect(message).toContain(point);
});

it.each([
	["", "expected JSON, got an empty file"],
	["{", "expected JSON, got text that is not JSON"],
	["[]", "type object"],
	["null", "type object"],
	["version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "a Git LFS pointer"],
])("parseManifest refuses the text %j and says once what to do", (text, words) => {
	const { message, fix } = refusalOf(text);
	expect(message).toContain(words);
	expect(message).not.toContain(fix);
});

it("parseManifest reads a file with a byte order mark", () => {
	expect(parseManifest(`\uFEFF${minimal}`, "x").goldenId).toBe("net@1");
});

it("parseManifest shows no control characters of a hostile file", () => {
	const hostile = minimal.replace("first/y.npy", "/\\u001b[31mred\\u0007");
	expect(refusalOf(hostile).message).not.toMatch(/\p{Cc}/u);
});

const outputs = {
	y: zeros("float32", [2, 4, 6]),
	ids: zeros("int64", [2, 6]),
	boxes: zeros("float32", [1, 5, 4]),
	scores: zeros("float32", [1, 5]),
};

interface Around {
	output?: string;
	labels?: object;
	detections?: object;
}

function problemOf(comparator: object, { output = "y", labels, detections }: Around = {}) {
	const manifest = manifestOf(outputs, { [output]: { batchAxis: 0, comparators: [comparator as never] } });
	const group = detections && { name: "d", boxes: "boxes", scores: "scores", format: "xyxy", ...detections };
	const cases = [{ ...manifest.cases[0], labels }];
	const whole = { ...manifest, ...(group && { detections: [group] }), cases };
	return problemIn(JSON.stringify(whole))?.message ?? "";
}

const maxAbs = { kind: "max-abs" };
const eight = { labels: { y: [1, 2, 3, 4, 5, 0, 1, 2] } };

it.each<[object, Around?]>([
	[{ kind: "relative-l2", floor: 1e-6, slice: { axis: 1, from: 1, to: 3 } }],
	[{ kind: "top-k", minScore: 0.25, slice: { axis: -1, from: 2 } }],
	[{ kind: "accuracy", slice: { axis: 1, to: 2 } }, { labels: { y: [1, 2, 3, 0] } }],
	[{ kind: "psnr", dataRange: 255, tolerance: 40 }],
	[{ kind: "ssim", window: "uniform", channels: "last", dataRange: 1 }],
	[{ kind: "miou", ignore: 255 }],
	[{ kind: "pixel-disagreement" }, { output: "ids" }],
	[{ kind: "recall-at-k", k: 3 }],
	[{ kind: "token-agreement", ignore: 0 }, { output: "ids" }],
	[{ kind: "accuracy", k: 2 }, eight],
	[{ kind: "accuracy" }, { output: "ids", labels: { ids: new Array(12).fill(1) } }],
	[maxAbs, { detections: { format: "cxcywh", comparators: [{ kind: "map", tolerance: 0.9 }] } }],
])("comparators of a manifest are taken: %j", (comparator, options) => {
	expect(problemOf(comparator, options)).toBe("");
});

it.each<[object, string, Around?]>([
	[{ kind: "kl", input: "logits", floor: 1 }, "no such key for kl"],
	[{ kind: "relative-l2", minScore: 1 }, "no such key for relative-l2"],
	[{ kind: "custom", name: "x", slice: { axis: 1 } }, "no such key for custom"],
	[{ kind: "relative-l2", slice: { axis: 0, to: 1 } }, "another axis than the batch axis"],
	[{ kind: "top-k", slice: { axis: -1, from: 5 } }, "an axis of more than 1 classes"],
	[{ kind: "accuracy", slice: { axis: 1, to: 2 } }, "4 labels", eight],
	[{ kind: "miou", threshold: 0.5, axis: 1 }, "no such key for miou by threshold"],
	[{ kind: "pixel-disagreement", tolerance: { fp16: 1 } }, "one that pixel-disagreement always keeps"],
	[{ kind: "accuracy", scope: "per-sample" }, "whole for accuracy"],
	[{ kind: "accuracy" }, 'labels of "y"'],
	[{ kind: "accuracy" }, "8 labels, one for each row, got 2", { labels: { y: [1, 2] } }],
	[maxAbs, "with the comparator accuracy", { labels: { y: [1] } }],
	[{ kind: "top-k", k: 6 }, "an axis of more than 6 classes, got one of 6"],
	[maxAbs, "an output of [images, boxes, 4]", { detections: { boxes: "ids" } }],
	[maxAbs, 'an output of case "only"', { detections: { boxes: "__proto__", scores: undefined } }],
	[
		maxAbs,
		"a limit above 0 and up to 1",
		{ detections: { comparators: [{ kind: "box-iou", tolerance: 2 }] } },
	],
	[
		maxAbs,
		"missing boxes: box-missing, box-f1, map, got box-iou, box-extra",
		{ detections: { comparators: [{ kind: "box-iou" }, { kind: "box-extra" }] } },
	],
])("comparators of a manifest are refused: %j, %s", (comparator, words, options) => {
	expect(problemOf(comparator, options)).toContain(words);
});
