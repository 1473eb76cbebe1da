import fc from "fast-check";
import { expect, it } from "vitest";
import type { Detections } from "../../../generated/golden.ts";
import { checkBoxes } from "../../../src/golden/core/boxes/check-boxes.ts";
import { judgeCase } from "../../../src/golden/core/compare/judge.ts";
import { caseInput, float32, int64, manifestOf, type Tensor } from "../../support/golden-tensors.ts";

type Row = readonly [x1: number, y1: number, x2: number, y2: number, score: number, label: number];
type Comparators = Detections["comparators"];

const spec: Detections = { name: "detections", boxes: "boxes", format: "xyxy" };
const packed = (rows: readonly Row[]) => ({ boxes: float32(rows.flat(), [1, rows.length, 6]) });
const separate = (rows: readonly Row[], pad = 0) => {
	const padded = [...rows, ...Array.from({ length: pad }, (): Row => [1, 2, 3, 4, 0.9, 1])];
	const corners = padded.flatMap((row) => row.slice(0, 4));
	const [scores, labels] = [padded.map((row) => row[4]), padded.map((row) => BigInt(row[5]))];
	return {
		boxes: float32(corners, [1, padded.length, 4]),
		scores: float32(scores, [1, padded.length]),
		classes: int64(labels, [1, padded.length]),
		count: int64([BigInt(rows.length)], [1, 1]),
	};
};
const nms: Detections = { ...spec, scores: "scores", classes: "classes", count: "count" };

const first: Row = [10, 10, 60, 60, 0.9, 1];
const second: Row = [100, 10, 150, 80, 0.8, 2];
const third: Row = [10, 100, 90, 150, 0.6, 1];
const golden = [first, second, third];

function check(got: readonly Row[], options: Partial<Detections> = {}, expected: readonly Row[] = golden) {
	const sides = { expected: packed(expected), got: packed(got) };
	const { checks } = checkBoxes({ ...spec, ...options }, sides, "fp16");
	return Object.fromEntries(checks.map((entry) => [entry.metric, entry]));
}

it("checkBoxes names the box that is missing and the one that is extra", () => {
	const checks = check([first, second, [10, 100, 90, 150, 0.6, 2]]);
	expect(checks["box-missing"]).toMatchObject({
		pass: false,
		got: 1,
		allowed: 0,
		detail: "the engine has no box like class 1, score 0.6, corners (10, 100) and (90, 150)",
	});
	expect(checks["box-extra"]).toMatchObject({
		pass: false,
		got: 1,
		detail: expect.stringContaining("the golden has no box like class 2"),
	});
});

it("checkBoxes reports how far apart boxes and scores are", () => {
	const checks = check([[10, 10, 60, 70, 0.85, 1], second, third]);
	expect(checks["box-iou"]).toMatchObject({ pass: false, allowed: 0.95 });
	expect(checks["box-iou"]?.got).toBeCloseTo(50 / 60, 6);
	expect(checks["box-score"]).toMatchObject({ pass: false, allowed: 0.02, worst: { index: [0] } });
});

it("checkBoxes lets boxes near the score threshold come and go", () => {
	const scoreThreshold = 0.3;
	const [near, sure] = [0.305, 0.4].map((score): Row[] => [...golden, [200, 200, 240, 240, score, 1]]);
	expect(check(near!, { scoreThreshold })["box-extra"]?.pass).toBe(true);
	expect(check(golden, { scoreThreshold }, near)["box-missing"]?.pass).toBe(true);
	expect(check(near!, { scoreThreshold, scoreBand: 0 })["box-extra"]?.pass).toBe(false);
	expect(check(sure!, { scoreThreshold })["box-extra"]?.pass).toBe(false);
});

it("checkBoxes finds pairings that greed loses", () => {
	const from = (first: number, second: number): Row[] => [
		[first, 10, 100, 100, 0.9, 0],
		[second, 10, 100, 100, 0.8, 0],
	];
	const [wanted, got] = [from(10, 20), from(14, 2)];
	expect(check(got, { iou: 0.83 }, wanted)["box-missing"]?.got).toBe(0);
	expect(check(got, { iou: 0.83, matching: "greedy" }, wanted)["box-missing"]?.got).toBe(1);
});

it.each<["xywh" | "cxcywh", (row: Row) => Row]>([
	["xywh", ([x1, y1, x2, y2, ...rest]) => [x1, y1, x2 - x1, y2 - y1, ...rest]],
	["cxcywh", ([x1, y1, x2, y2, ...rest]) => [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, ...rest]],
])("checkBoxes reads boxes as %s", (format, turn) => {
	const moved = golden.map(([x1, y1, x2, y2, score, label]): Row => [x1, y1, x2, y2 + 5, score, label]);
	const turned = check(moved.map(turn), { format }, golden.map(turn));
	expect(turned["box-iou"]?.got).toBeCloseTo(Number(check(moved)["box-iou"]?.got), 6);
});

it("checkBoxes counts F1 and mAP if they are requested", () => {
	const comparators: Comparators = [{ kind: "box-f1" }, { kind: "map", tolerance: 0.5 }];
	const checks = check([first, second], { comparators });
	expect(checks["box-f1"]).toMatchObject({ pass: false, got: 0.8, detail: "2 match, 1 missing, 0 extra" });
	expect(checks["map"]?.got).toBeGreaterThan(0.5);
	expect(check([], { comparators }, [])["map"]?.got).toBe(1);
	expect(check(golden, { comparators }, [])["map"]?.got).toBe(0);
});

it.each([NaN, Infinity])("checkBoxes never accepts %s as a box or a score", (bad) => {
	for (const column of [0, 2, 4, 5]) {
		const checks = Object.values(check([first.with(column, bad) as unknown as Row, second, third]));
		expect(checks.some((entry) => !entry.pass)).toBe(true);
	}
});

it("checkBoxes refuses outputs that hold no detections, and more than can be matched", () => {
	const expected = separate(golden);
	const bad = (name: string, tensor: Tensor) =>
		checkBoxes(nms, { expected, got: { ...expected, [name]: tensor } }, "fp16").checks[0];
	for (const [name, tensor, words] of [
		["count", int64([9n], [1, 1]), "a count of 9, where there are 3 boxes"],
		["count", int64([-1n], [1, 1]), "a count of -1"],
		["boxes", float32([1, 2, 3], [1, 3]), "the last axis has 4"],
		["scores", float32([1], [1, 1]), "scores or classes"],
	] as const) {
		const detail = expect.stringContaining(words);
		expect(bad(name, tensor)).toMatchObject({ metric: "shape", pass: false, detail });
	}
	const crowd = Array.from({ length: 1001 }, (_, i): Row => [i, 0, i + 1, 1, 0.5, 0]);
	expect(check(crowd, {}, crowd)["shape"]?.detail).toContain("raise scoreThreshold");
});

it("checkBoxes does not depend on the order of boxes", () => {
	const side = fc.integer({ min: 1, max: 40 });
	const row = fc.tuple(fc.nat(90), fc.nat(90), side, side, fc.integer({ min: 10, max: 99 }), fc.nat(2));
	const rows = fc
		.uniqueArray(row, { maxLength: 12, selector: (entry) => entry[4] })
		.map((list) => list.map(([x, y, w, h, score, label]): Row => [x, y, x + w, y + h, score / 100, label]));
	fc.assert(
		fc.property(rows, rows, (expected, got) => {
			const comparators: Comparators = [{ kind: "box-missing" }, { kind: "box-f1" }, { kind: "map" }];
			const summary = (a: Row[], b: Row[]) =>
				Object.values(check(b, { comparators }, a)).map((entry) => Number(entry.got).toFixed(9));
			expect(summary(expected, got)).toEqual(summary(expected.toReversed(), got.toReversed()));
			expect(Object.values(check(expected, {}, expected)).every((entry) => entry.pass)).toBe(true);
		}),
		{ numRuns: 60 },
	);
});

const manifest = { ...manifestOf(separate(golden)), detections: [nms] as [Detections] };
const place = caseInput({}, {}, { manifest, expected: separate(golden) });

it("judgeCase compares boxes by their group alone, and reports the base's error too", () => {
	const [got, base] = [separate(golden.toReversed(), 5), separate([first, second], 1)];
	const verdict = judgeCase({ ...place, got, base });
	expect(verdict.state).toBe("match");
	expect(verdict.checks.map(({ output, metric, base }) => [output, metric, base])).toEqual([
		["detections", "box-missing", 1],
		["detections", "box-extra", 0],
		["detections", "box-iou", 1],
		["detections", "box-score", 0],
	]);
});

it.each([
	[
		"scores",
		[0, 0.004],
		[0, 0.001],
		/grew 4×, above 2×: warns; its largest score difference went from 0\.001 .* to 0\.004/,
	],
	["boxes", [2, 0], [0.5, 0], /grew [\d.]+×, above 2×: warns; its largest loss of overlap went from/],
	[
		"scores from noise",
		[0, 0.004],
		[0, 0],
		/grew 40×, above 2×: warns; its largest score difference went from noise \(0\)/,
	],
	["nothing much", [0, 0.0015], [0, 0.001], null],
	["less than the base", [0, 0.001], [0, 0.004], null],
] as const)(
	"judgeCase warns if the error of %s grew beyond the base's, still within the limits",
	(_, head, base, says) => {
		const off = ([pixels, score]: readonly [number, number]) =>
			separate(
				golden.map(([x1, y1, x2, y2, s, label]) => [x1 + pixels, y1, x2 + pixels, y2, s + score, label]),
			);
		const comparators: Comparators = [{ kind: "box-score" }, { kind: "box-iou", tolerance: 0.8 }];
		const limits = { ...manifest, detections: [{ ...nms, comparators }] as [Detections] };
		const verdict = judgeCase({ ...place, manifest: limits, got: off(head), base: off(base) });
		expect(verdict.state).toBe("match");
		const growth = verdict.checks.find(({ metric }) => metric === "error-growth");
		expect(growth?.severity).toBe(says === null ? undefined : "warn");
		if (says !== null) expect(growth?.detail).toMatch(says);
	},
);

it.each([NaN, Infinity])("no comparator of boxes hides a score or a corner of %s", (bad) => {
	for (const kind of ["map", "box-iou"] as const)
		for (const broken of [
			[10, 10, 60, 60, bad, 1],
			[10, bad, 60, 60, 0.9, 1],
		] as const) {
			const checks = check([broken, second, third], { comparators: [{ kind, tolerance: 0.1 }] });
			expect(checks["non-finite"]).toMatchObject({ pass: false, sample: 0 });
		}
});

it("boxes that equal the golden's keep a limit of 1", () => {
	const boxes = [first, second];
	expect(check(boxes, { comparators: [{ kind: "map", tolerance: 1 }] }, boxes).map).toMatchObject({
		got: 1,
		pass: true,
	});
});

it("judgeCase reports which output is missing", () => {
	const { scores: _, ...got } = separate(golden);
	const verdict = judgeCase({ ...place, got });
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]).toMatchObject({ output: "scores", metric: "missing", pass: false });
});
