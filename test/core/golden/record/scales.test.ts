// Outputs of mixed scales: their parts are found by statistics, and each part gets comparators that see its own faults.
import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import { judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { findRuleProblem } from "../../../../src/core/golden/manifest/rules.ts";
import { deriveLimits } from "../../../../src/core/golden/record/derive-limits.ts";
import { splitMix64 } from "../../../../src/core/golden/record/generators/split-mix.ts";
import { proposeOutput } from "../../../../src/core/golden/record/propose.ts";
import { findScaleParts } from "../../../../src/core/golden/record/scales.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { changeHead, detectorHead, type Head } from "../../../support/detector-heads.ts";
import { finish } from "../../../support/finish.ts";
import { float32, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

/** Each column is normal with its scale. */
function columns(scales: readonly number[], rows: number, positive: readonly number[] = []): Tensor {
	const random = splitMix64(7, scales);
	const values = Array.from({ length: rows }, () =>
		scales.map((scale, column) =>
			positive.includes(column) ? scale * Math.abs(Math.sin(random.normal())) : scale * random.normal(),
		),
	);
	return float32(values.flat(), [1, rows, scales.length]);
}

const yolo: Head = { anchors: 2100, classes: 18, channels: "first", best: 0.9 };
const yolox: Head = { anchors: 900, classes: 20, channels: "last", best: 0.8 };

it.each<[string, Head, object[]]>([
	[
		"boxes and scores before the anchors",
		yolo,
		[
			{ axis: 1, from: 0, to: 4 },
			{ axis: 1, from: 4, to: 22 },
		],
	],
	[
		"boxes and scores behind them",
		yolox,
		[
			{ axis: -1, from: 0, to: 4 },
			{ axis: -1, from: 4, to: 24 },
		],
	],
])("findScaleParts tells %s apart", (_, head, slices) => {
	const parts = findScaleParts([1, 2].map((seed) => detectorHead(head, seed)));
	expect(parts.map(({ slice }) => slice)).toEqual(slices);
});

it.each<[string, readonly Tensor[]]>([
	["scales less than 100 times apart", [columns([1, 5, 60, 20], 50)]],
	["channels that vary by themselves, without a gap", [columns([1e-3, 1e-2, 0.1, 1, 10], 50)]],
	["a dead channel", [columns([1, 2, 0, 1], 50)]],
	[
		"the rows of a picture",
		[
			float32(
				Array.from({ length: 1024 }, (_, at) => (at < 512 ? 1e-6 : Math.sin(at))),
				[1, 1, 32, 32],
			),
		],
	],
	["scores alone, though some classes are not shown", [columns([0.9, 1e-4, 0.5], 50, [0, 1, 2])]],
	["too few rows to tell", [columns([1e4, 1, 1e-4], 5)]],
	["tensors of other widths", [columns([1e4, 1], 50), columns([1e4, 1, 1], 50)]],
	["vectors", [float32([1e4, 1e-4])]],
])("findScaleParts leaves %s together", (_, tensors) => {
	expect(findScaleParts(tensors)).toEqual([]);
});

function judged(expected: Tensor, got: Tensor, output: GoldenOutput) {
	const manifest = manifestOf({ y: expected }, { y: output });
	const place = {
		manifest,
		caseId: "only",
		model: "net",
		engine: "fp16",
		precision: "fp16" as const,
		modelSha256,
		relativeL2: {},
	};
	return judgeCase({ ...place, expected: { y: expected }, got: { y: got } });
}

it.each([yolo, yolox])(
	"the proposal for an output of mixed scales sees permuted, scaled and noisy scores and shifted boxes at fp16, and takes right ones: $channels",
	(head) => {
		const cases = [1, 2, 3].map((seed) => detectorHead(head, seed));
		const { output, why } = proposeOutput({ tensors: cases, batched: true });
		const manifest = manifestOf({ output0: cases[0] as Tensor }, { output0: output });
		expect(validate(manifest), JSON.stringify(validate.errors)).toBe(true);
		expect(findRuleProblem(manifest)).toBeNull();
		expect(output.comparators?.map(({ kind }) => kind)).toEqual(["relative-l2", "relative-l2"]);
		expect(why.join(" ")).toMatch(/100 times apart/);
		const [golden] = cases as [Tensor];
		const { classes } = head;
		const changes: Record<
			string,
			(channel: number, anchor: number, value: (channel: number) => number) => number
		> = {
			right: (channel, anchor, value) => value(channel) * (1 + 1e-3 * Math.sin(channel + 31 * anchor)),
			permuted: (channel, _, value) => value(channel < 4 ? channel : 4 + ((channel - 4 + 1) % classes)),
			"two classes swapped": (channel, _, value) => value(channel === 5 ? 6 : channel === 6 ? 5 : channel),
			"scores × 0.1": (channel, _, value) => value(channel) * (channel < 4 ? 1 : 0.1),
			"5 % noise": (channel, anchor, value) =>
				value(channel) * (1 + 0.05 * Math.sign(Math.sin(channel + 31 * anchor))),
			"boxes shifted": (channel, _, value) => value(channel) + (channel < 4 ? 8 : 0),
		};
		const states = Object.entries(changes).map(([name, change]) => [
			name,
			judged(golden, changeHead(golden, head, change), output).state,
		]);
		expect(states).toEqual(
			Object.keys(changes).map((name) => [name, name === "right" ? "match" : "mismatch"]),
		);
	},
);

it("the proposal for an output of mixed scales gives each part the noise of its own", () => {
	const tensors = [1, 2].map((seed) => detectorHead(yolo, seed));
	const shaken = tensors.map((tensor) =>
		changeHead(
			tensor,
			yolo,
			(channel, anchor, value) =>
				value(channel) * (1 + (channel < 4 ? 1e-6 : 1e-4) * Math.sign(Math.sin(anchor))),
		),
	);
	const reference = tensors.map((y) => ({ y }));
	const noise = [{ label: "again", outputs: shaken.map((y) => ({ y })) }];
	const { output } = proposeOutput({ tensors, batched: true });
	const derived = finish(
		deriveLimits(manifestOf({ y: tensors[0] as Tensor }, { y: output }), {
			reference,
			noise,
			rounded: [],
			network: { isQuantised: false, normalisesInstances: false },
		}),
	);
	const limits = derived.outputs["y"]?.comparators?.map(({ tolerance }) =>
		typeof tolerance === "object" ? tolerance.fp32 : undefined,
	);
	expect(limits?.[0]).toBeCloseTo(2e-5, 9);
	expect(limits?.[1]).toBeGreaterThan(8e-4);
	expect(limits?.[1]).toBeLessThan(1e-3);
});
