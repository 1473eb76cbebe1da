import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { assignColumns } from "../../../src/golden/core/boxes/match.ts";
import { meanAveragePrecision } from "../../../src/golden/core/boxes/mean-average-precision.ts";
import { makePair, rootMeanSquare } from "../../../src/golden/core/compare/difference.ts";
import {
	accuracy,
	klDivergence,
	tokenAgreement,
	topKAgreement,
} from "../../../src/golden/core/metrics/classification.ts";
import {
	allclose,
	cosineDistance,
	maxAbs,
	defaultMetricOptions as options,
	psnr,
	relativeL2,
} from "../../../src/golden/core/metrics/element-errors.ts";
import { meanIou, pixelDisagreement, recallAtK } from "../../../src/golden/core/metrics/segmentation.ts";
import { ssim } from "../../../src/golden/core/metrics/ssim.ts";
import { float64Reader } from "../../../src/golden/core/tensor/values.ts";
import oracle from "../../oracles/golden-metrics.json" with { type: "json" };
import tasks from "../../oracles/golden-tasks.json" with { type: "json" };
import { float32, fromBase64, type Tensor } from "../../support/golden-tensors.ts";

const pairOf = (entry: { dtype: string; shape: number[]; expected: string; got: string }) =>
	makePair(
		fromBase64(entry.dtype, entry.shape, entry.expected),
		fromBase64(entry.dtype, entry.shape, entry.got),
	);

function expectNear(value: number, wanted: number | string, tolerance = 1e-12) {
	const target = Number(wanted);
	if (!Number.isFinite(target) || target === 0) expect(value).toBe(target);
	else expect(Math.abs(value / target - 1)).toBeLessThanOrEqual(tolerance);
}

const numbered = <Entry>(entries: Entry[]): (Entry & { index: number })[] =>
	entries.map((entry, index) => ({ ...entry, index }));

it.each(oracle.cases)("metrics agree with numpy and mpmath on: $name", (entry) => {
	const pair = pairOf(entry);
	expectNear(relativeL2(pair).value, entry.relativeL2);
	const largest = maxAbs(pair);
	expectNear(largest.value, entry.maxAbs);
	expect(largest.worstAt).toBe(entry.maxAbsAt);
	const { rtol, atol } = entry;
	const close = allclose(pair, { ...options, rtol, atol });
	expect(close.value * close.elements).toBeCloseTo(entry.outside, 9);
	expectNear(rootMeanSquare(pair.expected), entry.rms);
	if (entry.cosineDistance !== undefined) expectNear(cosineDistance(pair), entry.cosineDistance);
	for (const { k, axis, value } of entry.topK)
		expectNear(topKAgreement(pair, { ...options, k, axis }).value, value);
});

it("metrics agree with numpy over several chunks with an odd rest", () => {
	const { formula } = oracle;
	const [golden, got]: [number[], number[]] = [[], []];
	for (let i = 0; i < formula.elements; i += 1) {
		const value = (((i * 37) % 101) - 50) / 16;
		golden.push(value);
		got.push(Math.fround(value + (((i * 17) % 7) - 3) / 4096));
	}
	got[140_000] = (got[140_000] ?? 0) + 1;
	const pair = makePair(float32(golden), float32(got));
	expectNear(relativeL2(pair).value, formula.relativeL2);
	expect(maxAbs(pair)).toMatchObject({ worstAt: formula.maxAbsAt, elements: formula.elements });
	expectNear(maxAbs(pair).value, formula.maxAbs);
	expect(pair.difference(formula).outside).toBe(formula.outside);
	expectNear(cosineDistance(pair), formula.cosineDistance, 1e-11);
});

it.each(numbered(oracle.kl))(
	"KL divergence agrees with mpmath and scipy: $input, axis $axis, #$index",
	(entry) => {
		const pair = pairOf({ dtype: "float64", ...entry });
		const input = entry.input === "logits" ? "logits" : "probabilities";
		expectNear(klDivergence(pair, { ...options, axis: entry.axis, input }).value, entry.kl);
	},
);

it("metrics give the published values of the written vectors", () => {
	const [five] = oracle.cases;
	expectNear(Number(five?.relativeL2 ?? 0), 0.00100178408696, 1e-10);
	expectNear(Number(oracle.kl[0]?.kl ?? 0), 1.33568009353, 1e-10);
	expectNear(Number(oracle.kl[2]?.kl ?? 0), 0.004321748942788, 1e-10);
});

it.each(["float16", "bfloat16"] as const)(
	"16-bit floats decode all 65,536 patterns of %s as numpy does",
	(dtype) => {
		const patterns = Uint16Array.from({ length: 65_536 }, (_, index) => index);
		const tensor: Tensor = { dtype, shape: [65_536], data: new Uint8Array(patterns.buffer) };
		const bits = new Uint32Array(Float32Array.from(float64Reader(tensor)(0, 65_536)).buffer);
		const canonical = bits.map((word) => ((word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word));
		expect(createHash("sha256").update(new Uint8Array(canonical.buffer)).digest("hex")).toBe(
			oracle.decode[dtype],
		);
	},
);

function expectClose(value: number, wanted: number, tolerance = 1e-10) {
	expect(Math.abs(value - wanted)).toBeLessThanOrEqual(tolerance * Math.max(Math.abs(wanted), 1e-9));
}

it.each(tasks.images)("task metrics give scikit-image's PSNR and SSIM: $name", (entry) => {
	const [pair, asked] = [pairOf(entry), { ...options, dataRange: entry.dataRange }];
	expectClose(psnr(pair, asked).value, entry.psnr, 1e-9);
	// scikit-image's variances cancel where values lie far from zero.
	const tolerance = entry.name === "shifted far" ? 1e-3 : 1e-10;
	expectClose(ssim(pair, asked).value, entry.gaussian, tolerance);
	expectClose(ssim(pair, { ...asked, window: "uniform" }).value, entry.uniform, tolerance);
});

it("task metrics give the published values of the written image", () => {
	const [written] = tasks.images;
	expectClose(written?.psnr ?? 0, 35.913361259362, 1e-12);
	expectClose(written?.gaussian ?? 0, 0.998501463555964, 1e-12);
});

it.each(numbered(tasks.segments))("task metrics give scikit-learn's IoU: $name, #$index", (entry) => {
	const { threshold = null, ignore = null } = entry;
	const asked = { ...options, axis: 1, threshold, ignore };
	expectClose(meanIou(pairOf(entry), asked).value, entry.miou);
	expectClose(pixelDisagreement(pairOf(entry), asked).value, entry.pixels);
});

it.each(tasks.neighbours)("task metrics give numpy's recall at $k", (entry) => {
	expectClose(recallAtK(pairOf(entry), { ...options, k: entry.k }).value, entry.value);
});

it("task metrics give scikit-learn's accuracy and numpy's agreement of tokens", () => {
	const { labels, top, tokens } = tasks.labelled;
	const pair = pairOf(tasks.labelled);
	for (const { k, value } of top) expectClose(accuracy(pair, { ...options, k, labels }).value, value);
	expectClose(tokenAgreement(pair, options).value, tokens);
});

it.each(numbered(tasks.assignments))(
	"boxes are assigned as well as scipy does, #$index",
	({ gains, sum }) => {
		const rows = gains.map((row) => Float64Array.from(row));
		const columns = assignColumns(rows);
		expect(new Set(columns).size).toBe(rows.length);
		expect(columns.reduce((total, column, row) => total + (rows[row]?.[column] ?? NaN), 0)).toBeCloseTo(
			sum,
			9,
		);
	},
);

it.each(numbered(tasks.coco))("boxes have pycocotools' mAP, #$index", ({ images, map }) => {
	const toDetections = (rows: number[][]) =>
		rows
			.map(([x1 = 0, y1 = 0, x2 = 0, y2 = 0, score = 0, label = 0], at) => {
				return { x1, y1, x2, y2, score, class: label, at };
			})
			.sort((a, b) => b.score - a.score);
	const pairs = images.map(({ expected, got }) => {
		return { expected: toDetections(expected), got: toDetections(got) };
	});
	expectClose(meanAveragePrecision(pairs), map, 1e-9);
});
