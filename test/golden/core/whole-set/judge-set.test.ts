import { expect, it } from "vitest";
import type { ComparatorSpec, Detections, GoldenManifest, Precision } from "../../../../generated/golden.ts";
import { parseManifest } from "../../../../src/golden/core/manifest/parse-manifest.ts";
import { judgeSet, watchSet } from "../../../../src/golden/core/whole-set/judge-set.ts";
import oracle from "../../../oracles/golden-set.json" with { type: "json" };
import tasks from "../../../oracles/golden-tasks.json" with { type: "json" };
import {
	caseInput,
	float32,
	float64,
	fromBase64,
	manifestOfCases,
	type Outputs,
} from "../../../support/golden-tensors.ts";

interface OracleCase {
	shape: number[];
	dtype: string;
	expected: string;
	got: string;
	labels?: number[];
}

interface Case {
	expected: Outputs;
	got: Outputs;
	base?: Outputs;
	labels?: number[];
}

function casesOf(cases: OracleCase[]): Case[] {
	return cases.map(({ dtype, shape, expected, got, ...rest }) => ({
		expected: { y: fromBase64(dtype, shape, expected) },
		got: { y: fromBase64(dtype, shape, got) },
		...rest,
	}));
}

interface Asked {
	comparators?: ComparatorSpec[];
	detections?: Detections;
}

function manifestFor(cases: Case[], { comparators, detections }: Asked) {
	const outputs: GoldenManifest["outputs"] =
		comparators === undefined ? { boxes: {} } : { y: { comparators: comparators as [ComparatorSpec] } };
	const manifest = manifestOfCases(
		cases.map(({ expected }) => expected),
		outputs,
	);
	for (const [index, { labels }] of cases.entries())
		if (labels) Object.assign(manifest.cases[index] ?? {}, { labels: { y: labels } });
	return { ...manifest, ...(detections && { detections: [detections] as const }) } as GoldenManifest;
}

type SetOptions = Partial<Parameters<typeof judgeSet>[0]>;

function refOf(manifest: GoldenManifest, options: SetOptions = {}) {
	return caseInput({}, {}, { manifest, precision: "fp32", ...options });
}

function judge(cases: Case[], asked: Asked, options: SetOptions = {}) {
	const manifest = manifestFor(cases, asked);
	parseManifest(JSON.stringify(manifest), "golden.json");
	const seen = manifest.cases.map((golden, index) => ({ golden, sides: cases[index] ?? null }));
	return judgeSet(refOf(manifest, options), seen);
}

function checkOf(cases: Case[], comparator: ComparatorSpec) {
	return judge(cases, { comparators: [{ scope: "set", ...comparator }] })?.checks[0];
}

const { rows, maps, embeddings: vectors } = oracle;
const miou: Asked = { comparators: [{ kind: "miou", scope: "set" }] };

it.each<[string, OracleCase[], ComparatorSpec, number]>([
	["scikit-learn's top_k_accuracy_score", rows.cases, { kind: "accuracy" }, rows.accuracy["1"]],
	["that of the two best", rows.cases, { kind: "accuracy", k: 2 }, rows.accuracy["2"]],
	["numpy's top-k", rows.cases, { kind: "top-k" }, rows["top-k"]],
	["numpy's argmax of tokens", rows.cases, { kind: "token-agreement" }, rows["top-k"]],
	["scipy's entropy", rows.cases, { kind: "kl", input: "logits" }, rows.kl],
	["numpy's isclose", rows.cases, { kind: "allclose", rtol: 0.1, atol: 0.1 }, rows.allclose],
	["numpy's norms of all together", rows.cases, { kind: "relative-l2" }, rows["relative-l2"]],
	["scikit-learn's jaccard_score of all pixels", maps.cases, { kind: "miou" }, maps.miou],
	["pixels that differ", maps.cases, { kind: "pixel-disagreement" }, maps["pixel-disagreement"]],
	[
		"numpy's argsort of neighbours",
		vectors.cases,
		{ kind: "recall-at-k", k: vectors.k },
		vectors["recall-at-k"],
	],
	["scipy's spearmanr", vectors.cases, { kind: "rank-agreement" }, vectors["rank-agreement"]],
])("one number over all cases is %s", (_, cases, comparator, value) => {
	const isLabelled = comparator.kind === "accuracy";
	const used = casesOf(cases).map(({ labels, ...rest }) =>
		isLabelled ? { ...rest, labels: labels! } : rest,
	);
	expect(Math.abs(Number(checkOf(used, comparator)?.got) - value)).toBeLessThan(1e-12);
});

it.each(tasks.coco.map((one, index) => ({ ...one, index })))(
	"one number over all cases is pycocotools' mAP over images of several cases, #$index",
	({ images, map }) => {
		const packed = (boxes: number[][]) => ({ boxes: float64(boxes.flat(), [1, boxes.length, 6]) });
		const cases = images.map(({ expected, got }) => ({ expected: packed(expected), got: packed(got) }));
		const detections: Detections = {
			...{ name: "found", boxes: "boxes", format: "xyxy", scoreThreshold: 0 },
			comparators: [
				{ kind: "map", scope: "set" },
				{ kind: "box-f1", scope: "set", tolerance: 0.5 },
			],
		};
		const checks = judge(cases, { detections })?.checks ?? [];
		expect(Math.abs(Number(checks[0]?.got) - map)).toBeLessThan(1e-9);
		expect(checks[1]?.detail).toContain("3 images");
	},
);

it("one number over all cases counts only the rows that reach the score of top-k", () => {
	const quiet = [0.1, 0.2];
	const caseOf = (wanted: number[][], found: number[][]): Case => ({
		expected: { y: float32(wanted.flat(), [wanted.length, 2]) },
		got: { y: float32(found.flat(), [found.length, 2]) },
	});
	const topK: ComparatorSpec = { kind: "top-k", minScore: 0.5, tolerance: 0.6 };
	const silent = caseOf([quiet, quiet], [quiet, quiet]);
	const partly = caseOf([[0.9, 0], quiet, quiet], [[0, 0.9], quiet, quiet]);
	const loud = caseOf([[0.9, 0]], [[0.9, 0]]);
	expect(checkOf([silent, partly, loud], topK)).toMatchObject({ got: 0.5, pass: false });
	expect(checkOf([silent, silent], topK)).toMatchObject({ got: "NaN", pass: false });
});

it("one number over all cases demands a share of what the golden itself reaches, if accuracy has no limit", () => {
	const check = checkOf(casesOf(rows.cases), { kind: "accuracy" });
	expect(check?.allowed).toBeCloseTo(rows.golden * 0.99, 12);
	expect(check?.detail).toContain("the golden itself reaches");
});

it.each<[Partial<ComparatorSpec>, string]>([
	[{ tolerance: 0.99 }, "mismatch"],
	[{ tolerance: 0.99, severity: "warn" }, "match"],
	[{ tolerance: 0.1 }, "match"],
])("one number over all cases under %j is a %s", (limit, state) => {
	const comparators: ComparatorSpec[] = [{ kind: "accuracy", scope: "set", ...limit }];
	expect(judge(casesOf(rows.cases), { comparators })?.state).toBe(state);
});

it("one number over all cases reports the base's own number too", () => {
	const cases = casesOf(maps.cases).map((one) => ({ ...one, base: one.got }));
	const check = judge(cases, miou)?.checks[0];
	expect(check?.base).toBe(check?.got);
});

it.each(["top-k", "recall-at-k", "rank-agreement", "relative-l2", "miou"] as const)(
	"one number over all cases does not depend on how the rows are cut into cases: %s",
	(kind) => {
		const row = (index: number) => [Math.sin(index), Math.cos(3 * index), Math.sin(index * index)];
		const noisy = (index: number) => row(index).map((value, at) => value + 0.4 * Math.sin(17 * index + at));
		const cut = (size: number): Case[] =>
			Array.from({ length: 60 / size }, (_, block) => {
				const at = Array.from({ length: size }, (_i, index) => block * size + index);
				const tensor = (of: (index: number) => number[]) => ({ y: float32(at.flatMap(of), [size, 3]) });
				return { expected: tensor(row), got: tensor(noisy) };
			});
		const [single, whole] = [cut(1), cut(60)].map((cases) => Number(checkOf(cases, { kind })?.got));
		expect(single).toBeCloseTo(Number(whole), 12);
	},
);

const three = casesOf(maps.cases);

it("the verdict on the whole set is none without a comparator over the set", () => {
	expect(judge(three, { comparators: [{ kind: "miou" }] })).toBeNull();
});

it("the verdict on the whole set is an error if a case gave nothing that can be compared", () => {
	const verdict = judge(three.with(1, { ...three[1]!, got: {} }), miou);
	expect(verdict).toMatchObject({ state: "error", scope: "set", cases: 3, checks: [] });
	expect(verdict?.message).toContain('1 of 3 cases cannot be compared (the first is "case-1")');
	const nan = [{ expected: { y: float32([1, 2]) }, got: { y: float32([1, NaN]) } }];
	expect(judge(nan, { comparators: [{ kind: "top-k", scope: "set" }] })?.state).toBe("error");
});

it("the verdict on the whole set is none of a stale golden", () => {
	const manifest = { ...manifestFor(three, miou), policy: { onModelChange: "fail" as const } };
	expect(judgeSet(refOf(manifest, { modelSha256: "c".repeat(64) }), [])).toBeNull();
});

it("the verdict on the whole set keeps an even sample of too many vectors, and reports it", () => {
	const manifest = manifestFor([{ expected: { y: float32([1, 0], [1, 2]) }, got: {} }], {
		comparators: [{ kind: "recall-at-k", k: 1, scope: "set" }],
	});
	const watch = watchSet(refOf(manifest));
	for (let index = 0; index < 5000; index += 1) {
		const y = float32([Math.cos(index), Math.sin(index)], [1, 2]);
		watch?.see({ ...manifest.cases[0], id: `case-${index}` }, { expected: { y }, got: { y } });
	}
	const [check] = watch?.verdict()?.checks ?? [];
	expect(check).toMatchObject({ got: 1, pass: true, detail: "of 1250 among 5000 vectors, evenly drawn" });
});

const boxes = float32([1, 2, 3, 4, 5, 6], [1, 1, 6]);
const unjudged = [{ expected: { y: float32([1, 2], [1, 2]), boxes }, got: {} }];
const worstOnes = ["max-abs", "cosine", "psnr", "ssim"] as const;

it.each(worstOnes)("a manifest may not ask for %s over the set, if the worst case decides", (kind) => {
	const comparators: ComparatorSpec[] = [{ kind, scope: "set" }];
	const fix = expect.stringContaining("the worst case decides");
	expect(() => judge(unjudged, { comparators })).toThrow(expect.objectContaining({ fix }));
});

it("a manifest may not ask for the smallest overlap over the set", () => {
	const detections: Detections = {
		...{ name: "d", boxes: "boxes", format: "xyxy" },
		comparators: [{ kind: "box-iou", scope: "set" }],
	};
	expect(() => judge(unjudged, { detections })).toThrow("whole for box-iou");
});

const over = (head: number, base: number, options: SetOptions = {}) => {
	const off = (error: number) => ({ y: float32([1, 2, 3, 4, 5, 6 + error * Math.sqrt(91)]) });
	const cases = [{ expected: off(0), got: off(head), base: off(base) }];
	const limits = { precision: "fp16" as const, relativeL2: { fp32: 1e-3, fp16: 5e-3 } };
	const comparators: ComparatorSpec[] = [{ kind: "relative-l2", scope: "set" }];
	return judge(cases, { comparators }, { ...limits, ...options });
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

it.each<[Precision | undefined, string, string]>([
	[undefined, "mismatch", "fail"],
	["fp32", "existing", "warn"],
])(
	"over all cases, if the base has the precision %s, growth is a %s (%s)",
	(basePrecision, state, severity) => {
		// One of 60 values is off in the base, and all are in the head.
		const ones = Array.from({ length: 60 }, () => 1);
		const of = (values: number[]) => ({ y: float32(values) });
		const cases = [{ expected: of(ones), got: of(ones.map(() => 2)), base: of(ones.with(0, 2)) }];
		const limit = { rtol: 0, atol: 0.1, tolerance: 0.01 };
		const comparators: ComparatorSpec[] = [{ kind: "allclose", scope: "set", ...limit }];
		const verdict = judge(cases, { comparators }, { precision: "fp16", basePrecision });
		const growth = verdict?.checks.filter(({ metric }) => metric === "error-growth");
		expect([verdict?.state, growth?.map((check) => check.severity)]).toEqual([state, [severity]]);
	},
);
