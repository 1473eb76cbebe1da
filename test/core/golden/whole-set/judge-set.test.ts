// Numbers over all cases of a golden: against numpy, scipy, scikit-learn and pycocotools, and what is refused.

import { describe, expect, it } from "vitest";
import type {
	ComparatorSpec,
	Detections,
	GoldenCase,
	GoldenManifest,
	Precision,
} from "../../../../generated/golden.ts";
import { ConfigError } from "../../../../src/core/errors.ts";
import { parseManifest } from "../../../../src/core/golden/manifest/parse-manifest.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { judgeSet, type SetSides, watchSet } from "../../../../src/core/golden/whole-set/judge-set.ts";
import oracle from "../../../oracles/golden-set.json" with { type: "json" };
import tasks from "../../../oracles/golden-tasks.json" with { type: "json" };
import { float32, float64, fromBase64, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

interface OracleCase {
	shape: number[];
	dtype: string;
	expected: string;
	got: string;
	labels?: number[];
}

interface Case {
	expected: Record<string, Tensor>;
	got: Record<string, Tensor>;
	labels?: number[];
}

function casesOf(cases: readonly OracleCase[]): Case[] {
	return cases.map(({ dtype, shape, expected, got, labels }) => ({
		expected: { y: fromBase64(dtype, shape, expected) },
		got: { y: fromBase64(dtype, shape, got) },
		...(labels ? { labels } : {}),
	}));
}

interface Asked {
	comparators?: readonly ComparatorSpec[];
	detections?: Detections;
}

function manifestFor(cases: readonly Case[], { comparators, detections }: Asked): GoldenManifest {
	const outputs: GoldenManifest["outputs"] =
		comparators === undefined ? { boxes: {} } : { y: { comparators: comparators as [ComparatorSpec] } };
	const plain = manifestOf({}, outputs);
	const all = cases.map(({ expected, labels }, index): GoldenCase => {
		const [golden] = manifestOf(expected).cases;
		return { ...golden, id: `case-${index}`, ...(labels ? { labels: { y: labels as [number] } } : {}) };
	});
	return {
		...plain,
		...(detections ? { detections: [detections] } : {}),
		cases: all as GoldenManifest["cases"],
	};
}

function judge(
	cases: readonly Case[],
	asked: Asked,
	options: { precision?: Precision; base?: boolean; modelSha256?: string } = {},
) {
	const manifest = manifestFor(cases, asked);
	parseManifest(JSON.stringify(manifest), "golden.json");
	const place = {
		manifest,
		model: "net",
		engine: "plain",
		precision: options.precision ?? "fp32",
		modelSha256: options.modelSha256 ?? modelSha256,
		relativeL2: {},
	};
	const sides = (index: number): SetSides => {
		const { expected, got } = cases[index]!;
		return options.base === true ? { expected, got, base: got } : { expected, got };
	};
	return judgeSet(
		place,
		manifest.cases.map((golden, index) => ({ golden, sides: sides(index) })),
	);
}

function figure(cases: readonly Case[], comparator: ComparatorSpec): number {
	const [check] = judge(cases, { comparators: [{ scope: "set", ...comparator }] })?.checks ?? [];
	return Number(check?.got);
}

const { rows, maps, embeddings } = oracle;

describe("one number over all cases", () => {
	it.each<[string, readonly OracleCase[], ComparatorSpec, number]>([
		[
			"accuracy, as scikit-learn's top_k_accuracy_score",
			rows.cases,
			{ kind: "accuracy" },
			rows.accuracy["1"],
		],
		["accuracy of the two best", rows.cases, { kind: "accuracy", k: 2 }, rows.accuracy["2"]],
		["top-k, as numpy's", rows.cases, { kind: "top-k" }, rows["top-k"]],
		["tokens, as numpy's argmax", rows.cases, { kind: "token-agreement" }, rows["top-k"]],
		["the KL divergence, as scipy's entropy", rows.cases, { kind: "kl", input: "logits" }, rows.kl],
		[
			"the share outside of a tolerance, as numpy's isclose",
			rows.cases,
			{ kind: "allclose", rtol: 0.1, atol: 0.1 },
			rows.allclose,
		],
		[
			"relative L2, as numpy's norms of all together",
			rows.cases,
			{ kind: "relative-l2" },
			rows["relative-l2"],
		],
		["mIoU, as scikit-learn's jaccard_score of all pixels", maps.cases, { kind: "miou" }, maps.miou],
		["pixels that differ", maps.cases, { kind: "pixel-disagreement" }, maps["pixel-disagreement"]],
		[
			"neighbours that are kept, as numpy's argsort",
			embeddings.cases,
			{ kind: "recall-at-k", k: embeddings.k },
			embeddings["recall-at-k"],
		],
		[
			"ranks, as scipy's spearmanr",
			embeddings.cases,
			{ kind: "rank-agreement" },
			embeddings["rank-agreement"],
		],
	])("one number over all cases is %s", (_, cases, comparator, value) => {
		const kind =
			comparator.kind === "accuracy"
				? casesOf(cases)
				: casesOf(cases.map(({ labels: _labels, ...rest }: OracleCase) => rest));
		expect(Math.abs(figure(kind, comparator) - value)).toBeLessThan(1e-12);
	});

	const group: Detections = {
		name: "found",
		boxes: "boxes",
		format: "xyxy",
		scoreThreshold: 0,
		comparators: [
			{ kind: "map", scope: "set" },
			{ kind: "box-f1", scope: "set", tolerance: 0.5 },
		],
	};
	const packed = (boxes: readonly (readonly number[])[]): Tensor =>
		float64(boxes.flat(), [1, boxes.length, 6]);

	it.each(tasks.coco.map((one, index) => ({ ...one, index })))(
		"one number over all cases is pycocotools' mAP over images of several cases, #$index",
		(one) => {
			const cases = one.images.map(({ expected, got }) => ({
				expected: { boxes: packed(expected) },
				got: { boxes: packed(got) },
			}));
			const checks = judge(cases, { detections: group })?.checks ?? [];
			expect(Math.abs(Number(checks[0]?.got) - one.map)).toBeLessThan(1e-9);
			expect(checks[1]?.detail).toContain("3 images");
		},
	);

	it("one number over all cases demands a share of what the golden itself reaches, where accuracy has no limit", () => {
		const [check] =
			judge(casesOf(rows.cases), { comparators: [{ kind: "accuracy", scope: "set" }] })?.checks ?? [];
		expect(check?.allowed).toBeCloseTo(rows.golden * 0.99, 12);
		expect(check?.detail).toContain("the golden itself reaches");
	});

	it("one number over all cases holds a limit: what misses it is a mismatch, what may only warn is none", () => {
		const cases = casesOf(rows.cases);
		expect(judge(cases, { comparators: [{ kind: "accuracy", scope: "set", tolerance: 0.99 }] })?.state).toBe(
			"mismatch",
		);
		expect(
			judge(cases, { comparators: [{ kind: "accuracy", scope: "set", tolerance: 0.99, severity: "warn" }] })
				?.state,
		).toBe("match");
		expect(judge(cases, { comparators: [{ kind: "accuracy", scope: "set", tolerance: 0.1 }] })?.state).toBe(
			"match",
		);
	});

	it("one number over all cases reports the base's own number too", () => {
		const [check] =
			judge(casesOf(maps.cases), { comparators: [{ kind: "miou", scope: "set" }] }, { base: true })?.checks ??
			[];
		expect(check?.base).toBe(check?.got);
	});

	it("one number over all cases does not depend on how the rows are cut into cases", () => {
		const row = (index: number) => [Math.sin(index), Math.cos(3 * index), Math.sin(index * index)];
		const noisy = (index: number) => row(index).map((value, at) => value + 0.4 * Math.sin(17 * index + at));
		const cut = (size: number): Case[] =>
			Array.from({ length: 60 / size }, (_, block) => {
				const at = Array.from({ length: size }, (_i, index) => block * size + index);
				return {
					expected: { y: float32(at.flatMap(row), [size, 3]) },
					got: { y: float32(at.flatMap(noisy), [size, 3]) },
				};
			});
		for (const kind of ["top-k", "recall-at-k", "rank-agreement", "relative-l2", "miou"] as const) {
			expect(figure(cut(1), { kind })).toBeCloseTo(figure(cut(60), { kind }), 12);
		}
	});
});

describe("the verdict on the whole set", () => {
	const two = casesOf(maps.cases);

	it("the verdict on the whole set is none without a comparator over the set", () => {
		expect(judge(two, { comparators: [{ kind: "miou" }] })).toBeNull();
	});

	it("the verdict on the whole set is an error where a case gave nothing that can be compared", () => {
		const lost = two.map((one, index) => (index === 1 ? { ...one, got: {} } : one));
		const verdict = judge(lost, { comparators: [{ kind: "miou", scope: "set" }] });
		expect(verdict).toMatchObject({ state: "error", scope: "set", cases: 3, checks: [] });
		expect(verdict?.message).toContain('1 of 3 cases cannot be compared (the first is "case-1")');
	});

	it("the verdict on the whole set is an error where a value is NaN", () => {
		const cases = [{ expected: { y: float32([1, 2]) }, got: { y: float32([1, Number.NaN]) } }];
		expect(judge(cases, { comparators: [{ kind: "top-k", scope: "set" }] })?.state).toBe("error");
	});

	it("the verdict on the whole set is none of a stale golden", () => {
		const manifest = {
			...manifestFor(two, { comparators: [{ kind: "miou", scope: "set" }] }),
			policy: { onModelChange: "fail" as const },
		};
		const place = {
			manifest,
			model: "net",
			engine: "plain",
			precision: "fp32" as const,
			modelSha256: "c".repeat(64),
			relativeL2: {},
		};
		expect(judgeSet(place, [])).toBeNull();
	});

	it("the verdict on the whole set keeps an even sample of too many vectors, and reports it", () => {
		const manifest = manifestFor([{ expected: { y: float32([1, 0], [1, 2]) }, got: {} }], {
			comparators: [{ kind: "recall-at-k", k: 1, scope: "set" }],
		});
		const watch = watchSet({
			manifest,
			model: "net",
			engine: "plain",
			precision: "fp32",
			modelSha256,
			relativeL2: {},
		});
		for (let index = 0; index < 5000; index += 1) {
			const y = float32([Math.cos(index), Math.sin(index)], [1, 2]);
			watch?.see({ ...manifest.cases[0], id: `case-${index}` }, { expected: { y }, got: { y } });
		}
		const [check] = watch?.verdict()?.checks ?? [];
		expect(check).toMatchObject({ got: 1, pass: true });
		expect(check?.detail).toBe("of 1250 among 5000 vectors, evenly drawn");
	});
});

describe("a manifest", () => {
	const problem = (asked: Asked): string => {
		try {
			parseManifest(
				JSON.stringify(
					manifestFor(
						[
							{
								expected: { y: float32([1, 2], [1, 2]), boxes: float32([1, 2, 3, 4, 5, 6], [1, 1, 6]) },
								got: {},
							},
						],
						asked,
					),
				),
				"g",
			);
		} catch (error) {
			if (error instanceof ConfigError) return error.message;
			throw error;
		}
		return "";
	};

	it.each(["max-abs", "cosine", "psnr", "ssim"] as const)(
		"a manifest may not ask for %s over the set, where the worst case decides",
		(kind) => {
			expect(problem({ comparators: [{ kind, scope: "set" }] })).toContain("the worst case decides");
		},
	);

	it("a manifest may not set the smallest overlap over the set", () => {
		const comparators = [{ kind: "box-iou", scope: "set" }] as [{ kind: "box-iou"; scope: "set" }];
		expect(problem({ detections: { name: "d", boxes: "boxes", format: "xyxy", comparators } })).toContain(
			"whole for box-iou",
		);
	});
});

describe("over all cases with a base engine", () => {
	const y = [1, 2, 3, 4, 5, 6];
	const off = (error: number): Tensor => float32([1, 2, 3, 4, 5, 6 + error * Math.sqrt(91)]);
	const over = (head: number, base: number, changes: Partial<Parameters<typeof judgeSet>[0]> = {}) => {
		const expected = { y: float32(y) };
		const manifest = manifestFor([{ expected, got: expected }], {
			comparators: [{ kind: "relative-l2", scope: "set" }],
		});
		const place = {
			manifest,
			model: "net",
			engine: "plain",
			precision: "fp16" as const,
			modelSha256,
			relativeL2: { fp32: 1e-3, fp16: 5e-3 },
		};
		const sides = { expected, got: { y: off(head) }, base: { y: off(base) } };
		return judgeSet({ ...place, ...changes }, [{ golden: manifest.cases[0], sides }]);
	};

	it("over all cases the base of another precision is judged by its own limit", () => {
		expect(over(0.02, 0.002)?.state).toBe("mismatch");
		expect(over(0.02, 0.002, { basePrecision: "fp32" })?.state).toBe("existing");
		expect(over(0.02, 0.0005, { basePrecision: "fp32" })?.state).toBe("mismatch");
	});

	it("over all cases the base excuses no failure of a set that its own golden lacks", () => {
		expect(over(0.02, 0.02)?.state).toBe("existing");
		const verdict = over(0.02, 0.02, { isNewSet: true });
		expect(verdict?.state).toBe("mismatch");
		expect(verdict?.checks[0]).not.toHaveProperty("existing");
	});

	it("over all cases growth fails for one precision, and only warns where the base has another", () => {
		const severities = (verdict: ReturnType<typeof over>) =>
			verdict?.checks.filter(({ metric }) => metric === "error-growth").map(({ severity }) => severity);
		// Of 60 values, one is off in the base and all are in the head.
		const values = Array.from({ length: 60 }, () => 1);
		const expected = { y: float32(values) };
		const comparator: ComparatorSpec = {
			kind: "allclose",
			scope: "set",
			rtol: 0,
			atol: 0.1,
			tolerance: 0.01,
		};
		const manifest = manifestFor([{ expected, got: expected }], { comparators: [comparator] });
		const sides = {
			expected,
			got: { y: float32(values.map(() => 2)) },
			base: { y: float32([2, ...values.slice(1)]) },
		};
		const place = {
			manifest,
			model: "net",
			engine: "plain",
			precision: "fp16" as const,
			modelSha256,
			relativeL2: {},
		};
		const judged = (basePrecision?: Precision) =>
			judgeSet({ ...place, basePrecision }, [{ golden: manifest.cases[0], sides }]);
		const [same, other] = [judged(), judged("fp32")];
		expect([same?.state, severities(same)]).toEqual(["mismatch", ["fail"]]);
		expect([other?.state, severities(other)]).toEqual(["existing", ["warn"]]);
	});
});
