// The laws that every comparator keeps, one table over the whole registry: a new kind without an entry here does not compile.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BoxComparatorKind, Detections, GoldenOutput } from "../../../../generated/golden.ts";
import { checkBoxes } from "../../../../src/golden/core/boxes/check-boxes.ts";
import { makePair } from "../../../../src/golden/core/compare/difference.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { type MetricKind, metricLabels, metrics } from "../../../../src/golden/core/compare/registry.ts";
import {
	defaultMetricOptions,
	type MetricOptions,
} from "../../../../src/golden/core/metrics/element-errors.ts";
import { caseInput, float32 } from "../../../support/golden-tensors.ts";

const [rows, classes] = [40, 24];
const shape = [1, 1, rows, classes];

/** Whether the number stays the same with both sides swapped, and what it is for equal sides. */
const laws: Readonly<
	Record<MetricKind, { symmetric: boolean; perfect: number; ask?: Partial<MetricOptions> }>
> = {
	"relative-l2": { symmetric: false, perfect: 0 },
	"max-abs": { symmetric: true, perfect: 0 },
	allclose: { symmetric: false, perfect: 0, ask: { rtol: 1e-2, atol: 1e-2 } },
	cosine: { symmetric: true, perfect: 1 },
	"top-k": { symmetric: true, perfect: 1, ask: { k: 3 } },
	kl: { symmetric: false, perfect: 0 },
	psnr: { symmetric: true, perfect: Number.POSITIVE_INFINITY, ask: { dataRange: 6 } },
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

/** About standard normal. */
function noise(seed: number, count: number): number[] {
	let state = seed;
	const next = (): number => {
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

function measure(kind: MetricKind, golden: readonly number[], got: readonly number[]): number {
	// Labels that the golden gets right: its own accuracy is 1.
	const labels = Array.from({ length: rows }, (_, row) => {
		const values = [...Float32Array.from(golden.slice(row * classes, (row + 1) * classes))];
		return values.indexOf(Math.max(...values));
	});
	const options = { ...defaultMetricOptions, labels, ...laws[kind].ask };
	return metrics[kind].measure(makePair(float32(golden, shape), float32(got, shape)), options).value;
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

describe.each(kinds)("%s", (kind) => {
	const { perfect } = laws[kind];
	const worse = (value: number): number => (metrics[kind].bound === "at-most" ? value : -value);

	it("every metric is perfect between an output and itself", () => {
		fc.assert(
			fc.property(seeds, (seed) => {
				const { golden } = pairAt(seed, 0);
				if (Number.isFinite(perfect)) expect(measure(kind, golden, golden)).toBeCloseTo(perfect, 12);
				else expect(measure(kind, golden, golden)).toBe(perfect);
			}),
			{ numRuns: 10 },
		);
	});

	it("every metric never gets better while noise grows by tens, and is worse in the end", () => {
		fc.assert(
			fc.property(seeds, (seed) => {
				const values = [0, 0.001, 0.03, 1].map((size) => {
					const { golden, got } = pairAt(seed, size);
					return worse(measure(kind, golden, got));
				});
				for (const [index, value] of values.entries())
					expect(value).toBeGreaterThanOrEqual((values[index - 1] ?? value) - 1e-12);
				expect(values.at(-1)).toBeGreaterThan(values[0] ?? Number.NaN);
			}),
			{ numRuns: 10 },
		);
	});

	it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
		"every metric has a name for people, and fails an output that holds a %s",
		(bad) => {
			expect(metricLabels[kind]).toMatch(/\w{3}/);
			const { golden } = pairAt(5, 0);
			const expected = float32(golden, shape);
			const specs = { y: { comparators: [{ kind, severity: "warn" }] } as GoldenOutput };
			const got = float32([bad, ...golden.slice(1)], shape);
			const judged = judgeCase(caseInput({ y: expected }, { y: got }, { specs, precision: "int8" }));
			expect(judged).toMatchObject({ state: "mismatch", checks: [{ metric: "non-finite", pass: false }] });
		},
	);
});

const boxKinds: Readonly<Record<BoxComparatorKind, { atMost: boolean; perfect: number }>> = {
	"box-missing": { atMost: true, perfect: 0 },
	"box-extra": { atMost: true, perfect: 0 },
	"box-iou": { atMost: false, perfect: 1 },
	"box-score": { atMost: true, perfect: 0 },
	"box-f1": { atMost: false, perfect: 1 },
	map: { atMost: false, perfect: 1 },
};

describe.each(Object.entries(boxKinds) as [BoxComparatorKind, { atMost: boolean; perfect: number }][])(
	"%s",
	(kind, { atMost, perfect }) => {
		const count = 30;
		/** Boxes far apart, all surely above the threshold; what noise does to a pair, it does to no other. */
		function boxesAt(seed: number, size: number) {
			const errors = noise(seed, count * 5);
			const at = (index: number): number => size * (errors[index] ?? 0);
			const corners = Array.from({ length: count }, (_, box) => {
				const [x, y] = [(box % 6) * 200, Math.floor(box / 6) * 200];
				return [x, y, x + 100, y + 100].map((corner, side) => corner + 40 * at(box * 5 + side));
			});
			const scores = Array.from({ length: count }, (_, box) =>
				Math.min(1, Math.max(0.3, 0.6 + box / 100 + 0.1 * at(box * 5 + 4))),
			);
			return new Map([
				["boxes", float32(corners.flat(), [1, count, 4])],
				["scores", float32(scores, [1, count])],
			]);
		}
		const spec: Detections = {
			name: "d",
			boxes: "boxes",
			scores: "scores",
			format: "xyxy",
			comparators: [{ kind }],
		};
		const measureBoxes = (
			golden: Map<string, ReturnType<typeof float32>>,
			got: Map<string, ReturnType<typeof float32>>,
		): number => Number(checkBoxes(spec, { expected: golden, got, base: undefined }, "fp32").checks[0]?.got);

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
					expect(badness.at(-1)).toBeGreaterThan(badness[0] ?? Number.NaN);
				}),
				{ numRuns: 10 },
			);
		});
	},
);
