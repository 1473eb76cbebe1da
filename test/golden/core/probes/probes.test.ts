import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProbeName } from "../../../../generated/result.ts";
import { pick, upTo } from "../../../../src/golden/core/probes/context.ts";
import { allowance, distanceBetween } from "../../../../src/golden/core/probes/distance.ts";
import {
	type JudgedProbe,
	judgeProbes,
	type ProbeAnswer,
	settleProbes,
} from "../../../../src/golden/core/probes/judge.ts";
import { type ProbePlan, planProbes } from "../../../../src/golden/core/probes/plan.ts";
import {
	findBatch,
	type ProbeInput,
	type ProbeSubject,
	sizePoints,
} from "../../../../src/golden/core/probes/subject.ts";
import { joinTensors, sliceTensor, type Tensors } from "../../../../src/golden/core/tensor/tensor.ts";
import { float64Reader } from "../../../../src/golden/core/tensor/values.ts";
import { float32, int64, type Tensor } from "../../../support/golden-tensors.ts";

const input = (name: string, axes: ProbeInput["axes"], more: Partial<ProbeInput> = {}): ProbeInput => ({
	...{ name, dtype: "float32", axes, generator: [{ kind: "normal" }] },
	...more,
});

const range = (min: number, opt: number, max: number) => ({ min, opt, max });

function subject(over: Partial<ProbeSubject> = {}): ProbeSubject {
	return {
		inputs: [input("x", ["batch", 3])],
		outputs: [{ name: "y", axes: ["batch", 3] }],
		profiles: [{ batch: range(1, 4, 6) }],
		streams: 2,
		isRefittable: false,
		...over,
	};
}

const rule = { precision: "fp32", cap: 1e-3 } as const;
const ask = (of: ProbeSubject | string, only: ProbeName[] = [], donors: Tensors[] = []) =>
	planProbes(of, { only, donors, precision: "fp32" });

type RowFunction = (row: number[], at: { place: number; batch: number[][]; call: number }) => number[];

function answer(plan: ProbePlan, each: RowFunction): Map<string, ProbeAnswer> {
	return new Map(
		plan.cases.map(({ id, inputs }, call): [string, ProbeAnswer] => {
			const x = inputs["x"]!;
			const values = [...float64Reader(x)(0, x.data.length / 4)];
			const width = x.shape[1]!;
			const batch = Array.from({ length: x.shape[0]! }, (_, row) =>
				values.slice(row * width, (row + 1) * width),
			);
			const answers = batch.flatMap((row, place) => each(row, { place, batch, call }));
			return [id, { state: "done", outputs: { y: float32(answers, x.shape) } }];
		}),
	);
}

const states = (judged: JudgedProbe[]): Record<string, string> =>
	Object.fromEntries(judged.map(({ probe, state }) => [probe, state]));

const rowProbes = [
	"determinism",
	"order",
	"streams",
	"duplicate-rows",
	"neighbours",
	"batch-size",
	"profile-sizes",
] as const;
const none = { padding: "skipped", refit: "skipped" };
const allOf = (state: string) => Object.fromEntries(rowProbes.map((name) => [name, state]));
const matching = (words: RegExp) => expect.stringMatching(words);

describe("findBatch", () => {
	const profile = { batch: range(1, 4, 6), n: range(1, 2, 3), rows: range(1, 2, 3), seq: range(8, 16, 32) };
	const x = (...axes: ProbeInput["axes"]) => input("x", axes);
	const none = matching(/axis of rows/);
	it.each<[string, ProbeInput[], unknown]>([
		["the dimension called so", [x("batch", 3)], { dim: "batch" }],
		["one that is not the first axis", [x("seq", "batch", 3)], { dim: "batch", axes: new Map([["x", 1]]) }],
		["one of some inputs", [x("batch", 3), input("anchors", [9, 4])], { axes: new Map([["x", 0]]) }],
		["a letter", [x("n", 3)], { dim: "n" }],
		["what comes first everywhere", [x("rows", 3), input("s", [])], { dim: "rows" }],
		["a fixed size of pictures", [x(3, 1, 8, 8)], { dim: null, range: range(3, 3, 3) }],
		["no fixed size of anything else", [x(128, 768)], none],
		["no sequence that comes first", [x("seq", 3)], none],
		["nothing that comes first in some inputs only", [x("rows", 3), input("z", [4, 2])], none],
		["no single row", [x(1, 3, 8, 8)], none],
		["nothing if the config gives no size", [x("batch_of_mine", 3)], matching(/gives no size/)],
	])("takes %s", (_, inputs, expected) => {
		const found = findBatch(subject({ inputs }), profile);
		if (typeof found === "string") expect(found).toEqual(expected);
		else expect(found).toMatchObject(expected as object);
	});
});

it.each([
	[range(160, 320, 640), [160, 256, 320, 480, 640]],
	[range(1, 4, 8), [1, 3, 4, 6, 8]],
	[range(0, 4, 8), [1, 3, 4, 6, 8]],
	[range(96, 96, 96), [96, 96, 96, 96, 96]],
])("sizes between share the multiple of %o", (given, expected) => {
	const { min, low, opt, high, max } = sizePoints(given);
	expect([min, low, opt, high, max]).toEqual(expected);
});

describe("planProbes", () => {
	it("gives the reason if no inputs can be made", () => {
		expect(ask("No values.").probes.map((probe) => probe.state === "skipped" && probe.why)).toEqual(
			Array(9).fill("No values."),
		);
		const [first] = ask(subject({ inputs: [input("x", ["batch", "gone"])] })).probes;
		expect(first).toMatchObject({ state: "skipped", why: matching(/no size/) });
	});

	it("plans only the selected probes, and the anchor twice", () => {
		const plan = ask(subject(), ["neighbours"]);
		const ids = ["anchor", "again", "nudged", "neighbours-of-even", "neighbours-of-odd"];
		expect(plan.cases.map(({ id }) => id)).toEqual(ids);
		expect(plan.probes.map(({ probe }) => probe)).toEqual(["neighbours"]);
	});

	it("stays within the profile and in the model's shapes", () => {
		const sizes = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.nat(4), fc.nat(4));
		const within = (size: number | undefined, { min, max }: ReturnType<typeof range>) => {
			expect(size).toBeGreaterThanOrEqual(Math.max(1, min));
			expect(size).toBeLessThanOrEqual(max);
		};
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
						within(shape[0], batch);
						within(shape[1], seq);
						expect(data.length).toBe(8 * shape[0]! * shape[1]!);
					}
				}
			}),
			{ numRuns: 60 },
		);
	});

	const floatsOf = ({ cases: [first] }: ProbePlan) => [...new Float32Array(first!.inputs["x"]!.data.buffer)];

	it("takes the rows of golden cases, and their sizes", () => {
		const donors = [5, 6].map((value) => ({ x: float32([value, value, value], [1, 3]) }));
		const plan = ask(subject(), ["determinism"], donors);
		expect(floatsOf(plan)).toEqual([5, 5, 5, 6, 6, 6, 5, 5, 5, 6, 6, 6]);
	});

	it.each<[string, Tensor]>([
		["one golden row is all there is", float32([1, 2, 3], [1, 3])],
		["the golden is of another type", { dtype: "int8", shape: [2, 3], data: new Uint8Array(6) }],
	])("generates inputs if %s", (_, x) => {
		expect(new Set(floatsOf(ask(subject(), ["determinism"], [{ x }]))).size).toBe(12);
	});

	it("asks each size for the batches at the same point too", () => {
		const profiles = [{ batch: range(1, 8, 32), seq: range(4, 16, 64) }];
		const x = input("x", ["batch", "seq"]);
		const { cases } = ask(subject({ inputs: [x], profiles }), ["profile-sizes"]);
		const sizes = cases.map(({ inputs: { x: sent } }) => sent!.shape.join(" "));
		for (const point of ["1 4", "5 12", "8 16", "20 40", "32 64"]) expect(sizes).toContain(point);
	});

	it("skips neighbours that cannot be others", () => {
		const ones = input("x", ["batch", 3], { generator: [{ kind: "ones" }] });
		const skipped = { state: "skipped", why: matching(/All rows of its inputs are equal/) };
		expect(ask(subject({ inputs: [ones] }), ["neighbours"]).probes[0]).toMatchObject(skipped);
	});

	it("makes batches smaller than memory, and says so if even one is too large", () => {
		const wide = (columns: number) => {
			const x = input("x", ["batch", columns], { generator: [{ kind: "zeros" }] });
			const profiles = [{ batch: range(1, 64, 64) }];
			return ask(subject({ inputs: [x], outputs: [], profiles }), ["determinism"]);
		};
		expect(wide(2 ** 19).cases[0]!.batch).toBeLessThan(64);
		expect(wide(2 ** 25).probes[0]).toMatchObject({ state: "skipped" });
	});

	const mask = (name: string, more: Partial<ProbeInput> = {}) =>
		input(name, ["batch", "seq"], { dtype: "int64", generator: [{ kind: "ones" }], ...more });
	const ids = mask("ids", { generator: [{ kind: "tokens", range: [1, 9] }] });
	const length = (name: string) => input(name, ["batch"], { dtype: "int32" });
	const profiles = [{ batch: range(1, 2, 4), seq: range(2, 8, 8) }];
	const full = [{ batch: range(1, 2, 4), seq: range(8, 8, 8) }];
	const all = ["padding-zeros", "padding-others", "padding-none"];
	const noName = /No input is named like a mask/;
	it.each<[string, Partial<ProbeSubject>, string[] | RegExp]>([
		["a mask by its name", { inputs: [ids, mask("attention_mask")] }, all],
		["a mask that the config names", { inputs: [ids, mask("keep")], mask: "keep" }, all],
		["a length by its name", { inputs: [ids, length("lengths")] }, all],
		["a length that the config names", { inputs: [ids, length("l")], length: "l" }, all],
		["fixed positions", { inputs: [ids, mask("attention_mask")], profiles: full }, all.slice(0, 2)],
		["no mask that may mean the padding", { inputs: [ids, mask("key_padding_mask")] }, noName],
		["no mask of floats", { inputs: [ids, mask("attention_mask", { dtype: "float32" })] }, noName],
		["no absent input", { inputs: [ids], mask: "gone" }, /has no input "gone"/],
		["no mask alone", { inputs: [mask("attention_mask")] }, /No input holds values that could fill/],
	])("finds padding: %s", (_, over, expected) => {
		const plan = ask(subject({ profiles, ...over }), ["padding"]);
		if (expected instanceof RegExp)
			expect(plan.probes[0]).toMatchObject({ state: "skipped", why: matching(expected) });
		else expect(plan.cases.map(({ id }) => id).filter((id) => id.startsWith("padding"))).toEqual(expected);
	});

	it.each<[ProbeInput["axes"], number[] | RegExp]>([
		[
			["batch", 80, "seq"],
			[2, 80, 4],
		],
		[
			["batch", "features", "seq"],
			[2, 3, 4],
		],
		[
			["batch", "seq", 80],
			[2, 4, 80],
		],
		[
			["batch", 8],
			[2, 8],
		],
		[["batch", 80, 64], /has no axis of positions/],
	])("takes for positions what is no feature: %j", (axes, expected) => {
		const inputs = [input("x", axes), length("length")];
		const sized = [{ ...profiles[0]!, features: range(3, 3, 3) }];
		const { cases, probes } = ask(subject({ profiles: sized, inputs }), ["padding"]);
		if (expected instanceof RegExp)
			expect(probes[0]).toMatchObject({ state: "skipped", why: matching(expected) });
		else {
			const last = cases.filter(({ id }) => id.startsWith("padding")).at(-1)!;
			expect(last.inputs["x"]!.shape).toEqual(expected);
		}
	});

	it("keeps what counts and changes only the padding", () => {
		const plan = ask(subject({ profiles, inputs: [ids, mask("attention_mask")] }), ["padding"]);
		const values = (id: string, name: string) => {
			const { data } = plan.cases.find((one) => one.id === id)!.inputs[name]!;
			return [...new BigInt64Array(data.slice().buffer)].map(Number);
		};
		const [zeros, others] = [values("padding-zeros", "ids"), values("padding-others", "ids")];
		const half = [1, 1, 1, 1, 0, 0, 0, 0];
		expect(values("padding-zeros", "attention_mask")).toEqual([...half, ...half]);
		for (const row of [0, 8]) {
			expect(zeros.slice(row, row + 4)).toEqual(others.slice(row, row + 4));
			expect(zeros.slice(row + 4, row + 8)).toEqual([0, 0, 0, 0]);
			expect(others.slice(row + 4, row + 8)).not.toContain(0);
		}
	});
});

describe("judgeProbes", () => {
	const plan = ask(subject());
	const judge = (each: RowFunction) => judgeProbes(plan, answer(plan, each), rule);

	it("finds nothing in any function of one row", () => {
		const weights = fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 3, maxLength: 3 });
		fc.assert(
			fc.property(weights, (factors) => {
				const judged = judge((row) => row.map((value, index) => Math.tanh(value * factors[index]!)));
				expect(states(judged)).toEqual({ ...allOf("agrees"), ...none });
				for (const { got, state } of judged) if (state !== "skipped") expect(got).toBe(0);
			}),
			{ numRuns: 20 },
		);
	});

	it.each([
		["their own", 0, "agrees", range(4, 20, 20)],
		["the padding", 1, "differs", range(4, 20, 20)],
		["their own", 0, "agrees", range(20, 20, 20)],
		["the padding", 1, "differs", range(20, 20, 20)],
	])("compares frames of several positions that read %s", (_, leak, state, time) => {
		const x = input("x", ["batch", "time"]);
		const length = input("length", ["batch"], { dtype: "int64" });
		const profiles = [{ batch: range(1, 2, 2), time }];
		const outputs = [{ name: "y", axes: ["batch", "frames"] }];
		const plan = ask(subject({ inputs: [x, length], outputs, profiles }), ["padding"]);
		const answers = plan.cases.map(({ id, inputs }): [string, ProbeAnswer] => {
			const { shape, data } = inputs["x"]!;
			const [rows, width] = shape as [number, number];
			const values = float64Reader(inputs["x"]!)(0, data.length / 4);
			const frames = Math.ceil(width / 4);
			const y = upTo(rows * frames).map((at) => {
				const row = Math.floor(at / frames) * width;
				return values[row + 4 * (at % frames)]! + leak * values[row + width - 1]!;
			});
			return [id, { state: "done", outputs: { y: float32(y, [rows, frames]) } }];
		});
		expect(states(judgeProbes(plan, new Map(answers), rule))).toEqual({ padding: state });
	});

	it("finds rows that mix in a quantised network that rounding moves far", () => {
		const int8 = planProbes(subject(), { only: [], donors: [], precision: "int8" });
		const mixed = answer(int8, (row, { place, batch }) => {
			const other = batch[(place + 1) % batch.length]!;
			return row.map((value, index) => Math.sin(300 * value) + 0.3 * other[index]!);
		});
		const judged = judgeProbes(int8, mixed, { precision: "int8", cap: 0.05 });
		expect(states(judged)).toMatchObject({ determinism: "agrees", neighbours: "differs" });
	});

	it("finds what an engine remembers, and at which sizes", () => {
		let last = 0;
		const remembers = judge((row, { batch, place }) => {
			const stale = last > batch.length ? 1 : 0;
			if (place === batch.length - 1) last = batch.length;
			return row.map((value) => value + stale);
		});
		expect(states(remembers)).toMatchObject({ determinism: "agrees", order: "differs" });
		const message = matching(/^Answers before and after other inputs at x \d+×\d+ are .* apart in "y"/);
		expect(remembers.find(({ probe }) => probe === "order")).toMatchObject({ message });
	});

	it("finds a size at which values overflow", () => {
		const judged = judge((row, { batch }) => row.map((value) => (batch.length === 6 ? 1 / 0 : value)));
		const found = judged.find(({ probe }) => probe === "profile-sizes");
		expect(found).toMatchObject({
			state: "differs",
			got: Infinity,
			message: matching(/^At batch 1 and 6 "y" holds values that are not finite/),
		});
		expect(states(judge((row) => row.map(() => 1 / 0)))).toMatchObject({ "profile-sizes": "skipped" });
	});

	it.each([
		["low", "agrees", /refuses some sizes between/],
		["min", "differs", /^The engine failed at a size within its profile: no/],
	])("lets the network refuse no size that was given: %s", (point, state, words) => {
		const inputs = [input("x", ["batch", "seq"])];
		const sized = ask(subject({ inputs, profiles: [{ batch: range(1, 4, 6), seq: range(8, 16, 32) }] }));
		const answers = answer(sized, (row) => row);
		for (const id of answers.keys())
			if (id.startsWith(`profile-0-${point}`))
				answers.set(id, { state: "failed", message: "no", code: "shape" });
		const found = judgeProbes(sized, answers, rule).find(({ probe }) => probe === "profile-sizes");
		expect(found).toMatchObject({ state, message: matching(words) });
	});

	it("forgives choices that rounding decides, but not a leak beside them", () => {
		const chosen = (row: readonly number[]) => row.map((value) => Math.sign(Math.sin(1e5 * value)));
		const rounded: RowFunction = (row, { batch }) => chosen(row.map((x) => x * (1 + 1e-6 * batch.length)));
		expect(states(judge(rounded))).toMatchObject({ "batch-size": "agrees", "profile-sizes": "agrees" });
		const judged = judge((row, { call }) => chosen(row.map((x) => x + call)));
		expect(states(judged)).toMatchObject({ determinism: "differs" });
	});

	it("asks nothing of one process where each case had its own", () => {
		const judged = judgeProbes(
			plan,
			answer(plan, (row) => [...row]),
			rule,
			true,
		);
		expect(states(judged)).toEqual({ ...allOf("agrees"), order: "skipped", streams: "skipped", ...none });
	});

	it("refits after everything else, and tells a failure", () => {
		const plan = ask(subject({ isRefittable: true }), ["refit"]);
		const ids = ["anchor", "again", "nudged", "refit-1", "refitted", "refit-2", "refit-3", "refitted-back"];
		expect(plan.cases.map(({ id }) => id)).toEqual(ids);
		const answers = new Map(
			answer({ ...plan, cases: plan.cases.filter(({ refit }) => !refit) }, (row) => [...row]),
		);
		for (const id of ["refit-1", "refit-2", "refit-3"]) answers.set(id, { state: "done", outputs: {} });
		expect(judgeProbes(plan, answers, rule)[0]).toMatchObject({ state: "agrees", got: 0 });
		const failed = (code: string) => {
			const changed = new Map(answers).set("refit-3", { state: "failed", message: "no weights", code });
			return judgeProbes(plan, changed, rule)[0];
		};
		expect(failed("refit")).toMatchObject({
			state: "differs",
			message: matching(/cannot be refitted: no weights/),
		});
		expect(failed("refit-missing")).toMatchObject({ state: "skipped" });
	});

	const mean = (batch: number[][], index: number) =>
		batch.reduce((sum, row) => sum + row[index]!, 0) / batch.length;
	const besideBy =
		(step: number): RowFunction =>
		(row, { batch, place }) =>
			row.map((value, index) => value + (batch[place + step]?.[index] ?? 0));
	it.each<[string, RowFunction, Record<string, string>]>([
		[
			"a mean over the batch",
			(row, { batch }) => row.map((value, index) => value - mean(batch, index)),
			{ neighbours: "differs", "batch-size": "differs", "duplicate-rows": "agrees" },
		],
		["the row above alone", besideBy(-1), { neighbours: "differs" }],
		["the row below alone", besideBy(1), { neighbours: "differs" }],
		[
			"its place",
			(row, { place }) => row.map((value) => value + place),
			{ "duplicate-rows": "differs", neighbours: "agrees" },
		],
		[
			"the size of the batch",
			(row, { batch }) => row.map((value) => value + batch.length),
			{ ...allOf("agrees"), "batch-size": "differs", "profile-sizes": "differs" },
		],
		[
			"its place in the largest batch",
			(row, { place, batch }) => row.map((value) => value + (batch.length === 6 ? place : 0)),
			{ ...allOf("agrees"), "profile-sizes": "differs" },
		],
		[
			"chance",
			(row, { call }) => row.map((value) => value + call),
			{ ...allOf("skipped"), determinism: "differs" },
		],
		["no number", () => [NaN, NaN, NaN], { ...allOf("skipped"), determinism: "differs" }],
		[
			"rounding of another order",
			(row, { batch }) => row.map((value) => value * (1 + 1e-4 * batch.length)),
			{ "batch-size": "agrees", "profile-sizes": "agrees" },
		],
	])("finds an answer that depends on %s", (_, each, expected) => {
		expect(states(judge(each))).toMatchObject(expected);
	});

	it("forgives others what two runs differ by, and no more", () => {
		const noisy =
			(leak: number): RowFunction =>
			(row, { call, place, batch }) =>
				row.map((value) => value + (place === 0 ? 0 : leak * batch[0]![0]!) + (call % 2) * 2e-5);
		expect(states(judge(noisy(0)))).toMatchObject(allOf("agrees"));
		expect(states(judge(noisy(0.1)))).toMatchObject({ determinism: "agrees", neighbours: "differs" });
	});

	it("reports a size at which the engine fails, and inputs that it refuses", () => {
		const answers = new Map(answer(plan, (row) => [...row]));
		const failing = new Map(answers);
		for (const { id, batch } of plan.cases)
			if (batch === 1) failing.set(id, { state: "failed", message: "no kernel." });
		const failed = judgeProbes(plan, failing, rule).find(({ probe }) => probe === "batch-size");
		expect(failed).toMatchObject({ state: "differs", got: null, message: matching(/no kernel/) });
		answers.set("anchor", { state: "failed", message: "an index is out of range." });
		const refused = judgeProbes(plan, answers, rule);
		expect(states(refused)).toEqual({ ...allOf("skipped"), ...none });
		expect(refused[0]?.message).toMatch(/failed on the probes' inputs: an index is out of range/);
	});

	const answersOf = (outputsOf: (y: Tensor) => Tensors): Map<string, ProbeAnswer> =>
		new Map(
			[...answer(plan, (row) => [...row])].map(([id, one]): [string, ProbeAnswer] => [
				id,
				one.state === "done" ? { ...one, outputs: outputsOf(one.outputs["y"]!) } : one,
			]),
		);

	it("compares no rows of an output that has none, and never calls that agreement", () => {
		const answers = answersOf(() => ({ y: float32([1], []) }));
		const expected = { determinism: "agrees", neighbours: "skipped", "batch-size": "skipped" };
		expect(states(judgeProbes(plan, answers, rule))).toMatchObject(expected);
	});

	it("takes any name of an output", () => {
		const named = (y: Tensor): Tensors =>
			Object.defineProperty(Object.create(null), "__proto__", { value: y, enumerable: true });
		expect(states(judgeProbes(plan, answersOf(named), rule))).toMatchObject(allOf("agrees"));
	});
});

describe("settleProbes", () => {
	const place = { model: "net", engine: "fp16" };
	const judged = (state: JudgedProbe["state"], got: number | null): JudgedProbe => {
		return { probe: "neighbours", state, got, allowed: 1e-4, message: "Apart." };
	};
	it.each<[string, JudgedProbe, JudgedProbe | null, string]>([
		["new without a base", judged("differs", 0.1), null, "differs"],
		["new if the base passes", judged("differs", 0.1), judged("agrees", 0), "differs"],
		["known if the base differs as much", judged("differs", 0.1), judged("differs", 0.06), "known"],
		["new if it grew", judged("differs", 0.1), judged("differs", 0.01), "differs"],
		["known if neither gives a number", judged("differs", NaN), judged("differs", Infinity), "known"],
		["known if neither answers", judged("differs", null), judged("differs", null), "known"],
		["new if the base could not be asked", judged("differs", 0.1), judged("skipped", null), "differs"],
		["an agreement, whatever the base does", judged("agrees", 0), judged("differs", 1), "agrees"],
	])("calls it %s", (_, head, base, expected) => {
		const [settled] = settleProbes([head], base === null ? null : new Map([["neighbours", base]]), place);
		expect(settled).toMatchObject({ ...place, probe: "neighbours", state: expected });
		expect(JSON.parse(JSON.stringify(settled))).toEqual(settled);
	});
});

const shapes = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 });

it("pick and join undo each other along any axis", () => {
	fc.assert(
		fc.property(shapes, fc.nat(), fc.nat(), (shape, axisSeed, cutSeed) => {
			const axis = axisSeed % shape.length;
			const size = shape[axis]!;
			const cut = cutSeed % (size + 1);
			const tensor = float32(upTo(shape.reduce((product, length) => product * length, 1)), shape);
			const parts = [pick(tensor, axis, upTo(cut))!, pick(tensor, axis, upTo(size).slice(cut))!] as const;
			expect(joinTensors([...parts], axis)).toEqual(tensor);
		}),
	);
});

it("pick and join takes the slice that slicing takes, in any order and again", () => {
	const tensor = float32(upTo(24), [2, 3, 4]);
	const picked = pick(tensor, 1, [2, 0, 2])!;
	expect(picked.shape).toEqual([2, 3, 4]);
	for (const [at, from] of [2, 0, 2].entries())
		expect(sliceTensor(picked, 1, at).data).toEqual(sliceTensor(tensor, 1, from).data);
});

it("pick and join refuses places that are not there, and elements that share bytes", () => {
	expect(pick(float32([1, 2], [2]), 0, [2])).toBeNull();
	expect(pick(float32([1, 2], [2]), 1, [0])).toBeNull();
	expect(pick({ dtype: "int4", shape: [2], data: new Uint8Array(1) }, 0, [0])).toBeNull();
});

const longer = 0.5 / Math.hypot(3, 4.5);
const rowsOf = (...values: number[][]) => float32(values.flat(), [values.length, values[0]!.length]);

it.each([
	["the worst row, against the longer of the two", rowsOf([3, 4], [3, 4]), rowsOf([3, 4], [3, 4.5]), longer],
	[
		"a nearly zero row, against the usual row",
		rowsOf([1], [1e-6]),
		rowsOf([1], [2e-6]),
		1e-6 / Math.sqrt(0.5),
	],
	["zeros against something", rowsOf([0, 0]), rowsOf([1, 0]), 1],
	["opposites, the furthest that finite rows can be", rowsOf([1, 2]), rowsOf([-1, -2]), 2],
	["a NaN on one side", rowsOf([1, 2]), rowsOf([1, NaN]), Infinity],
	["the same infinity on both", rowsOf([1, Infinity]), rowsOf([1, Infinity]), 0],
	["nothing finite at all", rowsOf([NaN]), rowsOf([NaN]), NaN],
	["another shape", rowsOf([1, 2]), float32([1, 2], [2]), Infinity],
	["another type", rowsOf([1]), int64([1n], [1, 1]), Infinity],
	["integers by the share that differs", int64([1n, 2n, 3n, 4n], [4]), int64([1n, 2n, 3n, 1000n], [4]), 0.25],
])("distanceBetween is of %s", (_, left, right, expected) => {
	const got = distanceBetween(left, right, 0);
	if (Number.isFinite(expected) && expected > 0) expect(got).toBeCloseTo(expected, 6);
	else expect(got).toBe(expected);
});

it("distanceBetween does not depend on which answer came first, nor on scale", () => {
	const number = fc.double({ min: -100, max: 100, noNaN: true });
	const usual = number.filter((value) => value === 0 || Math.abs(value) > 1e-3);
	const numbers = fc.array(usual, { minLength: 6, maxLength: 6 });
	fc.assert(
		fc.property(numbers, numbers, (left, right) => {
			const [a, b] = [float32(left, [3, 2]), float32(right, [3, 2])];
			const there = distanceBetween(a, b, 0);
			expect(distanceBetween(b, a, 0)).toBeCloseTo(there, 9);
			const times8 = (list: number[]) =>
				float32(
					list.map((value) => value * 8),
					[3, 2],
				);
			expect(distanceBetween(times8(left), times8(right), 0)).toBeCloseTo(there, 6);
			expect(there).toBeLessThanOrEqual(2 + 1e-9);
		}),
	);
});

const fp16 = { precision: "fp16", cap: 5e-3 } as const;
it.each([
	["a tenth of the cap for the same kernels", rule, "same", "float32", 0, 1e-4],
	["the cap for others", rule, "other", "float32", 0, 1e-3],
	["three times the noise where that is more", rule, "same", "float32", 1e-3, 3e-3],
	["two roundings of the output", fp16, "same", "float16", 0, 6e-4],
	["what top-k may lose for integers of others", rule, "other", "int64", 0, 0.01],
	["a tenth of that for integers of the same kernels", rule, "same", "int64", 0, 0.001],
] as const)("allowance is %s", (_, of, arithmetic, dtype, noise, expected) => {
	expect(allowance(of, { arithmetic, dtype, noise })).toBeCloseTo(expected, 9);
});
