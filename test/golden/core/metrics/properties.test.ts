import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type {
	BoxComparatorKind,
	ComparatorSpec,
	Detections,
	GoldenOutput,
} from "../../../../generated/golden.ts";
import { checkBoxes } from "../../../../src/golden/core/boxes/check-boxes.ts";
import { makePair, type Pair } from "../../../../src/golden/core/compare/difference.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { type MetricKind, metrics } from "../../../../src/golden/core/compare/registry.ts";
import {
	accuracy,
	klDivergence,
	tokenAgreement,
	topIndices,
	topKAgreement,
} from "../../../../src/golden/core/metrics/classification.ts";
import {
	allclose,
	cosine,
	keepsLimit,
	type MetricOptions,
	maxAbs,
	defaultMetricOptions as options,
	relativeL2,
	within,
} from "../../../../src/golden/core/metrics/element-errors.ts";
import { meanIou, pixelDisagreement, recallAtK } from "../../../../src/golden/core/metrics/segmentation.ts";
import { ssim } from "../../../../src/golden/core/metrics/ssim.ts";
import extremes from "../../../oracles/golden-extremes.json" with { type: "json" };
import {
	caseInput,
	float32,
	float64,
	fromBase64,
	int64,
	type Tensor,
} from "../../../support/golden-tensors.ts";

// Multiples of 2^-10, so that no test meets subnormal numbers by chance.
const value = fc.integer({ min: -(2 ** 20), max: 2 ** 20 }).map((count) => count / 1024);
const pairs = fc.array(fc.tuple(value, value), { minLength: 2, maxLength: 40 });

function expectNear(got: number, wanted: number) {
	if (Number.isFinite(wanted)) expect(Math.abs(got - wanted)).toBeLessThanOrEqual(1e-12 * Math.abs(wanted));
	else expect(got).toBe(wanted);
}

const pairOf = (rows: number[][]) =>
	makePair(float64(rows.map(([golden]) => golden!)), float64(rows.map(([, got]) => got!)));

it("every metric of elements is the same in any order of the elements", () => {
	fc.assert(
		fc.property(pairs, fc.infiniteStream(fc.nat()), (rows, keys) => {
			const shuffled = rows
				.map((row) => ({ row, key: keys.next().value as number }))
				.sort((a, b) => a.key - b.key)
				.map(({ row }) => row);
			const [one, other] = [pairOf(rows), pairOf(shuffled)];
			expectNear(relativeL2(other).value, relativeL2(one).value);
			expect(maxAbs(other).value).toBe(maxAbs(one).value);
			const close = { ...options, rtol: 0.1, atol: 1 };
			expect(allclose(other, close).value).toBe(allclose(one, close).value);
			expect(cosine(other).value).toBeCloseTo(cosine(one).value, 9);
			expect(klDivergence(other, options).value).toBeCloseTo(klDivergence(one, options).value, 6);
		}),
	);
});

it("relative L2 and cosine do not change when both tensors are scaled by a power of two, however far", () => {
	fc.assert(
		fc.property(pairs, fc.integer({ min: -400, max: 400 }), (rows, exponent) => {
			const whole = rows.map((row) => row.map(Math.round));
			const plain = pairOf(whole);
			const scaled = pairOf(whole.map((row) => row.map((value) => value * 2 ** exponent)));
			expectNear(relativeL2(scaled).value, relativeL2(plain).value);
			expect(cosine(scaled).value).toBeCloseTo(cosine(plain).value, 12);
		}),
	);
});

it("differences of float64 whose squares leave binary64 fail every limit", () => {
	const at = (scale: number, noise: number) =>
		float64(
			Array.from({ length: 64 }, (_, index) => scale * (1 + index / 64 + (index % 3) * noise)),
			[8, 8],
		);
	for (const scale of [1e155, 1e200]) {
		const { checks } = judge(at(scale, 0), at(scale, 0.1), ["relative-l2", "psnr", "ssim"]);
		expect(checks.map(({ pass }) => pass)).toEqual([false, false, false]);
	}
});

it("relative L2 and cosine follow their conventions if a side is zero or the opposite", () => {
	const [zero, one] = [float32([0, -0]), float32([1, 0])];
	const both = (pair: Pair) => [relativeL2(pair).value, cosine(pair).value];
	expect(both(makePair(zero, zero))).toEqual([0, 1]);
	expect(both(makePair(zero, one))).toEqual([Infinity, 0]);
	expect(both(makePair(one, zero))).toEqual([1, 0]);
	expect(both(makePair(one, float32([-1, 0])))).toEqual([2, -1]);
});

it("top-k orders as a stable descending sort does, by insertion and by sorting alike", () => {
	fc.assert(
		fc.property(
			fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 80 }),
			fc.integer({ min: 1, max: 80 }),
			(numbers, k) => {
				const wanted = numbers
					.map((_, index) => index)
					.sort((a, b) => (numbers[b] ?? 0) - (numbers[a] ?? 0) || a - b);
				expect(topIndices(Float64Array.from(numbers), k)).toEqual(wanted.slice(0, k));
			},
		),
	);
});

it("top-k compares infinities like other values", () => {
	expect(topIndices(Float64Array.of(1, -Infinity, Infinity, Infinity), 2)).toEqual([2, 3]);
});

it("top-k does not depend on the order of classes if no two are equal", () => {
	fc.assert(
		fc.property(
			fc.uniqueArray(fc.integer(), { minLength: 3, maxLength: 20 }),
			fc.integer({ min: 1, max: 5 }),
			(numbers, k) => {
				const noisy = numbers.map((x, i) => x + (i % 3));
				const agree = (g: number[], c: number[]) =>
					topKAgreement(makePair(float64(g), float64(c)), { ...options, k }).value;
				if (new Set(noisy).size === noisy.length)
					expect(agree(numbers.toReversed(), noisy.toReversed())).toBe(agree(numbers, noisy));
			},
		),
	);
});

it("top-k reports how clear the golden's lead was in the rows that differ", () => {
	const pair = makePair(float32([3, 1, 5, 4.5], [2, 2]), float32([1, 3, 4, 5], [2, 2]));
	const detail = expect.stringMatching(/^2 of 2 rows differ.*clearest of them is 2$/);
	expect(topKAgreement(pair, options)).toMatchObject({ value: 0, worstAt: 0, detail });
});

it("KL divergence is never negative", () => {
	fc.assert(
		fc.property(pairs, (rows) => {
			expect(klDivergence(pairOf(rows), options).value).toBeGreaterThanOrEqual(-1e-15);
		}),
	);
});

it("KL divergence takes masked logits as probability 0 on both sides", () => {
	const masked = float32([1, 2, -Infinity]);
	expect(klDivergence(makePair(masked, masked), options).value).toBe(0);
	expect(klDivergence(makePair(float32([1, 2, 3]), masked), options).value).toBe(Infinity);
});

const klOf = (expected: number[], got: number[], zeroProbability = 0) =>
	klDivergence(makePair(float64(expected), float64(got)), {
		...options,
		input: "probabilities",
		zeroProbability,
	});

it.each([[[0.5, 0.9]], [[-0.1, 1.1]], [[0, 0]]])("KL divergence of %j, no distribution, is NaN", (broken) => {
	const { value, detail } = klOf([0.5, 0.5], broken);
	expect(value).toBeNaN();
	expect(detail).toContain("not a distribution");
});

it("KL divergence reads a 0 of the engine as an underflow, if configured", () => {
	const rare = [1e-9, 1 - 1e-9];
	expect(klOf(rare, [0, 1]).value).toBe(Infinity);
	expect(klOf(rare, [0, 1], 2 ** -24).value).toBeLessThan(1e-6);
	expect(klOf([0.5, 0.5], [0, 1], 2 ** -24).value).toBeGreaterThan(5);
});

it("KL divergence adds nothing for 0 against 0, and scales what it reads a 0 as", () => {
	const sparse = [0.75, 0.25, ...new Array<number>(1000).fill(0)];
	expect(klOf(sparse, sparse, 2 ** -10).value).toBe(0);
	// Read as 1/1024 beside 1, of 1025/1024 in all.
	const lost = 0.5 * Math.log(0.5 * 1025) + 0.5 * Math.log((0.5 * 1025) / 1024);
	expect(klOf([0.5, 0.5], [0, 1], 2 ** -10).value).toBeCloseTo(lost, 12);
	expect(klOf([1 - 2 ** -12, 2 ** -12], [1, 0], 2 ** -10).value).toBeLessThan(1e-7);
});

it("KL divergence reads rows longer than a chunk", () => {
	const long = Array.from({ length: 150_000 }, (_, index) => (index === 149_999 ? 30 : index % 7));
	const pair = makePair(float32(long), float32(long.map((x, index) => (index === 149_999 ? 29 : x))));
	expect(klDivergence(pair, options)).toMatchObject({ elements: 150_000, worstAt: 149_999 });
	expect(topKAgreement(pair, options).value).toBe(1);
});

const ids = (values: number[]) => int64(values.map(BigInt));

it("segmentation ignores absent classes, lets empty masks agree, and gives NaN for a value that is not a class", () => {
	const iou = (expected: number[], got: number[], more: Partial<MetricOptions> = {}) =>
		meanIou(makePair(ids(expected), ids(got)), { ...options, ...more });
	expect(iou([7, 7, 9, 9], [7, 9, 9, 9]).value).toBeCloseTo((1 / 2 + 2 / 3) / 2, 15);
	const mask = (got: number[]) =>
		meanIou(makePair(float32([0, 0]), float32(got)), { ...options, threshold: 0.5 });
	expect(mask([0.2, 0.5]).value).toBe(1);
	expect(mask([0, 1]).value).toBe(0);
	const detail = "-1 is not a class from 0 to 65535";
	expect(iou([-1, 2], [2, 2])).toMatchObject({ value: NaN, detail });
	expect(iou([-1, 2], [2, 2], { ignore: -1 }).value).toBe(1);
	expect(pixelDisagreement(makePair(ids([70_000]), ids([1])), options).value).toBeNaN();
	expect(iou([1, 2, 3], [1, 3, 3])).toMatchObject({
		worstAt: 1,
		detail: expect.stringContaining("0 of class 2; 1 of 3 pixels"),
	});
});

it("SSIM of an image smaller than its window is NaN, and channels may come last", () => {
	const small = float32(new Array<number>(60).fill(1), [6, 10]);
	expect(ssim(makePair(small, small), options)).toMatchObject({
		value: NaN,
		detail: expect.stringContaining("11 × 11"),
	});
	const numbers = Array.from({ length: 2 * 12 * 13 }, (_, i) => Math.sin(i * i));
	const noisy = numbers.map((x, i) => x + 0.1 * Math.cos(i));
	const last = (list: number[]) => list.map((_, i) => list[(i % 2) * 156 + Math.floor(i / 2)] ?? 0);
	const first = ssim(makePair(float64(numbers, [2, 12, 13]), float64(noisy, [2, 12, 13])), options);
	const turned = makePair(float64(last(numbers), [12, 13, 2]), float64(last(noisy), [12, 13, 2]));
	expect(ssim(turned, { ...options, channels: "last" }).value).toBeCloseTo(first.value, 12);
});

it("recall of one vector, or of too many, is NaN, and vectors of zeros are like nothing", () => {
	const one = float32([1, 2], [1, 2]);
	expect(recallAtK(makePair(one, one), options).value).toBeNaN();
	const many = float32(new Array<number>(2049).fill(1), [2049, 1]);
	expect(recallAtK(makePair(many, many), options)).toMatchObject({
		value: NaN,
		detail: "more than 2048 vectors",
	});
	const zeros = float32([0, 0, 1, 0, 0, 1], [3, 2]);
	expect(recallAtK(makePair(zeros, zeros), options).value).toBe(1);
});

it("token agreement leaves padding out and names the first token that differs", () => {
	const pair = makePair(int64([5n, 6n, 0n, 0n]), int64([5n, 7n, 9n, 0n]));
	expect(tokenAgreement(pair, options)).toMatchObject({ value: 0.5, worstAt: 1, elements: 4 });
	expect(tokenAgreement(pair, { ...options, ignore: 0 })).toMatchObject({
		value: 0.5,
		elements: 2,
		detail: expect.stringContaining("1 of 2 tokens differ"),
	});
});

it("psnr of a constant golden asks for the data range", () => {
	const { checks } = judge(float32([3, 3]), float32([3, 3.5]), ["psnr"]);
	expect(checks[0]).toMatchObject({ got: "NaN", detail: expect.stringMatching(/^the golden is constant/) });
});

it("accuracy is NaN if labels do not fit, and shows a row that only the golden got right", () => {
	const pair = makePair(float32([3, 1, 1, 3], [2, 2]), float32([3, 1, 3, 1], [2, 2]));
	expect(accuracy(pair, { ...options, labels: [0, 1] })).toMatchObject({
		value: 0.5,
		worstAt: 3,
		detail: "1 of 2 right; the golden has 2",
	});
	expect(accuracy(pair, { ...options, labels: [0] })).toMatchObject({
		value: NaN,
		detail: "2 rows, but 1 labels",
	});
	expect(accuracy(pair, { ...options, labels: [0, -1], ignore: -1 }).value).toBe(1);
	expect(accuracy(makePair(ids([4, 5]), ids([4, 6])), { ...options, labels: [4, 6] }).value).toBe(1);
});

const [rows, classes] = [40, 24];
const tableShape = [1, 1, rows, classes];

const laws: Record<MetricKind, { symmetric: boolean; perfect: number; ask?: Partial<MetricOptions> }> = {
	"relative-l2": { symmetric: false, perfect: 0 },
	"max-abs": { symmetric: true, perfect: 0 },
	allclose: { symmetric: false, perfect: 0, ask: { rtol: 1e-2, atol: 1e-2 } },
	cosine: { symmetric: true, perfect: 1 },
	"top-k": { symmetric: true, perfect: 1, ask: { k: 3 } },
	kl: { symmetric: false, perfect: 0 },
	psnr: { symmetric: true, perfect: Infinity, ask: { dataRange: 6 } },
	ssim: { symmetric: true, perfect: 1, ask: { dataRange: 6 } },
	miou: { symmetric: true, perfect: 1, ask: { threshold: 0.5 } },
	"pixel-disagreement": { symmetric: true, perfect: 0 },
	"recall-at-k": { symmetric: true, perfect: 1, ask: { k: 5 } },
	"rank-agreement": { symmetric: true, perfect: 1 },
	"token-agreement": { symmetric: true, perfect: 1 },
	accuracy: { symmetric: false, perfect: 1 },
};
const kinds = Object.keys(laws) as MetricKind[];

const seeds = fc.integer({ min: 1, max: 2 ** 30 });

function noise(seed: number, count: number) {
	let state = seed;
	const next = () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
	return Array.from({ length: count }, () => next() + next() + next() + next() - 2).map(
		(value) => value * Math.sqrt(3),
	);
}

function pairAt(seed: number, size: number) {
	const golden = noise(seed, rows * classes);
	const errors = noise(seed + 77, rows * classes);
	return { golden, got: golden.map((value, index) => value + size * (errors[index] ?? 0)) };
}

function measure(kind: MetricKind, golden: number[], got: number[]) {
	// Labels that the golden gets right: its own accuracy is 1.
	const labels = Array.from({ length: rows }, (_, row) => {
		const values = [...Float32Array.from(golden.slice(row * classes, (row + 1) * classes))];
		return values.indexOf(Math.max(...values));
	});
	const pair = makePair(float32(golden, tableShape), float32(got, tableShape));
	return metrics[kind].measure(pair, { ...options, labels, ...laws[kind].ask }).value;
}

it.each(kinds.filter((kind) => laws[kind].symmetric))("%s is the same with both sides swapped", (kind) => {
	fc.assert(
		fc.property(seeds, (seed) => {
			const { golden, got } = pairAt(seed, 0.5);
			expect(measure(kind, golden, got)).toBeCloseTo(measure(kind, got, golden), 9);
		}),
		{ numRuns: 10 },
	);
});

it.each(kinds)(
	"%s is perfect between an output and itself, never gets better while noise grows by tens, and is worse in the end",
	(kind) => {
		const { perfect } = laws[kind];
		const worse = (value: number) => (metrics[kind].bound === "at-most" ? value : -value);
		fc.assert(
			fc.property(seeds, (seed) => {
				const values = [0, 0.001, 0.03, 1].map((size) => {
					const { golden, got } = pairAt(seed, size);
					return worse(measure(kind, golden, got));
				});
				if (Number.isFinite(perfect)) expect(values[0]).toBeCloseTo(worse(perfect), 12);
				else expect(values[0]).toBe(worse(perfect));
				for (const [index, value] of values.entries())
					expect(value).toBeGreaterThanOrEqual((values[index - 1] ?? value) - 1e-12);
				expect(values.at(-1)).toBeGreaterThan(values[0] ?? NaN);
			}),
			{ numRuns: 10 },
		);
	},
);

const boxKinds: Record<BoxComparatorKind, { atMost: boolean; perfect: number }> = {
	"box-missing": { atMost: true, perfect: 0 },
	"box-extra": { atMost: true, perfect: 0 },
	"box-iou": { atMost: false, perfect: 1 },
	"box-score": { atMost: true, perfect: 0 },
	"box-f1": { atMost: false, perfect: 1 },
	map: { atMost: false, perfect: 1 },
};

describe.each(Object.keys(boxKinds) as BoxComparatorKind[])("%s", (kind) => {
	const { atMost, perfect } = boxKinds[kind];
	const count = 30;
	/** Boxes far apart, all surely above the threshold; what noise does to a pair, it does to no other. */
	function boxesAt(seed: number, size: number) {
		const errors = noise(seed, count * 5);
		const at = (index: number) => size * (errors[index] ?? 0);
		const corners = Array.from({ length: count }, (_, box) => {
			const [x, y] = [(box % 6) * 200, Math.floor(box / 6) * 200];
			return [x, y, x + 100, y + 100].map((corner, side) => corner + 40 * at(box * 5 + side));
		});
		const scores = Array.from({ length: count }, (_, box) =>
			Math.min(1, Math.max(0.3, 0.6 + box / 100 + 0.1 * at(box * 5 + 4))),
		);
		return { boxes: float32(corners.flat(), [1, count, 4]), scores: float32(scores, [1, count]) };
	}
	const found = { name: "d", boxes: "boxes", scores: "scores", format: "xyxy" } as const;
	const spec: Detections = { ...found, comparators: [{ kind }] };
	const measureBoxes = (golden: ReturnType<typeof boxesAt>, got: typeof golden) =>
		Number(checkBoxes(spec, { expected: golden, got }, "fp32").checks[0]?.got);

	it("every metric is perfect between boxes and themselves, and never gets better while noise grows by tens", () => {
		fc.assert(
			fc.property(seeds, (seed) => {
				const values = [0, 0.01, 0.1, 1].map((size) => measureBoxes(boxesAt(seed, 0), boxesAt(seed, size)));
				expect(values[0]).toBeCloseTo(perfect, 12);
				// If pairs no longer overlap enough, only that they are missing is measured.
				const paired = kind === "box-iou" || kind === "box-score" ? values.slice(0, 3) : values;
				const badness = paired.map((value) => (atMost ? value : -value));
				for (const [index, value] of badness.entries())
					expect(value).toBeGreaterThanOrEqual((badness[index - 1] ?? value) - 1e-12);
				expect(badness.at(-1)).toBeGreaterThan(badness[0] ?? NaN);
			}),
			{ numRuns: 10 },
		);
	});
});

const asked: Partial<Record<MetricKind, Partial<ComparatorSpec>>> = {
	allclose: { rtol: 1 / 1024, atol: 0 },
	"top-k": { k: 3 },
	kl: { input: "logits" },
	ssim: { window: "uniform" },
	miou: { threshold: 0.5 },
	"pixel-disagreement": { threshold: 0.5 },
	"recall-at-k": { k: 3 },
};

function judge(expected: Tensor, got: Tensor, kinds: MetricKind[], labelsOfY: number[] = []) {
	const comparators = kinds.map((kind) => ({ kind, ...asked[kind] }));
	const specs = { y: { comparators, nonFinite: "must-match" } as GoldenOutput };
	const input = caseInput({ y: expected }, { y: got }, { specs, precision: "fp32" });
	const labels = { y: labelsOfY as [number] };
	return judgeCase({ ...input, golden: { ...input.manifest.cases[0], labels } });
}

/** Relative, with an absolute floor for values near zero. */
function expectExact(value: number, wanted: number, what: string) {
	if (Math.abs(wanted) > 1e300) expect(value * Math.sign(wanted), what).toBeGreaterThan(1e300);
	else if (Number.isNaN(wanted)) expect(value, what).toBeNaN();
	else
		expect(Math.abs(value - wanted), `${what}: ${value}, exactly ${wanted}`).toBeLessThanOrEqual(
			1e-9 * Math.abs(wanted) + 1e-13,
		);
}

const cases = extremes.cases.map((entry) => ({
	...entry,
	expected: fromBase64(entry.dtype, extremes.shape, entry.expected),
	got: fromBase64(entry.dtype, extremes.shape, entry.got),
	exact: Object.entries(entry.values).map(([kind, value]) => [kind as MetricKind, Number(value)] as const),
}));

describe.each(cases)("$name", ({ expected, got, labels, exact }) => {
	const exactKinds = exact.map(([kind]) => kind);

	it("every metric gives the exact value of every comparator, and passes only what is a value and keeps its limit", () => {
		const { checks } = judge(expected, got, exactKinds, labels);
		for (const [kind, value] of exact) {
			const check = checks.find(({ metric }) => metric === kind);
			expectExact(Number(check?.got), within({ value }, metrics[kind].range).value, kind);
			const isPerfect = kind === "psnr" && value === Infinity;
			const keeps = keepsLimit(value, metrics[kind].bound, check?.allowed ?? NaN);
			expect(check?.pass, `${kind}: ${value}`).toBe(keeps && (isPerfect || Number.isFinite(value)));
		}
	});

	it("matches itself by every comparator", () => {
		const own = judge(expected, expected, exactKinds, labels);
		expect(own.checks.filter(({ pass }) => !pass)).toEqual([]);
		expect(own.state).toBe("match");
	});
});

it.each(kinds)("a value that no outputs can have fails %s, whatever the limit", (kind) => {
	const { range, bound } = metrics[kind];
	for (const value of [NaN, -Infinity, range.least - 1, range.most + 1]) {
		if (value >= range.least && value <= range.most) continue;
		const measured = within({ value }, range);
		for (const limit of [-1e300, 0, 1, 1e300])
			expect(keepsLimit(measured.value, bound, limit), `${value} by ${limit}`).toBe(false);
	}
	if (bound === "at-most") expect(keepsLimit(Infinity, bound, Infinity)).toBe(false);
});

it.each(["int64", "uint64"] as const)(
	"integers beyond 2^53 stay distinct in a difference, a ranking and tokens of %s",
	(dtype) => {
		const from = 2n ** 60n;
		const of = (offsets: number[]) => {
			const data = new Uint8Array(BigUint64Array.from(offsets, (offset) => from + BigInt(offset)).buffer);
			return { dtype, shape: [1, offsets.length], data };
		};
		const { checks } = judge(of([0, 1, 2, 300]), of([3, 4, 5, 297]), ["max-abs", "token-agreement"]);
		expect(checks.map(({ got }) => got)).toEqual([3, 0]);
		const flipped = judge(of([0, 1, 2]), of([2, 1, 0]), ["top-k"]);
		expect(flipped.checks[0]).toMatchObject({ got: 1 });
		const specs = { y: { comparators: [{ kind: "top-k" }] } } satisfies Record<string, GoldenOutput>;
		const top = judgeCase(caseInput({ y: of([0, 1, 2]) }, { y: of([2, 1, 0]) }, { specs }));
		expect(top.checks[0]).toMatchObject({
			got: 0,
			detail: expect.stringContaining("clearest of them is 2"),
		});
	},
);

const allMasked = new Array<number>(64).fill(-Infinity);
const masked = float64(allMasked, [8, 8]);

it("an output that is infinite throughout matches by every comparator if the engine's is the same, and not if one element differs", () => {
	const labels = new Array<number>(8).fill(0);
	expect(judge(masked, masked, kinds, labels).state).toBe("match");
	const other = float64(allMasked.with(0, Infinity), [8, 8]);
	expect(judge(masked, other, kinds, labels).state).toBe("mismatch");
});
