// Outputs of mixed scales: each part gets limits that see its own faults.
import { expect, it } from "vitest";
import { validate } from "../../../../generated/golden-validator.js";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { findRuleProblem } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { deriveLimits } from "../../../../src/golden/core/record/derive-limits.ts";
import { splitMix64 } from "../../../../src/golden/core/record/generators/split-mix.ts";
import { findScaleParts, proposeOutput } from "../../../../src/golden/core/record/propose.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { changeHead, detectorHead, type Head } from "../../../support/detector-heads.ts";
import { finish } from "../../../support/finish.ts";
import { float32, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

/** Each column is normal with its scale, or between 0 and its scale. */
function columns(scales: readonly number[], rows: number, areScores = false): Tensor {
	const random = splitMix64(7, scales);
	const value = (): number => (areScores ? Math.abs(Math.sin(random.normal())) : random.normal());
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

const picture = Array.from({ length: 1024 }, (_, at) => (at < 512 ? 1e-6 : Math.sin(at)));

it.each<[string, readonly Tensor[]]>([
	["scales less than 100 times apart", [columns([1, 5, 60, 20], 50)]],
	["channels that vary by themselves, without a gap", [columns([1e-3, 1e-2, 0.1, 1, 10], 50)]],
	["a dead channel", [columns([1, 2, 0, 1], 50)]],
	["the rows of a picture", [float32(picture, [1, 1, 32, 32])]],
	["scores alone, though some classes are not shown", [columns([0.9, 1e-4, 0.5], 50, true)]],
	["too few rows to tell", [columns([1e4, 1, 1e-4], 5)]],
	["tensors of other widths", [columns([1e4, 1], 50), columns([1e4, 1, 1], 50)]],
	["vectors", [float32([1e4, 1e-4])]],
])("findScaleParts leaves %s together", (_, tensors) => {
	expect(findScaleParts(tensors)).toEqual([]);
});

type Change = (channel: number, anchor: number, value: (channel: number) => number) => number;

const changes: Readonly<Record<string, (classes: number) => Change>> = {
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
		expect(validate(manifest), JSON.stringify(validate.errors)).toBe(true);
		expect(findRuleProblem(manifest)).toBeNull();
		const got = changeHead(expected, head, changes[name]!(head.classes));
		const place = { manifest, caseId: "only", model: "net", engine: "fp16", modelSha256, relativeL2: {} };
		const { state } = judgeCase({ ...place, precision: "fp16", expected: { y: expected }, got: { y: got } });
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
			network: { isQuantised: false, normalisesInstances: false },
		}),
	);
	expect(derived.outputs["y"]?.comparators?.map(({ tolerance }) => tolerance)).toEqual([
		{ fp32: 2e-5 },
		{ fp32: expect.closeTo(9e-4, 4) },
	]);
});
