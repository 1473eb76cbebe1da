// Checks that do not pass carry pictures of their errors; those that pass carry none.
import { expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/result-validator.js";
import { type CaseInput, judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { attachErrorMaps } from "../../../../src/core/golden/error-map/attach-error-maps.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { buildResult } from "../../../support/build-result.ts";
import { float32, manifestOf, modelSha256 } from "../../../support/golden-tensors.ts";

function ramp(shape: readonly number[], shift: (at: number) => number = () => 0): Tensor {
	const elements = shape.reduce((product, size) => product * size, 1);
	return float32(
		Array.from({ length: elements }, (_, at) => (at % 7) - 3 + shift(at)),
		shape,
	);
}

function inputOf(
	expected: Record<string, Tensor>,
	got: Record<string, Tensor>,
	specs: Record<string, GoldenOutput> = {},
): CaseInput {
	return {
		manifest: manifestOf(expected, specs),
		caseId: "only",
		model: "net",
		engine: "fp32",
		precision: "fp32",
		modelSha256,
		expected,
		got,
		relativeL2: {},
	};
}

const draw = (input: CaseInput, most = 50) => attachErrorMaps(judgeCase(input), input, most);
const shape = [2, 3, 16, 16];
const wrong = { y: ramp(shape, (at) => (at === 768 + 256 + 16 * 5 + 9 ? 4 : 0)) };

it("drawErrors draws the worst sample: map and the furthest elements in the output's own coordinates", () => {
	const specs: Record<string, GoldenOutput> = { y: { semantic: "image", batchAxis: 0 } };
	const { verdict, drawn } = draw(inputOf({ y: ramp(shape) }, wrong, specs));
	const [check] = verdict.checks;
	expect(drawn).toBe(1);
	expect(check).toMatchObject({
		sample: 1,
		errorMap: { sample: 1, axes: [2, 3], image: true },
	});
	expect(check?.largest).toMatchObject([{ index: [1, 1, 5, 9] }]);
});

it("drawErrors shows the sample of the largest difference where the whole was judged", () => {
	const { verdict } = draw(inputOf({ y: ramp(shape) }, wrong));
	expect(verdict.checks[0]).toMatchObject({ errorMap: { sample: 1 } });
});

it("drawErrors prefers a check of elements among several", () => {
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "relative-l2" },
		{ kind: "allclose", atol: 0.5, rtol: 0 },
	];
	const { verdict, drawn } = draw(inputOf({ y: ramp(shape) }, wrong, { y: { comparators } }));
	expect(drawn).toBe(1);
	expect(verdict.checks.map(({ metric, largest }) => [metric, largest?.[0]?.allowed])).toEqual([
		["relative-l2", undefined],
		["allclose", 0.5],
	]);
});

it("drawErrors gives the limit of each of the furthest elements, if the check is per element", () => {
	const comparators: GoldenOutput["comparators"] = [{ kind: "allclose", atol: 0.5, rtol: 0.25 }];
	const { verdict } = draw(inputOf({ y: ramp(shape) }, wrong, { y: { comparators } }));
	const [element] = verdict.checks[0]?.largest ?? [];
	expect(element?.allowed).toBe(0.5 + 0.25 * Math.abs(Number(element?.expected)));
	expect(verdict.checks[0]?.worst?.allowed).toBe(element?.allowed);
	expect(validate({ ...buildResult(), golden: [verdict] })).toBe(true);
	const overall = draw(inputOf({ y: ramp(shape) }, wrong)).verdict.checks[0];
	expect(overall?.largest?.[0]).not.toHaveProperty("allowed");
});

it("drawErrors draws nothing of what passes, is missing, or has another shape", () => {
	const y = ramp(shape);
	for (const got of [{ y }, {}, { y: ramp([2, 3]) }] as Record<string, Tensor>[]) {
		const { verdict, drawn } = draw(inputOf({ y }, got));
		expect(drawn).toBe(0);
		expect(verdict.checks.every((check) => check.largest === undefined)).toBe(true);
	}
});

it("drawErrors draws NaN as what it is", () => {
	const { verdict } = draw(
		inputOf({ y: ramp(shape) }, { y: ramp(shape, (at) => (at === 3 ? Number.NaN : 0)) }),
	);
	expect(verdict.checks[0]).toMatchObject({
		metric: "non-finite",
		largest: [{ index: [0, 0, 0, 3], got: "NaN" }],
	});
});

it("drawErrors keeps to the number that is left", () => {
	const expected = { a: ramp([4]), b: ramp([4]), c: ramp([4]) };
	const got = { a: ramp([4], () => 1), b: ramp([4], () => 1), c: ramp([4], () => 1) };
	const { verdict, drawn } = draw(inputOf(expected, got), 2);
	expect(drawn).toBe(2);
	expect(verdict.checks.filter((check) => check.largest !== undefined).length).toBe(2);
});

it("drawErrors makes what the result's schema takes", () => {
	const { verdict } = draw(inputOf({ y: ramp(shape) }, wrong));
	expect(validate({ ...buildResult(), golden: [verdict] })).toBe(true);
});
