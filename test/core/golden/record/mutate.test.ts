// Mutations are of the size they claim, and the golden is told to notice them or to say which limit does not.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeTensor } from "../../../../src/core/golden/record/generators/encode.ts";
import { mutateWeights, mutationOrder, type WeightDType } from "../../../../src/core/golden/record/mutate.ts";
import { judgeMutation, mutationRecord } from "../../../../src/core/golden/record/mutate-judge.ts";
import { describeUnnoticed, noticingLimit, tightenOutputs } from "../../../../src/core/golden/record/mutate-tighten.ts";
import { distance, measureNoise } from "../../../../src/core/golden/record/noise-floor.ts";
import { float32, int64, manifestOf, zeros } from "../../../support/golden-tensors.ts";

describe("mutateWeights", () => {
	it.each<[WeightDType, number, number]>([
		["float32", 0.00999, 0.01001],
		["float64", 0.0099999, 0.0100001],
		["float16", 0.0095, 0.0105],
		// Steps of bfloat16 are up to 0.8 % of the value.
		["bfloat16", 0.006, 0.014],
	])("changes %s by 1 % in relative L2, the same for the same seed", (dtype, least, most) => {
		const weights = encodeTensor(dtype, [500], (index) => Math.sin(index) * 3 + 0.01);
		const mutate = (seed: number, index: number) => mutateWeights(weights.data, dtype, { relative: 0.01, seed, index });
		const { bytes, changed } = mutate(1, 4);
		const size = distance(weights, { ...weights, data: bytes })?.relativeL2 ?? Number.NaN;
		expect(changed).toBe(true);
		expect(size).toBeGreaterThan(least);
		expect(size).toBeLessThan(most);
		expect(mutate(1, 4).bytes).toEqual(bytes);
		expect(mutate(1, 5).bytes).not.toEqual(bytes);
		expect(mutate(2, 4).bytes).not.toEqual(bytes);
	});

	it("leaves zeros and what is not finite, and says so", () => {
		const dull = float32([0, -0, Number.NaN, Number.POSITIVE_INFINITY]);
		expect(mutateWeights(dull.data, "float32", { relative: 0.01, seed: 1, index: 0 })).toEqual({ bytes: dull.data, changed: false });
	});

	it("takes every tensor exactly once, in an order of the seed", () => {
		fc.assert(
			fc.property(fc.nat(300), fc.nat(), (tensors, seed) => {
				const order = mutationOrder(tensors, seed);
				expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: tensors }, (_, index) => index));
				expect(mutationOrder(tensors, seed)).toEqual(order);
			}),
		);
		expect(mutationOrder(50, 1)).not.toEqual(mutationOrder(50, 2));
	});
});

describe("measureNoise", () => {
	it("keeps the widest spread of all runs and cases, by output", () => {
		const reference = [{ y: float32([1, 2]) }, { y: float32([3, 4]) }];
		const same = { label: "again", outputs: reference };
		const other = { label: "all", outputs: [{ y: float32([1, 2]) }, { y: float32([3, 4.5]) }] };
		const noise = measureNoise(reference, [same, other]);
		expect(noise?.runs).toEqual(["again", "all"]);
		expect(noise?.outputs["y"]).toEqual({ relativeL2: 0.1, maxAbs: 0.5 });
		expect(measureNoise(reference, [])).toBeNull();
	});

	it("is infinite where a run is not finite and another is", () => {
		expect(distance(float32([1]), float32([Number.NaN]))?.relativeL2).toBe(Number.POSITIVE_INFINITY);
		expect(distance(float32([1]), float32([1, 2]))).toBeNull();
	});
});

const golden = (tolerance: number) => ({
	...manifestOf({ y: float32([1, 1]) }, { y: { comparators: [{ kind: "relative-l2" as const, tolerance: { fp32: tolerance } }] } }),
	noiseFloor: { runs: ["again"] as [string], outputs: { y: { relativeL2: 1e-6, maxAbs: 1e-6 } } },
});
const context = (tolerance: number) => ({ manifest: golden(tolerance), reference: [{ y: float32([1, 1]) }], relativeL2: {} });
const moved = (by: number) => ({ tensor: "w", state: "ran" as const, outputs: [{ y: float32([1 + by, 1 + by]) }] });

describe("judgeMutation", () => {
	it.each([
		[1e-2, 1e-3, "noticed"],
		[1e-4, 1e-3, "unnoticed"],
		[1e-4, 1e-5, "noticed"],
		[5e-7, 1e-3, "below-noise"],
	])("a change of %f under a limit of %f is %s", (by, limit, state) => {
		expect(judgeMutation(moved(by), context(limit)).state).toBe(state);
	});

	it("calls a model that breaks noticed, and zeros unchanged", () => {
		expect(judgeMutation({ tensor: "w", state: "broke" }, context(1)).state).toBe("broke");
		const findings = [
			judgeMutation({ tensor: "w", state: "broke" }, context(1)),
			judgeMutation({ tensor: "z", state: "unchanged" }, context(1)),
			judgeMutation(moved(5e-7), context(1)),
			judgeMutation(moved(1e-2), context(1e-3)),
		];
		const record = mutationRecord(findings, { relative: 0.01, seed: 1, tensors: 3 });
		expect(record).toMatchObject({ tested: 3, noticed: 2, belowNoise: 1, smallest: expect.closeTo(1e-2, 5), unseen: ["w"] });
	});

	it("takes any difference of integers as far above the noise", () => {
		const manifest = manifestOf({ n: int64([5n, 6n]) }, { n: { comparators: [{ kind: "allclose", rtol: 0, atol: 0, tolerance: 0.6 }] } });
		const finding = judgeMutation(
			{ tensor: "w", state: "ran", outputs: [{ n: int64([5n, 7n]) }] },
			{ manifest, reference: [{ n: int64([5n, 6n]) }], relativeL2: {} },
		);
		expect(finding).toMatchObject({ state: "unnoticed", output: "n", floor: 0 });
		expect(tightenOutputs(manifest, [finding])["n"]?.comparators?.[0]?.tolerance).toEqual({ fp32: 0 });
	});
});

describe("tightening", () => {
	it("puts the limit between noise and change, and then the change is noticed", () => {
		fc.assert(
			fc.property(fc.double({ min: 3e-6, max: 0.5, noNaN: true }), (by) => {
				const finding = judgeMutation(moved(by), context(0.9));
				expect(finding.state).toBe("unnoticed");
				const outputs = tightenOutputs(golden(0.9), [finding]);
				const manifest = { ...golden(0.9), outputs };
				expect(judgeMutation(moved(by), { ...context(0.9), manifest }).state).toBe("noticed");
				expect(noticingLimit(finding)).toBeGreaterThanOrEqual(1.4e-6);
			}),
		);
	});

	it("does not go nearer to the noise than half of it, and says that cases are wanting", () => {
		const finding = judgeMutation(moved(1.2e-6), context(0.9));
		expect(finding.state).toBe("unnoticed");
		expect(noticingLimit(finding)).toBeNull();
		expect(describeUnnoticed(finding, golden(0.9), 0.01).fix).toMatch(/Add cases/);
	});

	it("names the weight, the output, the limit that lets it through and one that would not", () => {
		const finding = judgeMutation(moved(1e-4), context(1e-3));
		const { message, fix } = describeUnnoticed(finding, golden(1e-3), 0.01);
		expect(message).toMatch(/1 % in weight "w" moves output "y" of case "only" by 0\.0001 \(relative L2\), 100 times the noise floor/);
		expect(fix).toMatch(/relative-l2 of 0\.001 lets it through: set .*"fp32": 0\.00005/);
	});

	it("leaves an output alone whose shape changed: that is noticed", () => {
		const run = { tensor: "w", state: "ran" as const, outputs: [{ y: zeros("float32", [3]) }] };
		expect(judgeMutation(run, context(0.9)).state).toBe("noticed");
	});
});
