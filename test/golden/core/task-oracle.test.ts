// The task metrics against scipy, scikit-image, scikit-learn, pycocotools and numpy (test/oracles/golden-tasks.py).
import { expect, it } from "vitest";
import type { Detection } from "../../../src/golden/core/boxes/match.ts";
import { assignColumns } from "../../../src/golden/core/boxes/match.ts";
import { meanAveragePrecision } from "../../../src/golden/core/boxes/mean-average-precision.ts";
import { makePair, type Pair } from "../../../src/golden/core/compare/difference.ts";
import { accuracy, tokenAgreement } from "../../../src/golden/core/metrics/classification.ts";
import { defaultMetricOptions, psnr } from "../../../src/golden/core/metrics/element-errors.ts";
import { recallAtK } from "../../../src/golden/core/metrics/neighbours.ts";
import { meanIou, pixelDisagreement } from "../../../src/golden/core/metrics/segmentation.ts";
import { ssim } from "../../../src/golden/core/metrics/ssim.ts";
import oracle from "../../oracles/golden-tasks.json" with { type: "json" };
import { fromBase64 } from "../../support/golden-tensors.ts";

const pairOf = (entry: { dtype: string; shape: readonly number[]; expected: string; got: string }): Pair =>
	makePair(
		fromBase64(entry.dtype, entry.shape, entry.expected),
		fromBase64(entry.dtype, entry.shape, entry.got),
	);

function expectNear(value: number, wanted: number, tolerance = 1e-10): void {
	expect(Math.abs(value - wanted)).toBeLessThanOrEqual(tolerance * Math.max(Math.abs(wanted), 1e-9));
}

const numbered = <Entry>(entries: readonly Entry[]): (Entry & { index: number })[] =>
	entries.map((entry, index) => ({ ...entry, index }));

it.each(oracle.images)("task metrics give scikit-image's PSNR and SSIM: $name", (entry) => {
	const options = { ...defaultMetricOptions, dataRange: entry.dataRange };
	expectNear(psnr(pairOf(entry), options).value, entry.psnr, 1e-9);
	// scikit-image's variances cancel where values lie far from zero.
	const tolerance = entry.name === "shifted far" ? 1e-3 : 1e-10;
	expectNear(ssim(pairOf(entry), options).value, entry.gaussian, tolerance);
	expectNear(ssim(pairOf(entry), { ...options, window: "uniform" }).value, entry.uniform, tolerance);
});

it("task metrics give the published values of the written image", () => {
	const [written] = oracle.images;
	expectNear(written?.psnr ?? 0, 35.913361259362, 1e-12);
	expectNear(written?.gaussian ?? 0, 0.998501463555964, 1e-12);
});

it.each(numbered(oracle.segments))("task metrics give scikit-learn's IoU: $name, #$index", (entry) => {
	const options = {
		...defaultMetricOptions,
		axis: 1,
		threshold: entry.threshold ?? null,
		ignore: entry.ignore ?? null,
	};
	expectNear(meanIou(pairOf(entry), options).value, entry.miou);
	expectNear(pixelDisagreement(pairOf(entry), options).value, entry.pixels);
});

it.each(oracle.neighbours)("task metrics give numpy's recall at $k", (entry) => {
	expectNear(recallAtK(pairOf(entry), { ...defaultMetricOptions, k: entry.k }).value, entry.value);
});

it("task metrics give scikit-learn's accuracy and numpy's agreement of tokens", () => {
	const { labelled } = oracle;
	for (const { k, value } of labelled.top)
		expectNear(
			accuracy(pairOf(labelled), { ...defaultMetricOptions, k, labels: labelled.labels }).value,
			value,
		);
	expectNear(tokenAgreement(pairOf(labelled), defaultMetricOptions).value, labelled.tokens);
});

it.each(numbered(oracle.assignments))(
	"boxes are assigned as well as scipy does, #$index",
	({ gains, sum }) => {
		const rows = gains.map((row) => Float64Array.from(row));
		const columns = assignColumns(rows);
		expect(new Set(columns).size).toBe(rows.length);
		expect(
			columns.reduce((total, column, row) => total + (rows[row]?.[column] ?? Number.NaN), 0),
		).toBeCloseTo(sum, 9);
	},
);

it.each(numbered(oracle.coco))("boxes have pycocotools' mAP, #$index", ({ images, map }) => {
	const toDetections = (rows: readonly (readonly number[])[]): Detection[] =>
		rows
			.map(([x1 = 0, y1 = 0, x2 = 0, y2 = 0, score = 0, label = 0], at) => {
				return { x1, y1, x2, y2, score, class: label, at };
			})
			.sort((a, b) => b.score - a.score);
	const pairs = images.map(({ expected, got }) => {
		return { expected: toDetections(expected), got: toDetections(got) };
	});
	expectNear(meanAveragePrecision(pairs), map, 1e-9);
});
