// Which probes apply, what they send, and the verdicts on engines that are plain functions of their inputs.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProbeName } from "../../../../generated/result.ts";
import {
	type JudgedProbe,
	judgeProbes,
	type ProbeAnswer,
	type ProbeAnswers,
	settleProbes,
} from "../../../../src/core/golden/probes/judge.ts";
import { type ProbePlan, planProbes } from "../../../../src/core/golden/probes/plan.ts";
import { findBatch, type ProbeInput, type ProbeSubject } from "../../../../src/core/golden/probes/subject.ts";
import type { Tensor } from "../../../../src/core/golden/tensor/tensor.ts";
import { float64Reader } from "../../../../src/core/golden/tensor/values.ts";
import { float32 } from "../../../support/golden-tensors.ts";

const input = (name: string, axes: ProbeInput["axes"], more: Partial<ProbeInput> = {}): ProbeInput => ({
	name,
	dtype: "float32",
	axes,
	generator: [{ kind: "normal" }],
	...more,
});

const range = (min: number, opt: number, max: number) => ({ min, opt, max });

function subject(over: Partial<ProbeSubject> = {}): ProbeSubject {
	return {
		inputs: [input("x", ["batch", 3])],
		outputs: [{ name: "y", axes: ["batch", 3] }],
		profiles: [{ batch: range(1, 4, 6) }],
		...over,
	};
}

const rule = { precision: "fp32", cap: 1e-3 } as const;
const ask = (of: ProbeSubject | string, only: readonly ProbeName[] = []): ProbePlan =>
	planProbes(of, { only, donors: [] });

/** What a function of one row gives for a batch. */
type RowFunction = (
	row: readonly number[],
	at: { place: number; batch: readonly (readonly number[])[]; call: number },
) => number[];

function answer(plan: ProbePlan, each: RowFunction): ProbeAnswers {
	return new Map(
		plan.cases.map(({ id, inputs }, call): [string, ProbeAnswer] => {
			const x = inputs["x"]!;
			const values = [...float64Reader(x)(0, x.data.length / 4)];
			const width = x.shape[1]!;
			const batch = Array.from({ length: x.shape[0]! }, (_, row) =>
				values.slice(row * width, (row + 1) * width),
			);
			const outputs = {
				y: float32(
					batch.flatMap((row, place) => each(row, { place, batch, call })),
					x.shape,
				),
			};
			return [id, { state: "done", outputs }];
		}),
	);
}

const states = (judged: readonly JudgedProbe[]): Record<string, string> =>
	Object.fromEntries(judged.map(({ probe, state }) => [probe, state]));

const allOf = (state: string) => ({
	determinism: state,
	"duplicate-rows": state,
	neighbours: state,
	"batch-size": state,
	"profile-ends": state,
});

describe("findBatch", () => {
	const profile = { batch: range(1, 4, 6), n: range(1, 2, 3), rows: range(1, 2, 3), seq: range(8, 16, 32) };
	it.each<[string, ProbeInput[], unknown]>([
		["the dimension that is called so", [input("x", ["batch", 3])], { dim: "batch" }],
		[
			"one that is not the first axis",
			[input("x", ["seq", "batch", 3])],
			{ dim: "batch", axes: new Map([["x", 1]]) },
		],
		[
			"one of some inputs, while others serve all rows",
			[input("x", ["batch", 3]), input("anchors", [9, 4])],
			{ axes: new Map([["x", 0]]) },
		],
		["a letter", [input("x", ["n", 3])], { dim: "n" }],
		["what comes first everywhere", [input("x", ["rows", 3]), input("s", [])], { dim: "rows" }],
		["a fixed size of pictures", [input("x", [3, 1, 8, 8])], { dim: null, range: range(3, 3, 3) }],
		["not a fixed size of anything else", [input("x", [128, 768])], expect.stringMatching(/axis of rows/)],
		["not a sequence that comes first", [input("x", ["seq", 3])], expect.stringMatching(/axis of rows/)],
		[
			"not one that comes first in some inputs only",
			[input("x", ["rows", 3]), input("z", [4, 2])],
			expect.stringMatching(/axis of rows/),
		],
		["not a single row", [input("x", [1, 3, 8, 8])], expect.stringMatching(/axis of rows/)],
		[
			"nothing where the config gives no size",
			[input("x", ["batch_of_mine", 3])],
			expect.stringMatching(/gives no size/),
		],
	])("findBatch tells %s", (_, inputs, expected) => {
		const found = findBatch(subject({ inputs }), profile);
		if (typeof found === "string") expect(found).toEqual(expected);
		else expect(found).toMatchObject(expected as object);
	});
});

describe("planProbes", () => {
	it("planProbes explains why where no inputs can be made", () => {
		expect(ask("No values.").probes.map((probe) => probe.state === "skipped" && probe.why)).toEqual(
			Array(6).fill("No values."),
		);
		expect(ask(subject({ inputs: [input("x", ["batch", "gone"])] })).probes[0]).toMatchObject({
			state: "skipped",
			why: expect.stringMatching(/no size/),
		});
	});

	it("planProbes plans only the selected probes, and the anchor twice", () => {
		const plan = ask(subject(), ["neighbours"]);
		expect(plan.cases.map(({ id }) => id)).toEqual([
			"anchor",
			"neighbours-of-even",
			"neighbours-of-odd",
			"again",
		]);
		expect(plan.probes.map(({ probe }) => probe)).toEqual(["neighbours"]);
	});

	it("planProbes stays within the profile and in the model's shapes", () => {
		const sizes = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.nat(4), fc.nat(4));
		fc.assert(
			fc.property(sizes, sizes, ([min, opt, max], [least, usual, most]) => {
				const batch = range(min, min + opt, Math.max(1, min + opt + max));
				const seq = range(least, least + usual, Math.max(1, least + usual + most));
				const inputs = [
					input("ids", ["batch", "seq"], { dtype: "int64", generator: [{ kind: "tokens", range: [0, 9] }] }),
					input("attention_mask", ["batch", "seq"], { dtype: "int64", generator: [{ kind: "ones" }] }),
				];
				const plan = ask(subject({ inputs, profiles: [{ batch, seq }] }));
				expect(plan.cases.length).toBeGreaterThan(1);
				for (const one of plan.cases) {
					for (const { shape, data } of Object.values(one.inputs)) {
						expect(shape[0]).toBe(one.batch);
						expect(shape[0]).toBeGreaterThanOrEqual(Math.max(1, batch.min));
						expect(shape[0]).toBeLessThanOrEqual(batch.max);
						expect(shape[1]).toBeGreaterThanOrEqual(Math.max(1, seq.min));
						expect(shape[1]).toBeLessThanOrEqual(seq.max);
						expect(data.length).toBe(8 * shape[0]! * shape[1]!);
					}
				}
			}),
			{ numRuns: 60 },
		);
	});

	it("planProbes takes the rows of golden cases, and their sizes", () => {
		const donor = (value: number): Record<string, Tensor> => ({ x: float32([value, value, value], [1, 3]) });
		const plan = planProbes(subject(), { only: ["determinism"], donors: [donor(5), donor(6)] });
		expect([...new Float32Array(plan.cases[0]!.inputs["x"]!.data.buffer)]).toEqual([
			5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6,
		]);
	});

	it("planProbes makes inputs up where one golden row is all there is, or where it is of another type", () => {
		for (const donors of [
			[{ x: float32([1, 2, 3], [1, 3]) }],
			[{ x: { dtype: "int8" as const, shape: [2, 3], data: new Uint8Array(6) } }],
		]) {
			const [first] = planProbes(subject(), { only: ["determinism"], donors }).cases;
			expect(new Set(new Float32Array(first!.inputs["x"]!.data.buffer)).size).toBe(12);
		}
	});

	it("planProbes skips neighbours that cannot be others", () => {
		const plan = ask(subject({ inputs: [input("x", ["batch", 3], { generator: [{ kind: "ones" }] })] }), [
			"neighbours",
		]);
		expect(plan.probes[0]).toMatchObject({
			state: "skipped",
			why: expect.stringMatching(/All rows of its inputs are equal/),
		});
	});

	it("planProbes makes batches smaller than memory, and reports where even one is too large", () => {
		const wide = (columns: number) =>
			ask(
				subject({
					inputs: [input("x", ["batch", columns], { generator: [{ kind: "zeros" }] })],
					outputs: [],
					profiles: [{ batch: range(1, 64, 64) }],
				}),
				["determinism"],
			);
		expect(wide(2 ** 19).cases[0]!.batch).toBeLessThan(64);
		expect(wide(2 ** 25).probes[0]).toMatchObject({ state: "skipped" });
	});

	const mask = (name: string, more: Partial<ProbeInput> = {}) =>
		input(name, ["batch", "seq"], { dtype: "int64", generator: [{ kind: "ones" }], ...more });
	const ids = input("ids", ["batch", "seq"], {
		dtype: "int64",
		generator: [{ kind: "tokens", range: [1, 9] }],
	});
	const profiles = [{ batch: range(1, 2, 4), seq: range(2, 8, 8) }];
	it.each<[string, Partial<ProbeSubject>, string[] | RegExp]>([
		[
			"a mask by its name",
			{ inputs: [ids, mask("attention_mask")] },
			["padding-zeros", "padding-others", "padding-none"],
		],
		[
			"a mask that the config names",
			{ inputs: [ids, mask("keep")], mask: "keep" },
			["padding-zeros", "padding-others", "padding-none"],
		],
		[
			"a length by its name",
			{ inputs: [ids, input("lengths", ["batch"], { dtype: "int32" })] },
			["padding-zeros", "padding-others", "padding-none"],
		],
		[
			"a length that the config names",
			{ inputs: [ids, input("l", ["batch"], { dtype: "int32" })], length: "l" },
			["padding-zeros", "padding-others", "padding-none"],
		],
		[
			"positions that cannot be fewer",
			{ inputs: [ids, mask("attention_mask")], profiles: [{ batch: range(1, 2, 4), seq: range(8, 8, 8) }] },
			["padding-zeros", "padding-others"],
		],
		[
			"no mask that may mean the padding",
			{ inputs: [ids, mask("key_padding_mask")] },
			/No input is named like a mask/,
		],
		[
			"no mask of floats",
			{ inputs: [ids, mask("attention_mask", { dtype: "float32" })] },
			/No input is named like a mask/,
		],
		["a name that is not there", { inputs: [ids], mask: "gone" }, /has no input "gone"/],
		["a mask alone", { inputs: [mask("attention_mask")] }, /No input holds values that could fill/],
	])("planProbes finds padding: %s", (_, over, expected) => {
		const plan = ask(subject({ profiles, ...over }), ["padding"]);
		if (expected instanceof RegExp)
			expect(plan.probes[0]).toMatchObject({ state: "skipped", why: expect.stringMatching(expected) });
		else expect(plan.cases.map(({ id }) => id).filter((id) => id.startsWith("padding"))).toEqual(expected);
	});

	it("planProbes keeps what counts and changes only what does not", () => {
		const plan = ask(subject({ profiles, inputs: [ids, mask("attention_mask")] }), ["padding"]);
		const values = (id: string, name: string) =>
			[...new BigInt64Array(plan.cases.find((one) => one.id === id)!.inputs[name]!.data.slice().buffer)].map(
				Number,
			);
		const [zeros, others] = [values("padding-zeros", "ids"), values("padding-others", "ids")];
		expect(values("padding-zeros", "attention_mask")).toEqual([
			1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0,
		]);
		for (const row of [0, 8]) {
			expect(zeros.slice(row, row + 4)).toEqual(others.slice(row, row + 4));
			expect(zeros.slice(row + 4, row + 8)).toEqual([0, 0, 0, 0]);
			expect(others.slice(row + 4, row + 8)).not.toContain(0);
		}
	});
});

describe("judgeProbes", () => {
	const plan = ask(subject());
	const judge = (each: RowFunction, of = plan) => judgeProbes(of, answer(of, each), rule);

	it("judgeProbes finds nothing in any function of one row", () => {
		fc.assert(
			fc.property(
				fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 3, maxLength: 3 }),
				(weights) => {
					const judged = judge((row) => row.map((value, index) => Math.tanh(value * weights[index]!)));
					expect(states(judged)).toEqual({ ...allOf("agrees"), padding: "skipped" });
					for (const { got, state } of judged) if (state !== "skipped") expect(got).toBe(0);
				},
			),
			{ numRuns: 20 },
		);
	});

	const mean = (batch: readonly (readonly number[])[], index: number) =>
		batch.reduce((sum, row) => sum + row[index]!, 0) / batch.length;
	it.each<[string, RowFunction, Record<string, string>]>([
		[
			"a mean over the batch",
			(row, { batch }) => row.map((value, index) => value - mean(batch, index)),
			{ neighbours: "differs", "batch-size": "differs", "duplicate-rows": "agrees" },
		],
		[
			"the row above alone",
			(row, { batch, place }) => row.map((value, index) => value + (batch[place - 1]?.[index] ?? 0)),
			{ neighbours: "differs" },
		],
		[
			"the row below alone",
			(row, { batch, place }) => row.map((value, index) => value + (batch[place + 1]?.[index] ?? 0)),
			{ neighbours: "differs" },
		],
		[
			"its place",
			(row, { place }) => row.map((value) => value + place),
			{ "duplicate-rows": "differs", neighbours: "agrees" },
		],
		[
			"the size of the batch",
			(row, { batch }) => row.map((value) => value + batch.length),
			{
				"batch-size": "differs",
				"profile-ends": "differs",
				neighbours: "agrees",
				"duplicate-rows": "agrees",
			},
		],
		[
			"chance",
			(row, { call }) => row.map((value) => value + call),
			{ determinism: "differs", "duplicate-rows": "skipped", neighbours: "skipped", "batch-size": "skipped" },
		],
		[
			"no number",
			() => [Number.NaN, Number.NaN, Number.NaN],
			{ determinism: "differs", neighbours: "skipped" },
		],
		[
			"rounding of another order",
			(row, { batch }) => row.map((value) => value * (1 + 1e-4 * batch.length)),
			{ "batch-size": "agrees", "profile-ends": "agrees" },
		],
	])("judgeProbes finds an answer that depends on %s", (_, each, expected) => {
		expect(states(judge(each))).toMatchObject(expected);
	});

	it("judgeProbes forgives others what two runs differ by, and no more", () => {
		const noisy =
			(leak: number): RowFunction =>
			(row, { call, place, batch }) =>
				row.map((value) => value + (place === 0 ? 0 : leak * batch[0]![0]!) + (call % 2) * 2e-5);
		expect(states(judge(noisy(0)))).toMatchObject(allOf("agrees"));
		expect(states(judge(noisy(0.1)))).toMatchObject({ determinism: "agrees", neighbours: "differs" });
	});

	it("judgeProbes reports a size at which the engine fails, and inputs that it refuses", () => {
		const answers = new Map(answer(plan, (row) => [...row]));
		const failing = new Map(answers);
		for (const { id, batch } of plan.cases)
			if (batch === 1) failing.set(id, { state: "failed", message: "no kernel." });
		expect(judgeProbes(plan, failing, rule).find(({ probe }) => probe === "batch-size")).toMatchObject({
			state: "differs",
			got: null,
			message: expect.stringMatching(/no kernel/),
		});
		answers.set("anchor", { state: "failed", message: "an index is out of range." });
		expect(new Set(judgeProbes(plan, answers, rule).map(({ state }) => state))).toEqual(new Set(["skipped"]));
		expect(judgeProbes(plan, answers, rule)[0]?.message).toMatch(
			/failed on the probes' inputs: an index is out of range/,
		);
	});

	it("judgeProbes compares no rows of an output that has none, and never calls that agreement", () => {
		const answers = new Map(
			plan.cases.map(({ id }): [string, ProbeAnswer] => [
				id,
				{ state: "done", outputs: { y: float32([1], []) } },
			]),
		);
		expect(states(judgeProbes(plan, answers, rule))).toMatchObject({
			determinism: "agrees",
			neighbours: "skipped",
			"batch-size": "skipped",
		});
	});

	it("judgeProbes takes any name of an output", () => {
		const named = answer(plan, (row) => [...row]);
		const renamed = new Map(
			[...named].map(([id, one]): [string, ProbeAnswer] => {
				const outputs: Record<string, Tensor> = Object.create(null);
				if (one.state === "done")
					Object.defineProperty(outputs, "__proto__", { value: one.outputs["y"], enumerable: true });
				return [id, { state: "done", outputs }];
			}),
		);
		expect(states(judgeProbes(plan, renamed, rule))).toMatchObject(allOf("agrees"));
	});
});

describe("settleProbes", () => {
	const place = { model: "net", engine: "fp16" };
	const judged = (state: JudgedProbe["state"], got: number | null): JudgedProbe => ({
		probe: "neighbours",
		state,
		got,
		allowed: 1e-4,
		message: "Apart.",
	});
	it.each<[string, JudgedProbe, JudgedProbe | null, string]>([
		["new without a base", judged("differs", 0.1), null, "differs"],
		["new where the base keeps to it", judged("differs", 0.1), judged("agrees", 0), "differs"],
		["known where the base differs as much", judged("differs", 0.1), judged("differs", 0.06), "known"],
		["new where it grew", judged("differs", 0.1), judged("differs", 0.01), "differs"],
		[
			"known where neither gives a number",
			judged("differs", Number.NaN),
			judged("differs", Number.POSITIVE_INFINITY),
			"known",
		],
		["known where neither answers", judged("differs", null), judged("differs", null), "known"],
		["new where the base could not be asked", judged("differs", 0.1), judged("skipped", null), "differs"],
		["an agreement, whatever the base does", judged("agrees", 0), judged("differs", 1), "agrees"],
	])("settleProbes is %s", (_, head, base, expected) => {
		const [settled] = settleProbes([head], base === null ? null : new Map([["neighbours", base]]), place);
		expect(settled).toMatchObject({ ...place, probe: "neighbours", state: expected });
		expect(JSON.parse(JSON.stringify(settled))).toEqual(settled);
	});
});
