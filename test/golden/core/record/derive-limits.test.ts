// Limits follow from how far correct outputs deviate, at each precision and by each comparator's own number.

import { expect, it } from "vitest";
import type { ComparatorSpec, Precision } from "../../../../generated/golden.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { toleranceAt } from "../../../../src/golden/core/compare/tolerances.ts";
import { parseManifest } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { deriveLimits } from "../../../../src/golden/core/record/derive-limits.ts";
import { peakToRms, relativeL2Limits } from "../../../../src/golden/core/record/limits.ts";
import type { Tensor } from "../../../../src/golden/core/tensor/tensor.ts";
import { finish } from "../../../support/finish.ts";
import { caseInput, float32, manifestOf } from "../../../support/golden-tensors.ts";

const network = { isQuantised: false, normalisesInstances: false };

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

/** Each value off by a share; the signs differ. */
function shaken(tensor: Tensor, share: number): Tensor {
	const values = [...new Float32Array(tensor.data.slice().buffer)];
	const sign = (index: number): number => Math.sign(Math.sin(7 * index + 1));
	return float32(
		values.map((value, index) => value * (1 + share * sign(index))),
		tensor.shape,
	);
}

const classes = 8;
const logitValues = Array.from({ length: 16 * classes }, (_, index) => 4 * Math.sin(index * index + 1));
const logits = float32(logitValues, [16, classes]);
const picture = float32(
	Array.from({ length: 32 * 32 }, (_, index) => 1 + Math.sin(index / 9)),
	[1, 1, 32, 32],
);
const shares = { fp16: 1e-3, tf32: 8e-4, bf16: 8e-3 } as const;

function derive(
	tensor: Tensor,
	specs: readonly ComparatorSpec[],
	emulated: Partial<Record<Precision, number>> = shares,
) {
	const comparators = specs as [ComparatorSpec, ...ComparatorSpec[]];
	const manifest = manifestOf({ y: tensor }, { y: { comparators } });
	const rounded = (Object.entries(emulated) as [Precision, number][]).map(([precision, share]) => ({
		precision,
		outputs: [{ y: shaken(tensor, share) }],
	}));
	const noise = [{ label: "again", outputs: [{ y: shaken(tensor, 1e-7) }] }];
	const derived = finish(deriveLimits(manifest, { reference: [{ y: tensor }], noise, rounded, network }));
	const full = { ...manifest, outputs: derived.outputs };
	parseManifest(JSON.stringify(full), "golden.json");
	const found = derived.outputs["y"]?.comparators ?? [];
	return { manifest: full, found, why: derived.why.join(" ") };
}

const distribution = { input: "logits" } as const;

it.each<[string, Tensor, ComparatorSpec[]]>([
	["logits", logits, [{ kind: "relative-l2" }, { kind: "kl", ...distribution }, { kind: "cosine" }]],
	[
		"a picture",
		picture,
		[{ kind: "relative-l2" }, { kind: "psnr", dataRange: 2 }, { kind: "ssim", dataRange: 2 }],
	],
])(
	"deriveLimits lets every comparator of %s pass errors like the emulated ones, and none five times as much",
	(_, tensor, comparators) => {
		const { manifest, found } = derive(tensor, comparators);
		for (const [precision, share] of Object.entries(shares) as [Precision, number][]) {
			const stateOf = (specs: readonly ComparatorSpec[], times: number): string => {
				const alone = specs as [ComparatorSpec, ...ComparatorSpec[]];
				const judged = { ...manifest, outputs: { y: { comparators: alone } } };
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
	const best = Math.max(...logitValues.slice(0, classes));
	const narrow = float32([best, best - 1e-4, ...logitValues.slice(2)], logits.shape);
	const limits = [logits, narrow].map((tensor) => {
		const [spec] = derive(tensor, [{ kind: "top-k" }]).found;
		return toleranceAt(spec?.tolerance, "fp16");
	});
	expect(limits).toEqual([undefined, 0.937]);
});

it("deriveLimits keeps default limits if no precision was emulated, and lets no more than half of all elements change", () => {
	const plain = derive(logits, [{ kind: "relative-l2" }, { kind: "kl", ...distribution }], {});
	expect(plain.found).toEqual([
		{ kind: "relative-l2", tolerance: { fp32: 2e-5 } },
		{ kind: "kl", ...distribution },
	]);
	expect(plain.why).toContain("other precisions keep their defaults");
	const [integers] = derive(logits, [{ kind: "allclose", rtol: 0, atol: 0, tolerance: 0 }]).found;
	expect(integers?.tolerance).toMatchObject({ fp32: 0, fp16: 0.5, int8: 0 });
});
