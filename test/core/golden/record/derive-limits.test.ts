// Limits follow from how far correct outputs deviate, at each precision and by each comparator's own number.

import { describe, expect, it } from "vitest";
import type { ComparatorSpec, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/golden-validator.js";
import { judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { toleranceAt } from "../../../../src/core/golden/compare/tolerances.ts";
import { findRuleProblem } from "../../../../src/core/golden/manifest/rules.ts";
import { deriveLimits } from "../../../../src/core/golden/record/derive-limits.ts";
import { peakToRms, relativeL2Limits } from "../../../../src/core/golden/record/limits.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { finish } from "../../../support/finish.ts";
import { float32, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

describe("limits of relative L2", () => {
	const strayed = {
		dtype: "float32",
		isQuantised: false,
		normalisesInstances: false,
		peakRatio: 1,
		noise: 1e-7,
		rounding: { fp16: 6e-4, tf32: 3e-4, bf16: 5e-3 },
	} as const;
	const limits = (more: object) => {
		const found = relativeL2Limits({ ...strayed, ...more });
		return Object.fromEntries(Object.entries(found).map(([precision, { limit }]) => [precision, limit]));
	};

	it.each<[string, object, Record<string, number>]>([
		[
			"three times the emulated rounding, never less than 2e-5 at fp32",
			{},
			{ fp32: 2e-5, fp16: 1.8e-3, tf32: 9e-4, bf16: 0.015 },
		],
		[
			"nine times the noise of few runs, also where a lower precision deviates less",
			{ noise: 1e-3 },
			{ fp32: 9e-3, fp16: 9e-3, tf32: 9e-3, bf16: 0.015 },
		],
		[
			"no less than an engine's own rounding",
			{ rounding: { fp16: 0, tf32: 0, bf16: 0 } },
			{ fp32: 2e-5, fp16: 9e-4, tf32: 9e-4, bf16: 7.5e-3 },
		],
		[
			"more where long rows are added up one by one",
			{ normalisesInstances: true, rounding: { fp16: 9e-3 } },
			{ fp32: 2.1e-4, fp16: 0.027 },
		],
		["what the network makes of fp32 rounding", { rounding: { fp16: 0.2 } }, { fp32: 2.1e-4, fp16: 0.6 }],
		[
			"not of an output that is all wrong",
			{ rounding: { fp16: 1, tf32: 1e-3 } },
			{ fp32: 2e-5, fp16: 1.2, tf32: 3e-3 },
		],
		[
			"less than what lets zeros pass, as long as that leaves some room",
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
		["nothing where nothing was emulated", { rounding: {} }, { fp32: 2e-5 }],
	])("limits of relative L2 are %s", (_, more, expected) => {
		expect(limits(more)).toEqual(expected);
	});

	it("limits of relative L2 leave room for rounding of the largest value where a case is quiet", () => {
		const scores = (peak: number) =>
			float32(
				Array.from({ length: 100 }, (_, index) => (index === 0 ? peak : 1e-4)),
				[1, 100],
			);
		expect(peakToRms([scores(0.5), scores(0)])).toBeCloseTo(10_050, -1);
		expect(peakToRms([float32([-3, 4], [1, 2])])).toBeCloseTo(4 / Math.sqrt(12.5), 6);
		expect(peakToRms([])).toBe(1);
		expect(peakToRms([scores(0.5), scores(0)], 1e-3)).toBe(2);
		expect(limits({ peakRatio: 1e4 })["fp32"]).toBe(3e-3);
	});
});

/** Each value off by a share; the signs differ. */
function shaken(tensor: Tensor, share: number): Tensor {
	const values = new Float32Array(tensor.data.slice().buffer);
	return float32(
		[...values].map((value, index) => value * (1 + share * Math.sign(Math.sin(7 * index + 1)))),
		tensor.shape,
	);
}

const rows = 16;
const classes = 8;
const logits = float32(
	Array.from({ length: rows * classes }, (_, index) => 4 * Math.sin(index * index + 1)),
	[rows, classes],
);
const picture = float32(
	Array.from({ length: 32 * 32 }, (_, index) => 1 + Math.sin(index / 9)),
	[1, 1, 32, 32],
);

const network = { isQuantised: false, normalisesInstances: false };

function derive(tensor: Tensor, output: GoldenOutput, shares: Partial<Record<Precision, number>>) {
	const manifest = manifestOf({ y: tensor }, { y: output });
	const rounded = (Object.entries(shares) as [Precision, number][]).map(([precision, share]) => ({
		precision,
		outputs: [{ y: shaken(tensor, share) }],
	}));
	const noise = [{ label: "again", outputs: [{ y: shaken(tensor, 1e-7) }] }];
	const derived = finish(deriveLimits(manifest, { reference: [{ y: tensor }], noise, rounded, network }));
	const full = { ...manifest, outputs: derived.outputs };
	expect(validate(full), JSON.stringify(validate.errors)).toBe(true);
	expect(findRuleProblem(full)).toBeNull();
	return {
		manifest: full,
		why: derived.why.flatMap(({ sentences }) => sentences),
		output: derived.outputs["y"] ?? {},
	};
}

function stateOf(
	manifest: ReturnType<typeof manifestOf>,
	got: Tensor,
	{ tensor, precision }: { tensor: Tensor; precision: Precision },
): string {
	const place = {
		manifest,
		caseId: "only",
		model: "net",
		engine: precision,
		precision,
		modelSha256,
		relativeL2: {},
	};
	return judgeCase({ ...place, expected: { y: tensor }, got: { y: got } }).state;
}

const shares = { fp16: 1e-3, tf32: 8e-4, bf16: 8e-3 } as const;
const all: [string, Tensor, ComparatorSpec[]][] = [
	[
		"logits",
		logits,
		[
			{ kind: "relative-l2" },
			{ kind: "max-abs" },
			{ kind: "kl", input: "logits" },
			{ kind: "js", input: "logits" },
			{ kind: "cosine" },
			{ kind: "quantile" },
		],
	],
	[
		"a picture",
		picture,
		[
			{ kind: "relative-l2" },
			{ kind: "psnr", dataRange: 2 },
			{ kind: "ssim", dataRange: 2 },
			{ kind: "max-abs" },
		],
	],
];

it("deriveLimits lets rows turn whose lead is within the rounding, though the emulation turned none", () => {
	const values = [...new Float32Array(logits.data.slice().buffer)];
	const best = Math.max(...values.slice(0, classes));
	const narrow = float32(
		values.map((value, index) => (index === 0 ? best : index === 1 ? best - 1e-4 : value)),
		logits.shape,
	);
	const spec: ComparatorSpec = { kind: "top-k" };
	const limitOf = (tensor: Tensor) =>
		toleranceAt(specOf(derive(tensor, { comparators: [spec] }, shares).manifest, spec).tolerance, "fp16");
	expect([limitOf(logits), limitOf(narrow)]).toEqual([undefined, 0.937]);
});

it.each(all)(
	"deriveLimits lets every comparator of %s pass errors like the emulated ones, and none allow five times as much",
	(_, tensor, comparators) => {
		const [first, ...others] = comparators;
		const { manifest } = derive(tensor, { comparators: [first as ComparatorSpec, ...others] }, shares);
		for (const [precision, share] of Object.entries(shares) as [Precision, number][]) {
			expect(stateOf(manifest, shaken(tensor, share), { tensor, precision })).toBe("match");
			expect(stateOf(manifest, shaken(tensor, 2.5 * share), { tensor, precision })).toBe("match");
			for (const spec of comparators) {
				const alone = {
					...manifest,
					outputs: { y: { comparators: [specOf(manifest, spec)] as [ComparatorSpec] } },
				};
				expect([
					precision,
					spec.kind,
					stateOf(alone, shaken(tensor, 5 * share), { tensor, precision }),
				]).toEqual([precision, spec.kind, "mismatch"]);
			}
		}
	},
);

it("deriveLimits keeps default limits where no precision was emulated, and lets no more than half of all elements change", () => {
	const plain: GoldenOutput = { comparators: [{ kind: "relative-l2" }, { kind: "kl", input: "logits" }] };
	const { output, why } = derive(logits, plain, {});
	expect(output.comparators).toEqual([
		{ kind: "relative-l2", tolerance: { fp32: 2e-5 } },
		{ kind: "kl", input: "logits" },
	]);
	expect(why.join(" ")).toContain("other precisions keep their defaults");
	const integers: GoldenOutput = { comparators: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: 0 }] };
	expect(derive(logits, integers, shares).output.comparators?.[0]?.tolerance).toMatchObject({
		fp32: 0,
		fp16: 0.5,
		int8: 0,
	});
});

function specOf(manifest: ReturnType<typeof manifestOf>, { kind }: ComparatorSpec): ComparatorSpec {
	const found = manifest.outputs["y"]?.comparators?.find((spec) => spec.kind === kind);
	if (found === undefined) throw new Error(`No ${kind}.`);
	return found;
}
