// The verdict on a golden case: what passes, what fails, and the messages.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GoldenOutput } from "../../../../generated/golden.ts";
import type { GoldenState, GoldenVerdict } from "../../../../generated/result.ts";
import { type CaseInput, judgeCase } from "../../../../src/core/golden/compare/judge.ts";
import { keepsLimit } from "../../../../src/core/golden/metrics/measured.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float32, float64, int64, manifestOf, modelSha256, zeros } from "../../../support/golden-tensors.ts";

type Outputs = Record<string, Tensor>;

function judge(
	expected: Outputs,
	got: Outputs,
	options: { specs?: Record<string, GoldenOutput> } & Partial<CaseInput> = {},
): GoldenVerdict {
	const { specs, ...rest } = options;
	return judgeCase({
		manifest: manifestOf(expected, specs),
		caseId: "only",
		model: "net",
		engine: "fp16",
		precision: "fp16",
		modelSha256,
		expected,
		got,
		relativeL2: { fp32: 1e-3, fp16: 5e-3 },
		...rest,
	});
}

const golden = float32([1, 2, 3, 4, 5, 6], [2, 3]);

it("judgeCase matches equal outputs and reports how many elements it compared", () => {
	expect(judge({ y: golden }, { y: golden })).toMatchObject({
		state: "match",
		modelChanged: false,
		golden: "net@1",
		checks: [
			{
				output: "y",
				metric: "relative-l2",
				got: 0,
				allowed: 5e-3,
				bound: "at-most",
				pass: true,
				elements: 6,
			},
		],
	});
});

it("judgeCase calls an output beyond the config's limit a mismatch, and names the worst place", () => {
	const verdict = judge({ y: golden }, { y: float32([1, 2, 3, 4, 5.5, 6], [2, 3]) });
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]).toMatchObject({ pass: false, worst: { index: [1, 1], got: 5.5, expected: 5 } });
});

it.each<{ what: string; got: Outputs; metric: string; detail: RegExp }>([
	{ what: "a missing output", got: {}, metric: "missing", detail: /no outputs/ },
	{ what: "an output of another name", got: { z: golden }, metric: "missing", detail: /it has "z"/ },
	{
		what: "another dtype",
		got: { y: float64([1, 2, 3, 4, 5, 6], [2, 3]) },
		metric: "dtype",
		detail: /expected float32, got float64/,
	},
	{
		what: "another shape",
		got: { y: { ...golden, shape: [3, 2] } },
		metric: "shape",
		detail: /expected \[2, 3\], got \[3, 2\]/,
	},
	{ what: "another rank", got: { y: { ...golden, shape: [6] } }, metric: "shape", detail: /got \[6\]/ },
	{
		what: "a truncated buffer",
		got: { y: { ...golden, data: golden.data.subarray(0, 20) } },
		metric: "shape",
		detail: /takes 24 bytes, got 20/,
	},
	{
		what: "an output of a negative size",
		got: { y: { ...golden, shape: [2, -3] } },
		metric: "shape",
		detail: /got \[2, -3\]/,
	},
])("judgeCase fails on $what before any metric", ({ got, metric, detail }) => {
	const verdict = judge({ y: golden }, got);
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]).toMatchObject({ output: "y", metric, got: null, pass: false, severity: "fail" });
	expect(verdict.checks[0]?.detail).toMatch(detail);
});

it("judgeCase fails on an output that the golden does not have", () => {
	const verdict = judge({ y: golden }, { y: golden, extra: golden });
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks.at(-1)).toMatchObject({ output: "extra", metric: "missing", pass: false });
});

it("judgeCase keeps outputs named __proto__ apart from the language's own", () => {
	const named = Object.fromEntries([["__proto__", golden]]);
	expect(judge(named, named).checks[0]).toMatchObject({ output: "__proto__", pass: true, elements: 6 });
	expect(judge(named, {}).state).toBe("mismatch");
	expect(judge({ constructor: golden }, {}).checks[0]?.metric).toBe("missing");
});

it("judgeCase reads maps as well as records", () => {
	expect(judge({ y: golden }, {}, { got: new Map([["y", golden]]) }).state).toBe("match");
});

it("judgeCase passes empty outputs of one shape, but never a case in which nothing was compared", () => {
	const empty = zeros("float32", [0, 4]);
	const both = judge({ y: golden, none: empty }, { y: golden, none: empty });
	expect(both.state).toBe("match");
	expect(both.checks[1]).toMatchObject({ output: "none", pass: true, elements: 0, got: null });
	expect(judge({ none: empty }, { none: empty })).toMatchObject({
		state: "error",
		message: expect.stringContaining("Nothing was compared"),
	});
	expect(judge({ none: empty }, { none: zeros("float32", [1, 4]) }).state).toBe("mismatch");
});

it("judgeCase compares integers and bools exactly where the golden names no comparator", () => {
	const ids = int64([2n ** 53n, 7n]);
	expect(judge({ ids }, { ids }).checks[0]).toMatchObject({ metric: "allclose", allowed: 0, pass: true });
	const verdict = judge({ ids }, { ids: int64([2n ** 53n + 1n, 7n]) });
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]?.detail).toBe(
		"1 of 2 elements are out of tolerance; expected 9007199254740992, got 9007199254740993",
	);
	const mask: Tensor = { dtype: "bool", shape: [3], data: Uint8Array.of(1, 0, 1) };
	expect(judge({ mask }, { mask: { ...mask, data: Uint8Array.of(1, 1, 1) } }).state).toBe("mismatch");
	expect(judge({ mask }, { mask: { ...mask, data: Uint8Array.of(255, 0, 1) } }).state).toBe("match");
});

it("judgeCase judges the worst sample where the golden has a batch axis, and names it", () => {
	const rows = 32;
	const expected = float32(
		Array.from({ length: rows * 8 }, (_, i) => 1 + (i % 5)),
		[rows, 8],
	);
	const values = new Float32Array(expected.data.slice().buffer);
	values.fill(0, 17 * 8, 18 * 8);
	const got = float32([...values], [rows, 8]);
	const comparators: GoldenOutput["comparators"] = [{ kind: "cosine", tolerance: 0.9 }];
	expect(judge({ y: expected }, { y: got }, { specs: { y: { comparators } } }).state).toBe("match");
	const verdict = judge({ y: expected }, { y: got }, { specs: { y: { comparators, batchAxis: 0 } } });
	expect(verdict.state).toBe("mismatch");
	expect(verdict.checks[0]).toMatchObject({ sample: 17, got: 0, elements: rows * 8 });
	expect(verdict.checks[0]?.worst?.index[0]).toBe(17);
});

it.each([0, 1, 2])(
	"judgeCase fails on a metric that is not defined in sample %i, whatever the others say",
	(broken) => {
		const rows = [0.25, 0.75, 0.25, 0.75, 0.25, 0.75];
		const expected = float32(rows, [3, 2]);
		const got = float32(
			rows.map((value, index) => (Math.floor(index / 2) === broken ? value + 1 : value)),
			[3, 2],
		);
		const comparators: GoldenOutput["comparators"] = [{ kind: "kl", tolerance: 1e9 }];
		const verdict = judge(
			{ y: expected },
			{ y: got },
			{ specs: { y: { semantic: "probabilities", batchAxis: 0, comparators } } },
		);
		expect(verdict.state).toBe("mismatch");
		expect(verdict.checks[0]).toMatchObject({ sample: broken, got: "NaN", pass: false });
	},
);

it("judgeCase lets NaN keep no limit, either way", () => {
	for (const bound of ["at-most", "at-least"] as const) {
		expect(keepsLimit(Number.NaN, bound, 1)).toBe(false);
		expect(keepsLimit(1, bound, Number.NaN)).toBe(false);
		expect(keepsLimit(1, bound, 1)).toBe(true);
	}
});

it("judgeCase cuts samples along inner axes too", () => {
	const expected = float32([1, 2, 3, 4, 5, 6], [2, 3]);
	const got = float32([1, 2, 3, 4, 9, 6], [2, 3]);
	const verdict = judge({ y: expected }, { y: got }, { specs: { y: { batchAxis: 1 } } });
	expect(verdict.checks[0]).toMatchObject({ sample: 1, worst: { index: [1, 1], got: 9, expected: 5 } });
	expect(verdict.checks[0]?.got).toBeCloseTo(4 / Math.hypot(2, 5), 12);
});

it("judgeCase evaluates warnings and failures separately", () => {
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "max-abs", tolerance: 0.1, severity: "warn" },
		{ kind: "relative-l2", tolerance: 0.5 },
	];
	const verdict = judge(
		{ y: golden },
		{ y: float32([1, 2, 3, 4, 5, 6.5], [2, 3]) },
		{ specs: { y: { comparators } } },
	);
	expect(verdict.state).toBe("match");
	expect(verdict.checks.map((check) => check.pass)).toEqual([false, true]);
});

it("judgeCase takes the tolerance of its precision, the config's, or the default, in this order", () => {
	const comparators: GoldenOutput["comparators"] = [
		{ kind: "relative-l2", tolerance: { fp16: 0.25, int8: 0.5 } },
		{ kind: "cosine" },
	];
	const allowed = (precision: CaseInput["precision"]): (number | null)[] =>
		judge({ y: golden }, { y: golden }, { specs: { y: { comparators } }, precision }).checks.map(
			(check) => check.allowed,
		);
	expect(allowed("fp16")).toEqual([0.25, 0.9999]);
	expect(allowed("int8")).toEqual([0.5, 0.99]);
	expect(allowed("fp32")).toEqual([1e-3, 0.99999]);
	expect(allowed("fp8")).toEqual([0.1, 0.99]);
});

describe("with NaN or infinities", () => {
	const holed = float32([1, Number.NaN, 3, Number.POSITIVE_INFINITY, 5, Number.NEGATIVE_INFINITY], [2, 3]);
	const mustMatch = { y: { nonFinite: "must-match" } } as const;

	it("judgeCase with NaN or infinities fails a golden that contains them unless it allows them", () => {
		expect(judge({ y: holed }, { y: holed })).toMatchObject({
			state: "mismatch",
			checks: [{ metric: "non-finite", pass: false }],
		});
	});

	it("judgeCase with NaN or infinities passes them at the same places and compares the rest", () => {
		const verdict = judge({ y: holed }, { y: holed }, { specs: mustMatch });
		expect(verdict.state).toBe("match");
		expect(verdict.checks).toMatchObject([
			{ metric: "non-finite", pass: true, got: 0 },
			{ metric: "relative-l2", pass: true, elements: 3 },
		]);
	});

	it("judgeCase with NaN or infinities fails an infinity of the other sign and names the place", () => {
		const other = float32([1, Number.NaN, 3, Number.NEGATIVE_INFINITY, 5, Number.NEGATIVE_INFINITY], [2, 3]);
		const verdict = judge({ y: holed }, { y: other }, { specs: mustMatch });
		expect(verdict.state).toBe("mismatch");
		expect(verdict.checks[0]).toMatchObject({
			worst: { index: [1, 0], got: "-Infinity", expected: "Infinity" },
		});
	});

	it("judgeCase with NaN or infinities never matches a golden of nothing else", () => {
		const nothing = float32([Number.NaN, Number.NaN]);
		const verdict = judge({ y: nothing }, { y: nothing }, { specs: mustMatch });
		expect(verdict.state).toBe("mismatch");
		expect(verdict.checks.at(-1)).toMatchObject({ pass: false, elements: 0, got: null });
	});

	it("judgeCase with NaN or infinities fails each kind of comparator when the engine puts one anywhere", () => {
		const kinds = ["relative-l2", "max-abs", "allclose", "cosine", "top-k", "kl"] as const;
		const arbitrary = fc.record({
			length: fc.integer({ min: 1, max: 9 }),
			place: fc.nat(),
			value: fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
			kind: fc.constantFrom(...kinds),
			wide: fc.boolean(),
			nonFinite: fc.constantFrom("reject" as const, "must-match" as const),
			batchAxis: fc.constantFrom(0, null),
		});
		fc.assert(
			fc.property(arbitrary, ({ length, place, value, kind, wide, nonFinite, batchAxis }) => {
				const values = Array.from({ length: 2 * length }, (_, index) => index + 1);
				const make = wide ? float64 : float32;
				const broken = [...values];
				broken[place % values.length] = value;
				const specs = {
					y: {
						nonFinite,
						batchAxis,
						comparators: [
							{ kind, tolerance: kind === "cosine" || kind === "top-k" ? 0 : 1e9, input: "logits" as const },
						] as const,
					},
				};
				const shape = [2, length];
				const verdict = judge(
					{ y: make(values, shape) },
					{ y: make(broken, shape) },
					{ specs: specs as unknown as Record<string, GoldenOutput> },
				);
				expect(verdict.state).toBe("mismatch");
			}),
		);
	});
});

describe("with a base engine", () => {
	it("judgeCase with a base engine reports the base's own error beside the head's, and never judges by it", () => {
		const off = float32([1, 2, 3, 4, 5, 7], [2, 3]);
		const verdict = judge({ y: golden }, { y: golden }, { base: { y: off } });
		expect(verdict.state).toBe("match");
		expect(verdict.checks[0]?.base).toBeCloseTo(1 / Math.sqrt(91), 12);
		const both = judge({ y: golden }, { y: off }, { base: { y: off } });
		expect(both).toMatchObject({ state: "existing", checks: [{ existing: true, severity: "fail" }] });
	});

	const nan = float32([1, 2, 3, 4, 5, Number.NaN], [2, 3]);
	const short = float32([1, 2], [2]);
	it.each<[string, Outputs, Outputs, GoldenState]>([
		["has an output of another shape", { y: short }, { y: short }, "existing"],
		["has an output of another shape than the base's", { y: short }, { y: float32([1], [1]) }, "mismatch"],
		["lacks an output", {}, {}, "existing"],
		["lacks an output that the base has", {}, { y: golden }, "mismatch"],
		["gives NaN", { y: nan }, { y: nan }, "existing"],
		["gives NaN where the base does not", { y: nan }, { y: golden }, "mismatch"],
		["has one more output", { y: golden, z: short }, { y: golden, z: short }, "existing"],
		["has one more output than the base", { y: golden, z: short }, { y: golden }, "mismatch"],
	])(
		"judgeCase with a base engine blames the change only for what the base passes, where the head %s",
		(_, head, base, state) => {
			expect(judge({ y: golden }, head, { base }).state).toBe(state);
		},
	);

	it("judgeCase with a base engine fails a case that head and base both fail only where the head is far worse", () => {
		const specs: Record<string, GoldenOutput> = {
			y: {
				comparators: [
					{ kind: "relative-l2", tolerance: 1e-6 },
					{ kind: "max-abs", tolerance: 1e-6 },
				],
			},
		};
		const at = (off: number) => float32([1, 2, 3, 4, 5, 6 + off], [2, 3]);
		const states = [0.1, 0.15, 0.5, 1.5].map((off) => {
			const { state, checks } = judge({ y: golden }, { y: at(off) }, { base: { y: at(0.1) }, specs });
			return [
				state,
				...checks.filter(({ metric }) => metric === "error-growth").map(({ severity }) => severity),
			];
		});
		expect(states).toEqual([
			["existing"],
			["existing"],
			["existing", "warn", "warn"],
			["mismatch", "fail", "fail"],
		]);
	});

	it("judgeCase with a base engine says null where the base gave nothing to compare, and NaN where it gave NaN", () => {
		expect(
			judge({ y: golden }, { y: golden }, { base: { y: zeros("float32", [1]) } }).checks[0]?.base,
		).toBeNull();
		expect(
			judge({ y: golden }, { y: golden }, { base: { y: float32([1, 2, 3, 4, 5, Number.NaN], [2, 3]) } })
				.checks[0]?.base,
		).toBe("NaN");
		expect(judge({ y: golden }, { y: golden }).checks[0]).not.toHaveProperty("base");
	});
});

describe("with a base engine of another precision", () => {
	const at = (off: number) => float32([1, 2, 3, 4, 5, 6 + off], [2, 3]);
	const l2 = (error: number) => error * Math.sqrt(91);
	const of = (head: number, base: number, options: Partial<CaseInput> = {}) =>
		judge(
			{ y: golden },
			{ y: at(l2(head)) },
			{ base: { y: at(l2(base)) }, precision: "fp16", basePrecision: "fp32", ...options },
		);

	it("judgeCase judges the base by its own limit: what the base's precision forbids is no failure of the head's", () => {
		// 5e-3 for fp16, 1e-3 for fp32.
		const verdict = of(4e-3, 2e-3);
		expect(verdict.state).toBe("match");
		expect(verdict.checks[0]).toMatchObject({ allowed: 5e-3, baseAllowed: 1e-3, pass: true });
	});

	it("judgeCase calls only that an old failure which the base's own limit forbids as well", () => {
		expect(of(0.02, 0.0005).state).toBe("mismatch");
		expect(of(0.02, 0.002).state).toBe("existing");
		expect(
			judge({ y: golden }, { y: at(l2(0.02)) }, { base: { y: at(l2(0.002)) }, precision: "fp16" }).state,
		).toBe("mismatch");
	});

	it("judgeCase only warns of growth that a lower precision explains, up to the head's limit", () => {
		const growth = (verdict: GoldenVerdict) =>
			verdict.checks.filter(({ metric }) => metric === "error-growth");
		const grown = of(4e-3, 1e-5);
		expect(grown.state).toBe("match");
		expect(growth(grown).map(({ severity, pass }) => [severity, pass])).toEqual([["warn", false]]);
		const same = of(4e-3, 1e-5, { basePrecision: undefined });
		expect(same.state).toBe("mismatch");
		expect(growth(same).map(({ severity }) => severity)).toContain("fail");
		expect(of(6e-3, 1e-5).state).toBe("mismatch");
	});

	it("judgeCase calls nothing growth that the rounding of the head's precision explains", () => {
		const metrics = (verdict: GoldenVerdict) => verdict.checks.map(({ metric }) => metric);
		expect(metrics(of(2e-4, 1e-5))).not.toContain("error-growth");
		expect(metrics(of(2e-4, 1e-5, { basePrecision: undefined }))).toContain("error-growth");
	});

	it("judgeCase reports no limit of the base where both sides have one precision", () => {
		const { checks } = judge({ y: golden }, { y: golden }, { base: { y: golden } });
		expect(checks[0]?.baseAllowed).toBeUndefined();
	});
});

it("judgeCase lets the base excuse no failure of a case that its own golden lacks", () => {
	const off = float32([1, 2, 3, 4, 5, 7], [2, 3]);
	const both = { base: { y: off } };
	expect(judge({ y: golden }, { y: off }, both)).toMatchObject({
		state: "existing",
		checks: [{ existing: true }],
	});
	const isNew = judge({ y: golden }, { y: off }, { ...both, isNewCase: true });
	expect(isNew.state).toBe("mismatch");
	expect(isNew.checks.every((check) => !("existing" in check))).toBe(true);
	expect(judge({ y: golden }, {}, { base: {}, isNewCase: true }).state).toBe("mismatch");
	expect(judge({ y: golden }, { y: golden }, { ...both, isNewCase: true }).state).toBe("match");
});

describe("with another model than the golden's", () => {
	const other = { modelSha256: "c".repeat(64) };

	it("judgeCase with another model than the golden's compares anyway by default, and reports it", () => {
		const match = judge({ y: golden }, { y: golden }, other);
		expect(match).toMatchObject({
			state: "match",
			modelChanged: true,
			message: expect.stringContaining("aaaaaaa…, this one is ccccccc…"),
		});
		const mismatch = judge({ y: golden }, { y: zeros("float32", [2, 3]) }, other);
		expect(mismatch).toMatchObject({
			state: "mismatch",
			message: expect.stringContaining("or record the golden again"),
		});
	});

	it.each(["warn", "fail"] as const)(
		"judgeCase with another model than the golden's calls the golden stale without judging where its policy is %s",
		(onModelChange) => {
			const manifest = { ...manifestOf({ y: golden }), policy: { onModelChange } };
			const verdict = judge({ y: golden }, {}, { ...other, manifest });
			expect(verdict).toMatchObject({
				state: "stale",
				severity: onModelChange,
				modelChanged: true,
				checks: [],
			});
			expect(judge({ y: golden }, { y: golden }, { manifest }).state).toBe("match");
		},
	);
});

it("judgeCase raises a bug for a case or a tensor that the caller did not bring", () => {
	expect(() => judge({ y: golden }, { y: golden }, { caseId: "other" })).toThrow("has no case other");
	expect(() => judge({ y: golden }, { y: golden }, { expected: {} })).toThrow("was not read");
});
