// Changed goldens: what is weaker is loud, what moved is measured, what is unchanged is silent.
import { describe, expect, it } from "vitest";
import type { ComparatorSpec, GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import type { GoldenCheck } from "../../../../generated/result.ts";
import type { Threshold } from "../../../../src/core/config/config.ts";
import { judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { reviewGolden, reviewGone } from "../../../../src/core/golden/manifest/review.ts";
import { float32, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

const y = float32([1, 2]);

function golden(output: GoldenOutput = {}, more: Partial<GoldenManifest> = {}): GoldenManifest {
	return { ...manifestOf({ y }, { y: output }), ...more };
}

const comparators = (...specs: [ComparatorSpec, ...ComparatorSpec[]]): GoldenOutput => ({
	comparators: specs,
});
const review = (base: GoldenManifest, head: GoldenManifest) =>
	reviewGolden({
		model: "m",
		path: "golden.json",
		base,
		head,
		moved: [],
		expected: new Map([["y", y]]),
		relativeL2: {},
	});

it("reviewGolden has nothing to say of goldens that judge alike", () => {
	expect(review(golden(), golden({}, { goldenId: "net@2", reason: "again", author: "me" }))).toBeNull();
});

it.each<[string, GoldenOutput, GoldenOutput, RegExp | null]>([
	[
		"a looser limit",
		comparators({ kind: "relative-l2", tolerance: 1e-4 }),
		comparators({ kind: "relative-l2", tolerance: 1e-2 }),
		/relative-l2 of output "y" is looser: every precision 0\.0001 → 0\.01/,
	],
	[
		"a tighter limit",
		comparators({ kind: "relative-l2", tolerance: 1e-2 }),
		comparators({ kind: "relative-l2", tolerance: 1e-4 }),
		null,
	],
	[
		"a limit looser at one precision",
		comparators({ kind: "relative-l2", tolerance: { fp16: 1e-3 } }),
		comparators({ kind: "relative-l2", tolerance: { fp16: 4e-3 } }),
		/fp16 0\.001 → 0\.004/,
	],
	[
		"a limit that gives way to a looser default",
		comparators({ kind: "relative-l2", tolerance: { fp32: 1e-6 } }),
		comparators({ kind: "relative-l2" }),
		/fp32 0\.000001 → 0\.001/,
	],
	[
		"a lower cosine",
		comparators({ kind: "cosine", tolerance: 0.999 }),
		comparators({ kind: "cosine", tolerance: 0.9 }),
		/cosine of output "y" is looser/,
	],
	[
		"a comparator that is gone",
		comparators({ kind: "relative-l2" }, { kind: "cosine" }),
		comparators({ kind: "relative-l2" }),
		/no longer compared by cosine/,
	],
	[
		"a limit of one part that is looser",
		comparators(
			{ kind: "relative-l2", tolerance: 1e-4 },
			{ kind: "relative-l2", slice: { axis: 0, to: 1 }, tolerance: 1e-4 },
		),
		comparators(
			{ kind: "relative-l2", slice: { axis: 0, to: 1 }, tolerance: 1e-2 },
			{ kind: "relative-l2", tolerance: 1e-4 },
		),
		/^relative-l2 of 0 of axis 0 of output "y" is looser: every precision 0\.0001 → 0\.01/,
	],
	[
		"a part that is no longer compared",
		comparators({ kind: "relative-l2" }, { kind: "relative-l2", slice: { axis: -1, to: 1 } }),
		comparators({ kind: "relative-l2" }),
		/no longer compared by relative-l2 of column 0/,
	],
	[
		"a floor that is higher",
		comparators({ kind: "relative-l2" }),
		comparators({ kind: "relative-l2", floor: 1e-3 }),
		/floor 0 → 0\.001/,
	],
	[
		"a failure that only warns now",
		comparators({ kind: "relative-l2" }),
		comparators({ kind: "relative-l2", severity: "warn" }),
		/severity fail → warn/,
	],
	["worst samples that are no longer looked at", { batchAxis: 0 }, {}, /scope per-sample → whole/],
	[
		"a comparator that is new",
		comparators({ kind: "relative-l2" }),
		comparators({ kind: "relative-l2" }, { kind: "cosine" }),
		null,
	],
	["NaN that may be", {}, { nonFinite: "must-match" }, /nonFinite reject → must-match/],
])("reviewGolden calls out %s", (_, before, after, says) => {
	const change = review(golden(before), golden(after));
	expect(change?.tolerances.length).toBeGreaterThan(0);
	if (says === null) expect(change?.weakened).toEqual([]);
	else expect(change?.weakened.join("\n")).toMatch(says);
});

it("reviewGolden calls out dropped cases and a softer policy, and notes new ones", () => {
	const [only] = golden().cases;
	const renamed = golden({}, { cases: [{ ...only, id: "other" }], policy: { onModelChange: "warn" } });
	const change = review(golden({}, { policy: { onModelChange: "fail" } }), renamed);
	expect(change?.weakened).toEqual([
		'1 case dropped: "only".',
		"A changed model now means warn, before fail.",
	]);
	expect(change?.notes).toContain('1 case added: "other".');
});

it("reviewGolden reports the reason only if it belongs to this change, and its absence", () => {
	const base = golden({}, { reason: "First recording." });
	const otherModel = { model: { path: "net.onnx", sha256: "c".repeat(64) } };
	expect(review(base, golden({}, { ...otherModel, reason: "First recording." }))).toMatchObject({
		notes: [
			"It was recorded from another model.",
			"Its id is still net@1: it was changed by hand.",
			"No reason is given.",
			"No author is named.",
		],
	});
	const said = review(
		base,
		golden({}, { ...otherModel, goldenId: "net@2", reason: "Trained again.", author: "Ann" }),
	);
	expect(said).toMatchObject({
		reason: "Trained again.",
		author: "Ann",
		weakened: [],
		notes: ["It was recorded from another model."],
	});
});

it("reviewGolden puts what moved furthest first and keeps the list short", () => {
	const [only] = golden().cases;
	const head = golden(
		{},
		{ cases: [{ ...only, outputs: { y: { ...only.outputs["y"]!, sha256: "d".repeat(64) } } }] },
	);
	const moved = Array.from({ length: 150 }, (_, index) => ({
		case: `c${index}`,
		output: "y",
		relativeL2: index,
		maxAbs: index,
	}));
	const change = reviewGolden({
		model: "m",
		path: "p",
		base: golden(),
		head,
		moved,
		expected: new Map([["y", y]]),
		relativeL2: {},
	});
	expect(change).toMatchObject({ movedTotal: 150, moved: { length: 100, 0: { relativeL2: 149 } } });
});

it("reviewGolden is loud of a golden that is gone", () => {
	expect(reviewGone("m", "golden.json", golden())).toMatchObject({
		head: null,
		weakened: [expect.stringMatching(/net@1 with its 1 case was removed/)],
	});
});

describe("an error that grew", () => {
	const manifest = golden();
	const off = (by: number) => ({ y: float32([1 + by, 2 + 2 * by]) });
	const judge = (head: number, base: number, more: Partial<GoldenManifest> = {}, errorGrowth?: Threshold) =>
		judgeCase({
			manifest: { ...manifest, ...more },
			caseId: "only",
			model: "m",
			engine: "fp16",
			precision: "fp16",
			modelSha256,
			expected: { y },
			got: off(head),
			base: off(base),
			relativeL2: { fp16: 1 },
			...(errorGrowth === undefined ? {} : { errorGrowth }),
		});
	const growth = (...args: Parameters<typeof judge>) =>
		judge(...args).checks.find(({ metric }) => metric === "error-growth");

	it.each([
		[3e-3, 1e-3, true],
		[1.9e-3, 1e-3, false],
		[1e-3, 3e-3, false],
		// From chance to twice of it.
		[1.5e-5, 1e-9, false],
		[4e-5, 0, true],
		[9e-6, 1e-7, false],
	])("an error that grew from the base's to %f (base %f) warns: %s", (head, base, warns) => {
		const verdict = judge(head, base);
		expect(verdict.state).toBe("match");
		expect(growth(head, base)?.severity).toBe(warns ? "warn" : undefined);
	});

	it("an error that grew is reported by how much, and still within the limits", () => {
		expect(growth(3e-3, 1e-3)?.detail).toMatch(
			/the fp16 error grew 3×: its relative L2 went from 0\.001 in the base to 0\.003, still within the limits.*above 2× warns, above 10× fails/,
		);
	});

	it.each<[number, number, Threshold | undefined, GoldenCheck["severity"] | undefined]>([
		[9.9e-3, 1e-3, undefined, "warn"],
		[1.1e-2, 1e-3, undefined, "fail"],
		// The base may have computed in fp32: up to the rounding of fp16 that is another choice of kernels.
		[2.9e-3, 1e-6, undefined, "warn"],
		[3.1e-3, 1e-6, undefined, "fail"],
		[1.1e-2, 1e-3, { warn: 20, fail: 30 }, undefined],
		[1.1e-2, 1e-3, { warn: 2 }, "warn"],
		[2.5e-3, 1e-3, { fail: 2 }, "fail"],
		[0.5, 1e-3, {}, undefined],
	])("an error that grew to %f from %f in the base, with limits %j: %s", (head, base, limits, severity) => {
		const verdict = judge(head, base, {}, limits);
		expect(verdict.checks.find(({ metric }) => metric === "error-growth")?.severity).toBe(severity);
		expect(verdict.state).toBe(severity === "fail" ? "mismatch" : "match");
	});

	it("an error that grew is not reported where the case fails anyway, and obeys the golden's own factor and noise floor", () => {
		expect(judge(2, 1e-3)).toMatchObject({ state: "mismatch", checks: { length: 1 } });
		expect(growth(3e-3, 1e-3, { policy: { mostErrorGrowth: 4 } })).toBeUndefined();
		const noiseFloor = { runs: ["again"] as [string], outputs: { y: { relativeL2: 4e-3, maxAbs: 0 } } };
		expect(growth(3e-3, 1e-3, { noiseFloor })).toBeUndefined();
	});
});
