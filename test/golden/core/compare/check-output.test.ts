import fc from "fast-check";
import { expect, it } from "vitest";
import type { ComparatorSpec, GoldenCase, GoldenOutput, OutputSlice } from "../../../../generated/golden.ts";
import { validate } from "../../../../generated/result-validator.js";
import {
	type CommandAnswer,
	customCheck,
	parseCommandAnswer,
} from "../../../../src/golden/core/compare/check-output.ts";
import { cutBatches } from "../../../../src/golden/core/compare/checks.ts";
import { type CaseInput, judgeCase } from "../../../../src/golden/core/compare/judge.ts";
import {
	attachErrorMaps,
	errorMap,
	planeOf,
} from "../../../../src/golden/core/error-map/attach-error-maps.ts";
import {
	cutSlice,
	elementCount,
	slicedShape,
	sliceLabel,
	sliceProblem,
	unravel,
} from "../../../../src/golden/core/tensor/tensor.ts";
import { valueAt } from "../../../../src/golden/core/tensor/values.ts";
import { judgeSet } from "../../../../src/golden/core/whole-set/judge-set.ts";
import { buildResult } from "../../../support/build-result.ts";
import { caseInput, float32, type Outputs, type Tensor } from "../../../support/golden-tensors.ts";

const kinds: readonly ComparatorSpec[] = [
	{ kind: "relative-l2" },
	{ kind: "max-abs" },
	{ kind: "allclose" },
	{ kind: "cosine" },
	{ kind: "top-k", k: 2, axis: 1 },
	{ kind: "kl", input: "logits", axis: 1 },
	{ kind: "psnr" },
	{ kind: "ssim", window: "uniform" },
	{ kind: "miou" },
	{ kind: "pixel-disagreement" },
	{ kind: "recall-at-k", k: 2 },
	{ kind: "rank-agreement" },
	{ kind: "token-agreement", axis: 1 },
];

/** Independent of the product's own walk: element by element. */
function cutByHand(tensor: Tensor, axis: number, kept: readonly number[]) {
	const shape = tensor.shape.map((size, index) => (index === axis ? kept.length : size));
	const values = Array.from({ length: elementCount(shape) }, (_, flat) => {
		const at = unravel(flat, shape).map((index, dimension) => (dimension === axis ? kept[index]! : index));
		const place = at.reduce((sum, index, dimension) => sum * tensor.shape[dimension]! + index, 0);
		return valueAt(tensor, place);
	});
	return float32(values, shape);
}

function judge(expected: Tensor, got: Tensor, output: GoldenOutput, base?: Tensor) {
	const sides = base === undefined ? {} : { base: { y: base } };
	const input = caseInput({ y: expected }, { y: got }, { specs: { y: output }, ...sides });
	const [golden] = input.manifest.cases;
	return { input, verdict: judgeCase(input), set: () => judgeSet(input, [{ golden, sides: input }]) };
}

const shape = [2, 9, 8, 10];
const tensorOf = (shape: readonly number[], valueAt: (index: number) => number) =>
	float32(
		Array.from({ length: elementCount(shape) }, (_, at) => valueAt(at)),
		shape,
	);
const wave = (at: number) => Math.sin(at * 1.7) * (1 + (at % 5));
const golden = tensorOf(shape, wave);
const engine = tensorOf(shape, (at) => wave(at) + 0.02 * Math.cos(at * 3.1));
const ranges = (axis: number, ...all: [[number, number], ...[number, number][]]): OutputSlice => ({
	...{ axis, ranges: all },
});
const slices: { slice: OutputSlice; axis: number; kept: number[] }[] = [
	{ slice: { axis: 1, from: 2, to: 9 }, axis: 1, kept: [2, 3, 4, 5, 6, 7, 8] },
	{ slice: ranges(-3, [0, 2], [3, 4], [6, 9]), axis: 1, kept: [0, 1, 3, 6, 7, 8] },
	{ slice: { axis: -1, from: 1 }, axis: 3, kept: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
];

it.each(kinds.flatMap((spec) => slices.map((part) => ({ spec, ...part }))))(
	"a comparator of a slice $spec.kind of $slice equals that of the part alone",
	(of) => {
		const left = cutByHand(golden, of.axis, of.kept);
		const right = cutByHand(engine, of.axis, of.kept);
		const output = (spec: ComparatorSpec): GoldenOutput => ({ batchAxis: 0, comparators: [spec] });
		const whole = judge(golden, engine, output({ ...of.spec, slice: of.slice }), engine).verdict.checks[0];
		const alone = judge(left, right, output(of.spec), right).verdict.checks[0];
		const index = alone?.worst?.index.map((at, axis) => (axis === of.axis ? of.kept[at] : at));
		const worst = alone?.worst && { ...alone.worst, index };
		expect(whole).toEqual({ ...alone, slice: of.slice, worst, detail: whole?.detail });
	},
);

it.each(slices)("a comparator of a slice over the whole set is that of the parts of $slice alone", (of) => {
	const { slice, axis, kept } = of;
	const [left, right] = [cutByHand(golden, axis, kept), cutByHand(engine, axis, kept)];
	const spec: ComparatorSpec = { kind: "relative-l2", scope: "set" };
	const check = judge(golden, engine, { comparators: [{ ...spec, slice }] }).set()?.checks[0];
	const { got } = judge(left, right, { comparators: [spec] }).set()!.checks[0]!;
	expect(check).toMatchObject({ slice, got });
});

it("a comparator of a slice sees what the whole hides: class scores that are permuted beside boxes of hundreds", () => {
	const valueAt = (at: number) => (at < 200 ? 100 + at : ((at * 7) % 11) / 11);
	const boxesAndScores = tensorOf([1, 22, 50], valueAt);
	const channels = Array.from({ length: 22 }, (_, at) => (at < 4 ? at : 4 + ((at - 3) % 18)));
	const permuted = cutByHand(boxesAndScores, 1, channels);
	const l2 = { kind: "relative-l2", tolerance: 5e-3 } as const;
	const whole = judge(boxesAndScores, permuted, { comparators: [l2] }).verdict;
	const byPart = judge(boxesAndScores, permuted, {
		comparators: [
			{ ...l2, slice: { axis: 1, to: 4 } },
			{ ...l2, slice: { axis: 1, from: 4, to: 22 } },
		],
	}).verdict;
	expect(whole.state).toBe("match");
	expect(byPart.checks.map(({ pass }) => pass)).toEqual([true, false]);
});

const tiny = float32([1, 0.5, 1e-8, -2e-8, 3e-3]);
const floored = (floor?: number): GoldenOutput => ({
	comparators: [{ kind: "allclose", rtol: 1e-5, tolerance: 0, ...(floor ? { floor } : {}) }],
});
it("the floor of a comparator leaves out what is below it on both sides, and only that", () => {
	const noisy = float32([1, 0.5, -7e-8, 0, 3e-3]);
	expect(judge(tiny, noisy, floored()).verdict.state).toBe("mismatch");
	expect(judge(tiny, noisy, floored(1e-6)).verdict.checks[0]).toMatchObject({ got: 0, pass: true });
	expect(judge(tiny, float32([1, 0.5, 1e-8, 2e-6, 3e-3]), floored(1e-6)).verdict.state).toBe("mismatch");
	expect(judge(tiny, float32([1, 0.5, 1e-8, -2e-8, 0]), floored(1e-6)).verdict.state).toBe("mismatch");
});

const background: GoldenOutput = { comparators: [{ kind: "top-k", axis: 1, minScore: 0.25 }] };
const scores = float32([0.9, 0.01, 0.011, 0.05, 0.011, 0.01], [1, 2, 3]);
it("top-k of rows that reach a score ignores the background, whose best class is noise", () => {
	const ofScores = (...values: number[]) =>
		judge(scores, float32(values, [1, 2, 3]), background).verdict.checks[0];
	expect(ofScores(0.9, 0.011, 0.01, 0.05, 0.01, 0.011)).toMatchObject({ got: 1 });
	expect(ofScores(0.05, 0.01, 0.01, 0.9, 0.01, 0.01)).toMatchObject({ got: 0, pass: false });
});
it("top-k of rows that reach a score agrees if no row reaches it, and reports it", () => {
	const quiet = float32([0.1, 0.2, 0.1, 0.2, 0.1, 0.2], [1, 2, 3]);
	const detail = "no row of the golden reaches 0.25";
	expect(judge(quiet, quiet, background).verdict.checks[0]).toMatchObject({ got: 1, pass: true, detail });
});

it("cutSlice keeps the elements of the ranges, of every width of element", () => {
	const dtypes = fc.constantFrom("float32", "float16", "uint8", "float64", "int4", "uint4");
	const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });
	fc.assert(
		fc.property(dtypes, sizes, fc.nat(), fc.nat(), fc.nat(), (dtype, size, a, b, c) => {
			const axis = a % size.length;
			const from = b % size[axis]!;
			const slice = { axis, from, to: from + 1 + (c % (size[axis]! - from)) };
			const data = Uint8Array.from({ length: elementCount(size) * 8 }, (_, at) => (at * 37 + b) % 120);
			const tensor = { dtype, shape: size, data };
			const part = cutSlice(tensor, slice);
			const kept = Array.from({ length: slice.to - from }, (_, at) => from + at);
			const byHand = cutByHand(tensor, axis, kept);
			expect(part.shape).toEqual(byHand.shape);
			expect(slicedShape(slice, size)).toEqual(byHand.shape);
			for (let flat = 0; flat < elementCount(part.shape); flat += 1) {
				expect(Math.fround(valueAt(part, flat))).toEqual(valueAt(byHand, flat));
			}
		}),
		{ numRuns: 200 },
	);
});

it.each<[OutputSlice, string]>([
	[{ axis: 3, to: 2 }, "an axis of the output, which has 3"],
	[{ axis: 1, from: 4, to: 30 }, "indices up to 22, the size of the axis"],
	[{ axis: 1, from: 22 }, "indices up to 22, the size of the axis"],
	[{ axis: 1, from: 4, to: 4 }, "an end behind the start, 4"],
	[{ axis: 1, from: 0, ranges: [[0, 1]] }, "either ranges, or from and to"],
	[ranges(1, [4, 6], [5, 8]), "a range from 6 on"],
])("sliceProblem of %j: expected %s", (slice, expected) => {
	expect(sliceProblem(slice, [1, 22, 8400])?.expected).toContain(expected);
});

it.each<[OutputSlice, string]>([
	[{ axis: 1, from: 4, to: 22 }, "channels 4…21"],
	[{ axis: -1, to: 4 }, "columns 0…3"],
	[{ axis: 1, from: 4, to: 5 }, "channel 4"],
	[{ axis: 2, from: 7 }, "7… of axis 2"],
	[ranges(1, [0, 4], [5, 6]), "channels 0…3, 5"],
])("sliceLabel of %j is %s", (slice, label) => {
	expect(sliceLabel(slice)).toBe(label);
});

const lastLine = 'noise\n{"value":0.25,"detail":"patch 3"}\n';
it.each<[string, string, number, object]>([
	["passes on exit 0 alone", "", 0, { pass: true, value: null }],
	["fails on exit 1 alone", "anything", 1, { pass: false, value: null }],
	["reads the last line", lastLine, 0, { pass: true, value: 0.25, detail: "patch 3" }],
	["takes the command's own verdict", '{"value":0,"pass":false}', 0, { pass: false, value: 0 }],
	["fails on exit 1 whatever the JSON says", '{"value":0,"pass":true}', 1, { pass: false, value: 0 }],
])("parseCommandAnswer %s", (_, stdout, exit, answer) => {
	expect(parseCommandAnswer(stdout, exit)).toEqual({ state: "answered", ...answer });
});

it.each([
	["another exit code", "", 2],
	["half an object", '{"value": ', 0],
	["a value that is text", '{"value":"0"}', 0],
	["a value too large to be a number", '{"value":1e999}', 0],
	["a pass that is a number", '{"pass":1}', 0],
	["NaN, which is no JSON", '{"value":NaN}', 0],
])("parseCommandAnswer takes %s for no answer", (_, stdout, exit) => {
	expect(parseCommandAnswer(stdout, exit).state).toBe("failed");
});

it("parseCommandAnswer cuts what it says, and is not changed by keys of objects", () => {
	const said = `{"__proto__":{"pass":false},"value":1,"detail":"${"x".repeat(9000)}"}`;
	expect(parseCommandAnswer(said, 0)).toMatchObject({ pass: true, value: 1, detail: "x".repeat(500) });
});

const y = float32([1, 2, 3]);
const spec = { kind: "custom", name: "lpips" } as const;

const answer = (pass: boolean, value: number | null): CommandAnswer => ({ state: "answered", pass, value });
it.each<[string, CommandAnswer, number | undefined, boolean]>([
	["passes where the command decides without a limit", answer(true, 9), undefined, true],
	["passes where the limit is kept", answer(true, 0.1), 0.1, true],
	["fails where the limit is broken", answer(true, 0.2), 0.1, false],
	["fails where a limit has no value", answer(true, null), 0.1, false],
	["fails where the command is stricter than the limit", answer(false, 0), 0.1, false],
	["fails without an answer", { state: "failed", message: "it died" }, undefined, false],
])("a custom check %s", (_, given, tolerance, pass) => {
	const limited = { ...spec, ...(tolerance !== undefined && { tolerance }) };
	expect(customCheck("y", limited, { answer: given, expected: y, precision: "fp16" }).pass).toBe(pass);
});

it("a custom check is part of the verdict, and a missing answer is not a match", () => {
	const specs: Record<string, GoldenOutput> = { y: { comparators: [spec] } };
	const of = (...answers: [string, CommandAnswer[]][]) =>
		judgeCase(caseInput({ y }, { y }, { specs, answers: new Map(answers) })).state;
	expect(of(["y", [answer(true, null)]])).toBe("match");
	expect(of(["y", [answer(false, null)]])).toBe("mismatch");
	expect(of()).toBe("mismatch");
});

const casesOf = (sizes: readonly number[]): GoldenCase[] =>
	sizes.map((size, index) => {
		const file = { path: "y.raw", sha256: "b".repeat(64), dtype: "float32" as const, shape: [size] };
		return { id: `${index}`, inputs: { x: file }, outputs: { y: file } };
	});

const bytesOf = (cases: readonly GoldenCase[]) =>
	cases.reduce((sum, { outputs }) => sum + 8 * outputs["y"]!.shape[0]!, 0);

it("cutBatches keeps the order, loses nothing, and keeps its limits wherever a batch has more than one case", () => {
	fc.assert(
		fc.property(
			fc.array(fc.nat(40)),
			fc.integer({ min: 1, max: 400 }),
			fc.integer({ min: 1, max: 9 }),
			(sizes, bytes, cases) => {
				const all = casesOf(sizes);
				const batches = [...cutBatches(all, { bytes, cases })];
				expect(batches.flat()).toEqual(all);
				for (const batch of batches) {
					expect(batch.length).toBeGreaterThan(0);
					expect(batch.length).toBeLessThanOrEqual(cases);
					if (batch.length > 1) expect(bytesOf(batch)).toBeLessThanOrEqual(bytes);
				}
			},
		),
	);
});

it("cutBatches fills each batch before it begins the next", () => {
	expect(
		[...cutBatches(casesOf([1, 1, 1, 1, 1]), { bytes: 16, cases: 10 })].map((batch) => batch.length),
	).toEqual([2, 2, 1]);
});

const bytes = (cells: string) => [...atob(cells)].map((letter) => letter.charCodeAt(0));

const withErrors = (shape: number[], errors: Record<number, number> = {}) =>
	tensorOf(shape, (at) => errors[at] ?? 0);
const sidesOf = (shape: number[], errors: Record<number, number>) => ({
	...{ expected: withErrors(shape), got: withErrors(shape, errors) },
});
const attach = (input: CaseInput, most = 50) => attachErrorMaps(judgeCase(input), input, most);
const attachY = (output: GoldenOutput) =>
	attach(caseInput({ y: zeroMap }, { y: wrong }, { specs: { y: output } }));
const mapShape = [2, 3, 16, 16];
const zeroMap = withErrors(mapShape);
/** In the second sample, second channel, row 5, column 9. */
const wrong = withErrors(mapShape, { [768 + 256 + 16 * 5 + 9]: 4 });

it.each<[string, GoldenOutput]>([
	["that was judged", { batchAxis: 0 }],
	["of the worst element where the whole was judged", {}],
])("attachErrorMaps shows the sample %s", (_, output) => {
	const { verdict, drawn } = attachY(output);
	const map = verdict.checks[0]?.errorMap;
	expect(drawn).toBe(1);
	expect(map).toMatchObject({ sample: 1, axes: [2, 3], largest: 4 });
	expect(bytes(map?.cells ?? "").indexOf(254)).toBe(5 * 16 + 9);
	expect(validate(buildResult({ golden: [verdict] })), JSON.stringify(validate.errors)).toBe(true);
});

it("attachErrorMaps covers the slice of the check", () => {
	const slice = { axis: 2, from: 4, to: 16 };
	const { verdict } = attachY({ comparators: [{ kind: "max-abs", tolerance: 1, slice }] });
	const map = verdict.checks[0]?.errorMap;
	expect(map).toMatchObject({ height: 12, width: 16 });
	expect(bytes(map?.cells ?? "").indexOf(254)).toBe(1 * 16 + 9);
});

it("attachErrorMaps draws one map for each output", () => {
	const { verdict, drawn } = attachY({ comparators: [{ kind: "relative-l2" }, { kind: "max-abs" }] });
	expect(drawn).toBe(1);
	expect(verdict.checks.map(({ errorMap: map }) => map !== undefined)).toEqual([true, false]);
});

it.each<[string, Outputs]>([
	["passes", { y: zeroMap }],
	["is missing", {}],
	["has another shape", { y: withErrors([2, 3]) }],
])("attachErrorMaps draws nothing if an output %s", (_, got) => {
	expect(attach(caseInput({ y: zeroMap }, got)).drawn).toBe(0);
});

it("attachErrorMaps keeps to the number that is left", () => {
	const expected = { a: zeroMap, b: zeroMap, c: zeroMap };
	expect(attach(caseInput(expected, { a: wrong, b: wrong, c: wrong }), 2).drawn).toBe(2);
});

it.each<{ of: number[]; plane: ReturnType<typeof planeOf> }>([
	{ of: [2, 3, 32, 40], plane: [2, 3] },
	{ of: [1, 32, 40, 3], plane: [1, 2] },
	{ of: [8, 64, 768], plane: [1, 2] },
	{ of: [32, 1000], plane: [0, 1] },
	{ of: [1, 1000], plane: null },
	{ of: [1000], plane: null },
	{ of: [], plane: null },
	{ of: [1, 3, 4, 4], plane: null },
])("planeOf $of is $plane", ({ of, plane }) => expect(planeOf(of)).toEqual(plane));

it("errorMap puts the largest difference of all channels into its cell, of 254 steps", () => {
	const map = errorMap(sidesOf([1, 2, 8, 8], { [64 + 8 * 3 + 5]: 2, [8 * 3 + 5]: -1, 7: 1 }), [2, 3]);
	expect(map).toMatchObject({ rows: 8, columns: 8, height: 8, width: 8, largest: 2 });
	const differing = bytes(map.cells).flatMap((cell, at) => (cell > 0 ? [[at, cell]] : []));
	expect(differing).toEqual([
		[7, 127],
		[29, 254],
	]);
});

it("errorMap marks what is not finite by a value of its own, and shows the smallest difference", () => {
	const map = errorMap(sidesOf([8, 8], { 0: NaN, 1: 1, 2: 1e-9 }), [0, 1]);
	expect(bytes(map.cells).slice(0, 4)).toEqual([255, 254, 1, 0]);
	expect(map.largest).toBe(1);
});

it("errorMap takes large planes together into at most 48 by 48 cells, none of them lost", () => {
	const side = fc.integer({ min: 8, max: 130 });
	fc.assert(
		fc.property(side, side, fc.nat(), (height, width, seed) => {
			const at = seed % (height * width);
			const map = errorMap(sidesOf([height, width], { [at]: 3 }), [0, 1]);
			expect([map.rows, map.columns]).toEqual([Math.min(48, height), Math.min(48, width)]);
			const cells = bytes(map.cells);
			expect(cells.length).toBe(map.rows * map.columns);
			const row = (Math.floor(cells.indexOf(254) / map.columns) + 0.5) / map.rows;
			expect(Math.abs(row - Math.floor(at / width) / height)).toBeLessThan(0.15);
			expect(cells.filter((cell) => cell > 0).length).toBe(1);
		}),
	);
});
