import { expect, it } from "vitest";
import type {
	ComparatorSpec,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	Preprocess,
} from "../../../../generated/golden.ts";
import type { OnnxDim, OnnxModel, OnnxValue } from "../../../../src/core/onnx/model.ts";
import { validateAgainstModel } from "../../../../src/golden/core/manifest/draft.ts";
import { type ReviewInput, reviewGolden, reviewGone } from "../../../../src/golden/core/manifest/review.ts";
import { float32, manifestOf } from "../../../support/golden-tensors.ts";

const y = float32([1, 2]);

function golden(output: GoldenOutput = {}, more: Partial<GoldenManifest> = {}): GoldenManifest {
	const manifest = manifestOf({ y }, { y: output });
	const cases = manifest.cases.map((one) => ({ ...one, labels: { y: [1] } }));
	return { ...manifest, cases: cases as unknown as GoldenManifest["cases"], ...more };
}

const review = (base: GoldenManifest, head: GoldenManifest, moved: ReviewInput["moved"] = []) =>
	reviewGolden({
		...{ model: "m", path: "golden.json", base, head, moved },
		...{ expected: new Map([["y", y]]), relativeL2: {} },
	});
const l2: ComparatorSpec = { kind: "relative-l2" };
const custom: ComparatorSpec = { kind: "custom", name: "lpips" };
const part = { axis: 0, to: 1 };
const at = (tolerance: number, slice?: typeof part): ComparatorSpec => ({
	...l2,
	tolerance,
	...(slice && { slice }),
});
const cosine = (tolerance: number): ComparatorSpec => ({ kind: "cosine", tolerance });
const commandAt = (tolerance: number): ComparatorSpec => ({ ...custom, tolerance });

it("reviewGolden has nothing to say of goldens that judge alike", () => {
	expect(review(golden(), golden({}, { goldenId: "net@2", reason: "again", author: "me" }))).toBeNull();
});

it.each<[string, ComparatorSpec[], ComparatorSpec[], RegExp | null]>([
	[
		"a looser limit",
		[at(1e-4)],
		[at(1e-2)],
		/relative-l2 of output "y" is looser: every precision 0\.0001 → 0\.01/,
	],
	["a tighter limit", [at(1e-2)], [at(1e-4)], null],
	["a limit below a looser default", [{ ...l2, tolerance: { fp32: 1e-6 } }], [l2], /fp32 0\.000001 → 0\.001/],
	["a lower cosine", [cosine(0.999)], [cosine(0.9)], /cosine of output "y" is looser/],
	["a comparator that is gone", [l2, { kind: "cosine" }], [l2], /no longer compared by cosine/],
	["a comparator that is new", [l2], [l2, { kind: "cosine" }], null],
	[
		"a looser limit of one part",
		[at(1e-4), at(1e-4, part)],
		[at(1e-2, part), at(1e-4)],
		/^relative-l2 of 0 of axis 0 of output "y" is looser: every precision 0\.0001 → 0\.01/,
	],
	["a higher floor", [l2], [{ ...l2, floor: 1e-3 }], /floor 0 → 0\.001/],
	["a failure that only warns now", [l2], [{ ...l2, severity: "warn" }], /severity fail → warn/],
	["a looser command", [commandAt(1)], [commandAt(2)], /custom lpips .* looser: every precision 1 → 2/],
	["a command without its limit", [commandAt(2)], [custom], /every precision 2 → default/],
])("reviewGolden calls out %s", (_, before, after, says) => {
	const [base, head] = [before, after].map((specs) => golden({ comparators: specs as [ComparatorSpec] }));
	const change = review(base!, head!);
	expect(change?.tolerances.length).toBeGreaterThan(0);
	if (says === null) expect(change?.weakened).toEqual([]);
	else expect(change?.weakened.join("\n")).toMatch(says);
});

it.each<[string, GoldenOutput, GoldenOutput, string]>([
	["samples that are no longer judged one by one", { batchAxis: 0 }, {}, "scope per-sample → whole"],
	["NaN that is allowed", {}, { nonFinite: "must-match" }, "nonFinite reject → must-match"],
	[
		"a limit of accuracy below what the golden's own labels demand",
		{ comparators: [{ kind: "accuracy" }] },
		{ comparators: [{ kind: "accuracy", tolerance: 0.5 }] },
		"0.99 → 0.5",
	],
])("reviewGolden calls out %s", (_, before, after, says) => {
	expect(review(golden(before), golden(after))?.weakened.join("\n")).toContain(says);
});

it("reviewGolden calls out dropped cases and a softer policy, and notes new ones", () => {
	const [only] = golden().cases;
	const renamed = golden({}, { cases: [{ ...only, id: "other" }], policy: { onModelChange: "warn" } });
	const change = review(golden({}, { policy: { onModelChange: "fail" } }), renamed);
	expect(change?.weakened).toEqual([
		'1 case dropped: "only".',
		"A changed model now means warn, before fail.",
	]);
	expect(change?.notes).toContain('1 case added: "other".');
});

it.each<[string, Partial<GoldenManifest>, string[], string[]]>([
	[
		"a policy that compares no changed model",
		{ policy: { onModelChange: "warn" } },
		["A changed model now means warn, before compare."],
		[],
	],
	[
		"a policy that refuses changed models",
		{ policy: { onModelChange: "fail" } },
		[],
		["A changed model now means compare, before fail."],
	],
	[
		"a policy that lets errors grow",
		{ policy: { mostErrorGrowth: 50 } },
		["An error warns at 50 times the base's, before at 2 times."],
		[],
	],
	[
		"an output that only boxes compare",
		{ detections: [{ name: "found", boxes: "y", scores: "y", format: "xyxy" }] },
		['Output "y" is no longer compared by relative-l2.'],
		["1 comparison of boxes dropped."],
	],
])("reviewGolden judges %s, and its removal", (_, more, weakened, undone) => {
	expect(review(golden(), golden({}, more))?.weakened).toEqual(weakened);
	expect(review(golden({}, more), golden())?.weakened).toEqual(undone);
});

it("reviewGolden calls out other labels, another array of a file, and a picture that becomes another tensor", () => {
	const [one] = golden().cases;
	const file = one!.outputs["y"]!;
	const withCase = (more: Partial<GoldenCase>) => golden({}, { cases: [{ ...one!, ...more }] });
	const labelled = withCase({ labels: { y: [0, 1] } });
	expect(review(labelled, withCase({ labels: { y: [1, 1] } }))?.weakened).toEqual([
		`1 case has other labels: "${one!.id}".`,
	]);
	expect(review(labelled, withCase({}))?.weakened).toHaveLength(1);
	expect(review(golden(), withCase({ outputs: { y: { ...file, member: "z" } } }))).not.toBeNull();
	const picture = (scale: number) =>
		withCase({
			inputs: { x: { ...file, format: "image", preprocess: { kind: "image", scale } as Preprocess } },
		});
	expect(review(picture(1), picture(2))?.notes[0]).toMatch(/^1 case has other inputs/);
	const moved = withCase({ outputs: { y: { ...file, path: "r2/y.npy" } } });
	expect(review(golden(), moved)).toBeNull();
});

it("reviewGolden reports the reason only if it belongs to this change, and its absence", () => {
	const base = golden({}, { reason: "First recording." });
	const otherModel = { model: { path: "net.onnx", sha256: "c".repeat(64) } };
	expect(review(base, golden({}, { ...otherModel, reason: "First recording." }))?.notes).toEqual([
		"It was recorded from another model.",
		"Its id is still net@1: it was changed by hand.",
		"No reason is given.",
		"No author is named.",
	]);
	const again = { ...otherModel, goldenId: "net@2", reason: "Trained again.", author: "Ann" };
	expect(review(base, golden({}, again))).toMatchObject({
		reason: "Trained again.",
		author: "Ann",
		weakened: [],
		notes: ["It was recorded from another model."],
	});
});

it("reviewGolden puts what moved furthest first and keeps the list short", () => {
	const [only] = golden().cases;
	const outputs = { y: { ...only.outputs["y"]!, sha256: "d".repeat(64) } };
	const moved = Array.from({ length: 150 }, (_, index) => {
		return { case: `c${index}`, output: "y", relativeL2: index, maxAbs: index };
	});
	const change = review(golden(), golden({}, { cases: [{ ...only, outputs }] }), moved);
	expect(change).toMatchObject({ movedTotal: 150, moved: { length: 100, 0: { relativeL2: 149 } } });
});

it("reviewGone says that the outputs are no longer checked", () => {
	const { head, weakened } = reviewGone("m", "golden.json", golden());
	expect(head).toBeNull();
	expect(weakened.join()).toContain("net@1 with its 1 case was removed");
});

function tensor(name: string, dims: OnnxDim[] | null, dtype: OnnxValue["dtype"] = "float"): OnnxValue {
	return { name, kind: "tensor", dtype, dims };
}

function modelOf(inputs = [x], outputs = [outputY]): OnnxModel {
	return { graph: { inputs, outputs, initializers: [] } } as unknown as OnnxModel;
}

function ofModel(): GoldenManifest {
	const manifest = manifestOf({ y: float32([1, 2], [1, 2]) });
	const x = { path: "x.npy", sha256: "0".repeat(64), dtype: "float32" as const, shape: [1, 3] };
	return { ...manifest, cases: [{ ...manifest.cases[0], inputs: { x } }] };
}

const x = tensor("x", ["batch", 3]);
const outputY = tensor("y", ["batch", 2]);

it.each([
	["the golden's own model", modelOf()],
	[
		"a model that says nothing of shapes and types",
		modelOf([tensor("x", null, "undefined")], [tensor("y", null, "undefined")]),
	],
	["a model with one more output", modelOf([x], [outputY, tensor("z", [1])])],
	["a model whose stated output size and rank are not the real ones", modelOf([x], [tensor("y", [7])])],
])("validateAgainstModel takes %s", (_, model) => {
	expect(() => validateAgainstModel(ofModel(), model)).not.toThrow();
});

it.each([
	[
		"an input of another name",
		modelOf([tensor("image", [1, 3])]),
		'has input "x"; the model\'s inputs are "image"',
	],
	[
		"an output of another name",
		modelOf([x], [tensor("probs", [1, 2])]),
		'has output "y"; the model\'s outputs are "probs"',
	],
	["one more input", modelOf([x, tensor("mask", [1])]), 'needs input "mask"'],
	[
		"another dtype",
		modelOf([x], [tensor("y", ["batch", 2], "float16")]),
		"is float32; the model's is float16",
	],
	["a dtype that no tensor of ours has", modelOf([tensor("x", [1, 3], "string")]), "the model's is string"],
	["another rank of an input", modelOf([tensor("x", [3])]), "has shape [1, 3]; the model's is [3]"],
	[
		"another fixed size of an input",
		modelOf([tensor("x", ["batch", 4])]),
		"has shape [1, 3]; the model's is [batch, 4]",
	],
	["a sequence", modelOf([x], [{ ...outputY, kind: "sequence" }]), "is a sequence"],
])("validateAgainstModel refuses a model with %s", (_, model, words) => {
	const message = expect.stringContaining(words);
	const error = { code: "golden-other-model", fix: expect.any(String), message };
	expect(() => validateAgainstModel(ofModel(), model)).toThrow(expect.objectContaining(error));
});
