import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { applyCalibration } from "../../../../src/golden/core/calibrate/apply.ts";
import {
	type ComparatorErrors,
	errorsOf,
	type ProposedLimit,
	proposeLimits,
} from "../../../../src/golden/core/calibrate/propose-limits.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { caseInput, float32, manifestOf, type Outputs } from "../../../support/golden-tensors.ts";

const rule = { multiple: 4, backend: "tensorrt", given: new Map() } as const;

function errors(got: number, allowed: number, more: Partial<ComparatorErrors> = {}): ComparatorErrors {
	const cases = [{ case: "c", got, allowed, share: got / allowed }];
	return { output: "y", comparator: 0, kind: "relative-l2", bound: "at-most", cases, ...more };
}

const propose = (one: ComparatorErrors) =>
	proposeLimits({ engine: "net/e", precision: "fp16", errors: [one], faults: [] }, rule)[0];

it.each<[number, number, number | undefined, ProposedLimit["state"], number]>([
	[1e-3, 5e-3, undefined, "kept", 5e-3],
	[3e-3, 5e-3, undefined, "raised", 1.2e-2],
	[1e-4, 5e-3, undefined, "lowered", 4e-4],
	// Rounding that another GPU may show stays allowed.
	[1e-4, 5e-3, 1e-3, "kept", 5e-3],
	[1e-4, 5e-2, 1e-3, "lowered", 3e-3],
	// If a network amplifies rounding, an error may be right that would be wrong elsewhere.
	[5e-2, 5e-3, undefined, "refused", 5e-3],
	[5e-2, 5e-3, 4e-2, "raised", 2e-1],
	[1e-2, 5e-3, 1e-4, "refused", 5e-3],
	[0, 5e-3, undefined, "kept", 5e-3],
])(
	"a proposed limit of an error of %d under %d, with emulated rounding %d, is %s: %d",
	(got, allowed, rounding, state, limit) => {
		const found = errors(got, allowed, rounding === undefined ? {} : { rounding });
		expect(propose(found)).toMatchObject({ state, limit });
	},
);

it("a proposed limit of a share counts what is lost", () => {
	const topK = (got: number, allowed: number) =>
		propose({
			...{ output: "y", comparator: 0, kind: "top-k", bound: "at-least" },
			cases: [{ case: "c", got, allowed, share: (1 - got) / (1 - allowed) }],
		});
	expect(topK(0.97, 0.95)).toMatchObject({ state: "raised", limit: 0.88 });
	expect(topK(1, 0.95)).toMatchObject({ state: "kept", limit: 0.95 });
	expect(topK(0.5, 0.95)).toMatchObject({ state: "refused" });
	expect(topK(0.72, 0.7)).toMatchObject({ state: "kept", limit: 0.7 });
	expect(propose(errors(0.28, 0.3, { kind: "allclose" }))).toMatchObject({ state: "kept", limit: 0.3 });
	expect(propose(errors(0.7, 0.69, { kind: "accuracy", bound: "at-least" }))).toBeUndefined();
});

const y = float32([1, 2]);
const machine = { backend: "tensorrt", version: "10.6.0", device: "L4", precision: "fp16" } as const;
const engine = (name: string, limit: number, state: ProposedLimit["state"]) => ({
	...{ ...machine, engine: name, at: "2026-01-01T00:00:00Z" },
	limits: [{ errors: errors(limit / 4, 5e-3), state, before: 5e-3, limit, why: "because" }],
});
const change = { reason: "r", author: "a" };

it("a calibrated golden gets the widest limit of engines that share a precision, and keeps those of other precisions", () => {
	const old = manifestOf({ y }, { y: { comparators: [{ kind: "relative-l2", tolerance: 1e-3 }] } });
	const written = applyCalibration(
		old,
		[engine("net/a", 4e-4, "lowered"), engine("net/b", 2e-2, "raised")],
		change,
	);
	const others = ["fp64", "fp32", "tf32", "bf16", "int8", "fp8", "int4", "fp4"];
	const tolerance = { ...Object.fromEntries(others.map((name) => [name, 1e-3])), fp16: 2e-2 };
	expect(written.outputs["y"]?.comparators).toEqual([{ kind: "relative-l2", tolerance }]);
	const again = applyCalibration(written, [engine("net/b", 3e-2, "raised")], change);
	expect(again.calibration?.map((record) => [record.engine, record.limits[0]?.limit])).toEqual([
		["net/b", 3e-2],
		["net/a", 2e-2],
	]);
});

const four = float32([1, 2, 3, 4]);
it("an engine's errors are those of each comparator, in the golden's order", () => {
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "max-abs", tolerance: 0.5 },
		{ kind: "relative-l2", tolerance: 5e-3 },
	];
	const input = caseInput({ y: four }, { y: float32([1, 2, 3, 4.25]) }, { specs: { y: { comparators } } });
	const found = errorsOf(input.manifest, [judgeCase(input)]);
	expect(found.faults).toEqual([]);
	expect(
		found.errors.map(({ kind, comparator, cases }) => [kind, comparator, cases[0]?.got, cases[0]?.allowed]),
	).toEqual([
		["max-abs", 0, 0.25, 0.5],
		["relative-l2", 1, expect.closeTo(0.25 / Math.sqrt(30), 9), 5e-3],
	]);
});

it.each<[string, Outputs]>([
	["an output that is missing", {}],
	["NaN", { y: float32([1, 2, 3, NaN]) }],
	["another shape", { y: float32([1, 2]) }],
])("an engine's errors are not taken from %s", (_, got) => {
	const input = caseInput({ y: four }, got);
	expect(errorsOf(input.manifest, [judgeCase(input)]).faults).toHaveLength(1);
});
