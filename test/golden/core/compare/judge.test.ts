import fc from "fast-check";
import { expect, it } from "vitest";
import type { ComparatorSpec, GoldenOutput, Precision } from "../../../../generated/golden.ts";
import type { GoldenCheck, GoldenState, GoldenVerdict } from "../../../../generated/result.ts";
import type { Threshold } from "../../../../src/core/config/config.ts";
import { decodeTensor } from "../../../../src/formats/tensor/decode.ts";
import { judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import { type MetricKind, metrics } from "../../../../src/golden/core/compare/registry.ts";
import { findInsensitive } from "../../../../src/golden/core/record/sensitivity.ts";
import {
	caseInput,
	float32,
	float64,
	int64,
	manifestOf,
	type Outputs,
	type Tensor,
	zeros,
} from "../../../support/golden-tensors.ts";
import { recordedBytes, recordedRuns, wholeShape } from "../../../support/recorded-goldens.ts";

type Options = Parameters<typeof caseInput>[2];

function judge(expected: Outputs, got: Outputs, options: Options = {}) {
	return judgeCase(caseInput(expected, got, { relativeL2: { fp32: 1e-3, fp16: 5e-3 }, ...options }));
}

const specsOf = (comparators: ComparatorSpec[], more: GoldenOutput = {}) => ({
	specs: { y: { comparators, ...more } as GoldenOutput },
});
const growthOf = ({ checks }: GoldenVerdict) => checks.filter(({ metric }) => metric === "error-growth");
const golden = float32([1, 2, 3, 4, 5, 6], [2, 3]);
/** The golden's norm is √91. */
const off = (error: number) => float32([1, 2, 3, 4, 5, 6 + error], [2, 3]);
const offL2 = (relative: number) => off(relative * Math.sqrt(91));

it("judgeCase matches equal outputs and reports how many elements it compared", () => {
	expect(judge({ y: golden }, { y: golden })).toMatchObject({
		state: "match",
		modelChanged: false,
		golden: "net@1",
		checks: [{ output: "y", metric: "relative-l2", got: 0, allowed: 5e-3, pass: true, elements: 6 }],
	});
});

it.each<[string, Outputs, string, RegExp]>([
	["a missing output", {}, "missing", /no outputs/],
	["an output of another name", { z: golden }, "missing", /it has "z"/],
	["another dtype", { y: float64([1], [2, 3]) }, "dtype", /expected float32, got float64/],
	["another shape", { y: { ...golden, shape: [3, 2] } }, "shape", /expected \[2, 3\], got \[3, 2\]/],
	["another rank", { y: { ...golden, shape: [6] } }, "shape", /got \[6\]/],
	["a truncated buffer", { y: { ...golden, data: new Uint8Array(20) } }, "shape", /takes 24 bytes, got 20/],
	["a negative size", { y: { ...golden, shape: [2, -3] } }, "shape", /got \[2, -3\]/],
])("judgeCase fails on %s before any metric", (_, got, metric, detail) => {
	const verdict = judge({ y: golden }, got);
	const [check] = verdict.checks;
	expect(verdict.state).toBe("mismatch");
	expect(check).toMatchObject({ output: "y", metric, got: null, pass: false, severity: "fail" });
	expect(check?.detail).toMatch(detail);
});

it("judgeCase keeps outputs named __proto__ apart from the language's own", () => {
	const named = Object.fromEntries([["__proto__", golden]]);
	expect(judge(named, named).checks[0]).toMatchObject({ output: "__proto__", pass: true, elements: 6 });
	expect(judge(named, {}).state).toBe("mismatch");
	expect(judge({ constructor: golden }, {}).checks[0]?.metric).toBe("missing");
});

it("judgeCase passes empty outputs of one shape, but never a case in which nothing was compared", () => {
	const empty = zeros("float32", [0, 4]);
	const both = judge({ y: golden, none: empty }, { y: golden, none: empty });
	expect(both.state).toBe("match");
	expect(both.checks[1]).toMatchObject({ output: "none", pass: true, elements: 0, got: null });
	const message = expect.stringContaining("Nothing was compared");
	expect(judge({ none: empty }, { none: empty })).toMatchObject({ state: "error", message });
	expect(judge({ none: empty }, { none: zeros("float32", [1, 4]) }).state).toBe("mismatch");
});

it("judgeCase compares integers and bools exactly if the golden names no comparator", () => {
	const ids = int64([2n ** 53n, 7n]);
	expect(judge({ ids }, { ids }).checks[0]).toMatchObject({ metric: "allclose", allowed: 0, pass: true });
	expect(judge({ ids }, { ids: int64([2n ** 53n + 1n, 7n]) }).state).toBe("mismatch");
	const mask: Tensor = { dtype: "bool", shape: [3], data: Uint8Array.of(1, 0, 1) };
	expect(judge({ mask }, { mask: { ...mask, data: Uint8Array.of(1, 1, 1) } }).state).toBe("mismatch");
	expect(judge({ mask }, { mask: { ...mask, data: Uint8Array.of(255, 0, 1) } }).state).toBe("match");
});

it("judgeCase judges the worst sample if the golden has a batch axis, and names it", () => {
	const rows = 32;
	const numbers = Array.from({ length: rows * 8 }, (_, i) => 1 + (i % 5));
	const expected = float32(numbers, [rows, 8]);
	const got = float32(numbers.fill(0, 17 * 8, 18 * 8), [rows, 8]);
	const cosine: ComparatorSpec = { kind: "cosine", tolerance: 0.9 };
	expect(judge({ y: expected }, { y: got }, specsOf([cosine])).state).toBe("match");
	const verdict = judge({ y: expected }, { y: got }, specsOf([cosine], { batchAxis: 0 }));
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]).toMatchObject({ sample: 17, got: 0, elements: rows * 8 });
	expect(verdict.checks[0]?.worst?.index[0]).toBe(17);
});

it.each([0, 1, 2])(
	"judgeCase fails on a metric that is not defined in sample %i, whatever the others say",
	(sample) => {
		const rows = [0.25, 0.75, 0.25, 0.75, 0.25, 0.75];
		const got = rows.map((value, index) => (Math.floor(index / 2) === sample ? value + 1 : value));
		const options = specsOf([{ kind: "kl", tolerance: 1e9 }], { semantic: "probabilities", batchAxis: 0 });
		const verdict = judge({ y: float32(rows, [3, 2]) }, { y: float32(got, [3, 2]) }, options);
		expect(verdict).toMatchObject({ state: "mismatch", checks: [{ sample, got: "NaN", pass: false }] });
	},
);

it("judgeCase cuts samples along inner axes too", () => {
	const got = float32([1, 2, 3, 4, 9, 6], [2, 3]);
	const verdict = judge({ y: golden }, { y: got }, { specs: { y: { batchAxis: 1 } } });
	expect(verdict.checks[0]).toMatchObject({ sample: 1, worst: { index: [1, 1], got: 9, expected: 5 } });
	expect(verdict.checks[0]?.got).toBeCloseTo(4 / Math.hypot(2, 5), 12);
});

it("judgeCase evaluates warnings and failures separately", () => {
	const warning: ComparatorSpec = { kind: "max-abs", tolerance: 0.1, severity: "warn" };
	const options = specsOf([warning, { kind: "relative-l2", tolerance: 0.5 }]);
	const verdict = judge({ y: golden }, { y: off(0.5) }, options);
	expect(verdict.state).toBe("match");
	expect(verdict.checks.map((check) => check.pass)).toEqual([false, true]);
});

it.each<[Precision, ...number[]]>([
	["fp16", 0.25, 0.9999],
	["int8", 0.5, 0.99],
	["fp32", 1e-3, 0.99999],
	["fp8", 0.1, 0.99],
])(
	"judgeCase takes the tolerance of %s, the config's, or the default, in this order",
	(precision, ...allowed) => {
		const tolerance = { fp16: 0.25, int8: 0.5 };
		const options = specsOf([{ kind: "relative-l2", tolerance }, { kind: "cosine" }]);
		const { checks } = judge({ y: golden }, { y: golden }, { ...options, precision });
		expect(checks.map((check) => check.allowed)).toEqual(allowed);
	},
);

const holed = float32([1, NaN, 3, Infinity, 5, -Infinity], [2, 3]);
const mustMatch = { specs: { y: { nonFinite: "must-match" } } } as const;

it("judgeCase passes NaN and infinities at the same places and compares the rest", () => {
	const checks = [
		{ metric: "non-finite", pass: true, got: 0 },
		{ metric: "relative-l2", pass: true, elements: 3 },
	];
	expect(judge({ y: holed }, { y: holed }, mustMatch)).toMatchObject({ state: "match", checks });
});

it("judgeCase fails an infinity of the other sign and names the place", () => {
	const other = float32([1, NaN, 3, -Infinity, 5, -Infinity], [2, 3]);
	const verdict = judge({ y: holed }, { y: other }, mustMatch);
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]?.worst).toEqual({ index: [1, 0], got: "-Infinity", expected: "Infinity" });
});

it("judgeCase never matches a golden that is all NaN", () => {
	const nothing = float32([NaN, NaN]);
	const verdict = judge({ y: nothing }, { y: nothing }, mustMatch);
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks.at(-1)).toMatchObject({ pass: false, elements: 0, got: null });
});

it("judgeCase fails each kind of comparator when the engine puts NaN or an infinity anywhere", () => {
	const arbitrary = fc.record({
		...{ length: fc.integer({ min: 1, max: 9 }), place: fc.nat(), wide: fc.boolean() },
		value: fc.constantFrom(NaN, Infinity, -Infinity),
		kind: fc.constantFrom(...(Object.keys(metrics) as MetricKind[])),
		nonFinite: fc.constantFrom("reject" as const, "must-match" as const),
		batchAxis: fc.constantFrom(0, null),
	});
	fc.assert(
		fc.property(arbitrary, ({ length, place, value, kind, wide, nonFinite, batchAxis }) => {
			const values = Array.from({ length: 2 * length }, (_, index) => index + 1);
			const make = (list: number[]) => ({ y: (wide ? float64 : float32)(list, [2, length]) });
			const tolerance = kind === "cosine" || kind === "top-k" ? 0 : 1e9;
			const options = specsOf([{ kind, tolerance, input: "logits" }], { nonFinite, batchAxis });
			const broken = values.with(place % values.length, value);
			expect(judge(make(values), make(broken), options).state).toBe("mismatch");
		}),
	);
});

it("judgeCase reports the base's own error beside the head's, and never judges by it", () => {
	const verdict = judge({ y: golden }, { y: golden }, { base: { y: off(1) } });
	expect(verdict.state).toBe("match");
	expect(verdict.checks[0]?.base).toBeCloseTo(1 / Math.sqrt(91), 12);
	const both = judge({ y: golden }, { y: off(1) }, { base: { y: off(1) } });
	expect(both).toMatchObject({ state: "existing", checks: [{ existing: true, severity: "fail" }] });
});

const offByNaN = off(NaN);
const short = float32([1, 2], [2]);
it.each<[string, Outputs, Outputs, GoldenState]>([
	["has an output of another shape", { y: short }, { y: short }, "existing"],
	["has an output of another shape than the base's", { y: short }, { y: float32([1], [1]) }, "mismatch"],
	["lacks an output", {}, {}, "existing"],
	["lacks an output that the base has", {}, { y: golden }, "mismatch"],
	["gives NaN", { y: offByNaN }, { y: offByNaN }, "existing"],
	["gives NaN where the base does not", { y: offByNaN }, { y: golden }, "mismatch"],
	["has one more output", { y: golden, z: short }, { y: golden, z: short }, "existing"],
	["has one more output than the base", { y: golden, z: short }, { y: golden }, "mismatch"],
])("judgeCase blames the change only for what the base passes, if the head %s", (_, head, base, state) => {
	expect(judge({ y: golden }, head, { base }).state).toBe(state);
});

it.each([
	[0.1, ["existing"]],
	[0.15, ["existing"]],
	[0.5, ["existing", "warn", "warn"]],
	[1.5, ["mismatch", "fail", "fail"]],
])("judgeCase fails a case that the base fails too only if the head is far worse: %f", (error, said) => {
	const tolerance = 1e-6;
	const options = specsOf([
		{ kind: "relative-l2", tolerance },
		{ kind: "max-abs", tolerance },
	]);
	const verdict = judge({ y: golden }, { y: off(error) }, { base: { y: off(0.1) }, ...options });
	expect([verdict.state, ...growthOf(verdict).map(({ severity }) => severity)]).toEqual(said);
});

it("judgeCase gives null if the base has nothing to compare, and NaN if it gave NaN", () => {
	const baseOf = (base: Tensor) => judge({ y: golden }, { y: golden }, { base: { y: base } }).checks[0]?.base;
	expect(baseOf(zeros("float32", [1]))).toBeNull();
	expect(baseOf(offByNaN)).toBe("NaN");
	expect(judge({ y: golden }, { y: golden }).checks[0]).not.toHaveProperty("base");
});

it("judgeCase lets the base excuse no failure of a case that its own golden lacks", () => {
	const both = { base: { y: off(1) }, isNewCase: true };
	const verdict = judge({ y: golden }, { y: off(1) }, both);
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks.every((check) => !("existing" in check))).toBe(true);
	expect(judge({ y: golden }, {}, { base: {}, isNewCase: true }).state).toBe("mismatch");
	expect(judge({ y: golden }, { y: golden }, both).state).toBe("match");
});

const judgeBoth = (head: number, base: number, options: Options) =>
	judge({ y: golden }, { y: offL2(head) }, { base: { y: offL2(base) }, ...options });
const judgeGrowth = (head: number, base: number, options: Options = {}) =>
	judgeBoth(head, base, { relativeL2: { fp16: 1 }, ...options });

it.each<[number, number, Threshold | undefined, GoldenCheck["severity"] | undefined]>([
	[3e-3, 1e-3, undefined, "warn"],
	[1.9e-3, 1e-3, undefined, undefined],
	[1e-3, 3e-3, undefined, undefined],
	// Twice the noise, from chance.
	[1.5e-5, 1e-9, undefined, undefined],
	[4e-5, 0, undefined, "warn"],
	[9e-6, 1e-7, undefined, undefined],
	[9.9e-3, 1e-3, undefined, "warn"],
	[1.1e-2, 1e-3, undefined, "fail"],
	// The base may have computed in fp32: up to the rounding of fp16 that is another choice of kernels.
	[2.9e-3, 1e-6, undefined, "warn"],
	[3.1e-3, 1e-6, undefined, "fail"],
	[1.1e-2, 1e-3, { warn: 20, fail: 30 }, undefined],
	[1.1e-2, 1e-3, { warn: 2 }, "warn"],
	[2.5e-3, 1e-3, { fail: 2 }, "fail"],
	[0.5, 1e-3, {}, undefined],
])(
	"an error that grew to %f from %f in the base, with limits %j: %s",
	(head, base, errorGrowth, severity) => {
		const verdict = judgeGrowth(head, base, errorGrowth && { errorGrowth });
		expect(growthOf(verdict)[0]?.severity).toBe(severity);
		expect(verdict.state).toBe(severity === "fail" ? "mismatch" : "match");
	},
);

it("an error that grew is reported by how much, and still within the limits", () => {
	expect(growthOf(judgeGrowth(3e-3, 1e-3))[0]?.detail).toBe(
		"the fp16 error grew 3×, above 2×: warns, and fails above 10×; its relative L2 went from 0.001 in the base to 0.003, still within the limits of the golden",
	);
});

it.each<[number, number, Threshold | undefined, string]>([
	[1.1e-2, 1e-3, undefined, "11×, above 10×: fails"],
	[1.1e-2, 1e-3, { warn: 2 }, "11×, above 2×: warns"],
	// From 1e-5, the noise; the rounding of fp16 is 3e-4.
	[2e-4, 1e-6, undefined, "20×, within what fp16 explains: warns"],
	[2.9e-3, 1e-6, undefined, "290×, but is 9.7× what fp16 explains: warns, and fails above 10× that"],
	[6e-3, 1e-6, undefined, "600×, and is 20× what fp16 explains: fails"],
])(
	"an error that grew to %f from %f in the base names the limit of %j that holds: %s",
	(head, base, errorGrowth, says) => {
		const [check] = growthOf(judgeGrowth(head, base, errorGrowth && { errorGrowth }));
		expect(check?.detail).toContain(`the fp16 error grew ${says}; `);
		expect(says).toContain(`${check?.severity}s`);
	},
);

it("an error that grew is not reported if the case fails anyway, and obeys the golden's own factor and noise floor", () => {
	const manifest = manifestOf({ y: golden });
	const noiseFloor = { runs: ["again"] as [string], outputs: { y: { relativeL2: 4e-3, maxAbs: 0 } } };
	expect(judgeGrowth(2, 1e-3)).toMatchObject({ state: "mismatch", checks: { length: 1 } });
	for (const own of [{ policy: { mostErrorGrowth: 4 } }, { noiseFloor }])
		expect(growthOf(judgeGrowth(3e-3, 1e-3, { manifest: { ...manifest, ...own } }))).toEqual([]);
});

const judgeOther = (head: number, base: number) => judgeBoth(head, base, { basePrecision: "fp32" });
const judgeSame = (head: number, base: number) => judgeBoth(head, base, {});

it("judgeCase judges the base by the limit of its own precision", () => {
	const verdict = judgeOther(4e-3, 2e-3);
	expect(verdict.state).toBe("match");
	expect(verdict.checks[0]).toMatchObject({ allowed: 5e-3, baseAllowed: 1e-3, pass: true });
	expect(judgeSame(4e-3, 2e-3).checks[0]?.baseAllowed).toBeUndefined();
});

it("judgeCase calls only that an old failure which the base's own limit forbids as well", () => {
	expect(judgeOther(0.02, 0.0005).state).toBe("mismatch");
	expect(judgeOther(0.02, 0.002).state).toBe("existing");
	expect(judgeSame(0.02, 0.002).state).toBe("mismatch");
});

it("judgeCase only warns of growth that a lower precision explains, up to the head's limit", () => {
	const grown = judgeOther(4e-3, 1e-5);
	expect(grown.state).toBe("match");
	expect(growthOf(grown)).toMatchObject([{ severity: "warn", pass: false }]);
	const same = judgeSame(4e-3, 1e-5);
	expect(same.state).toBe("mismatch");
	expect(growthOf(same)).toMatchObject([{ severity: "fail" }]);
	expect(judgeOther(6e-3, 1e-5).state).toBe("mismatch");
});

it("judgeCase calls nothing growth that the rounding of the head's precision explains", () => {
	expect(growthOf(judgeOther(2e-4, 1e-5))).toEqual([]);
	expect(growthOf(judgeSame(2e-4, 1e-5))).toHaveLength(1);
});

const other = { modelSha256: "c".repeat(64) };

it("judgeCase compares anyway by default, and reports it", () => {
	expect(judge({ y: golden }, { y: golden }, other)).toMatchObject({
		state: "match",
		modelChanged: true,
		message: expect.stringContaining("aaaaaaa…, this one is ccccccc…"),
	});
	expect(judge({ y: golden }, { y: zeros("float32", [2, 3]) }, other)).toMatchObject({
		state: "mismatch",
		message: expect.stringContaining("or record the golden again"),
	});
});

it.each(["warn", "fail"] as const)(
	"judgeCase calls the golden stale without judging if its policy is %s",
	(policy) => {
		const manifest = { ...manifestOf({ y: golden }), policy: { onModelChange: policy } };
		const stale = { state: "stale", severity: policy, modelChanged: true, checks: [] };
		expect(judge({ y: golden }, {}, { ...other, manifest })).toMatchObject(stale);
		expect(judge({ y: golden }, { y: golden }, { manifest }).state).toBe("match");
	},
);

it("judgeCase raises a bug for a case or a tensor that the caller did not bring", () => {
	expect(() => judge({ y: golden }, { y: golden }, { caseId: "other" })).toThrow("has no case other");
	expect(() => judge({ y: golden }, { y: golden }, { expected: {} })).toThrow("was not read");
});

const relativeL2 = { fp32: 1e-3, fp16: 5e-3, int8: 5e-2 };

function load(name: string, output: string): { expected: Tensor; got: Tensor } {
	const found = recordedRuns[`trtexec-10.6/golden-${name}`]?.outputs[output];
	if (found === undefined) throw new Error(`nobody recorded ${output} of ${name}`);
	const { file: path, dtype, reference, got } = found;
	const file = { path, sha256: "", dtype, shape: wholeShape(found), format: "raw" } as const;
	const [left, right] = [reference, got].map((key) => decodeTensor(recordedBytes(key), file));
	return { expected: left!, got: right! };
}

function judgeRecorded(name: string, output: string, precision: Precision, spec: GoldenOutput = {}) {
	const { expected, got } = load(name, output);
	const about = { specs: { [output]: spec }, precision, relativeL2 };
	return judgeCase(caseInput({ [output]: expected }, { [output]: got }, about));
}

const everyKind: GoldenOutput = {
	semantic: "probabilities",
	batchAxis: 0,
	comparators: (["relative-l2", "max-abs", "allclose", "cosine", "top-k", "kl"] as const).map((kind) => {
		return { kind };
	}) as unknown as [ComparatorSpec],
};

it.each<[string, Precision, boolean]>([
	["fp32-0", "fp32", true],
	["fp32-1", "fp32", true],
	["fp16-0", "fp16", true],
	["fp16-1", "fp16", true],
	// int8 was never calibrated.
	["int8-0", "int8", false],
	["int8-1", "int8", false],
])("every metric's default for the recorded classifier %s at %s passes: %s", (run, precision, passes) => {
	const { checks } = judgeRecorded(`classifier-${run}`, "probabilities", precision, everyKind);
	expect(checks.map(({ pass }) => pass)).toEqual(new Array(6).fill(passes));
});

it("the verdict on recorded engines is a match for a half-precision network with half outputs, bit for bit", () => {
	const check = { pass: true, got: 0, elements: 128 };
	expect(judgeRecorded("half-fp32-0", "y", "fp32").checks[0]).toMatchObject(check);
});

it("the verdict on recorded engines is never a match if the network gives NaN, and the golden of it is refused", () => {
	const recorded = ["nan-output-fp32-0", "y"] as const;
	const checks = [{ metric: "non-finite", pass: false }];
	expect(judgeRecorded(...recorded, "fp32")).toMatchObject({ state: "mismatch", checks });
	expect(judgeRecorded(...recorded, "fp32", { nonFinite: "must-match" }).state).toBe("mismatch");
	const y = load(...recorded).expected;
	const found = { kind: "non-finite", output: "y", case: "only" };
	expect(findInsensitive(manifestOf({ y }), [{ y }])).toMatchObject([found]);
});

it("the verdict on recorded engines names the dump of a data-dependent output, which holds 1 of 14 values", () => {
	expect(() => load("data-dependent-fp32-0", "y")).toThrow("112 bytes for int64 [2, 7], got 8");
	const y = zeros("int64", [2, 7]);
	const { checks } = judgeCase(caseInput({ y }, { y: { ...y, data: y.data.subarray(0, 8) } }));
	expect(checks[0]).toMatchObject({ metric: "shape", pass: false });
});
