import { expect, it } from "vitest";
import { engineSpecs } from "../../../src/core/plan/plan.ts";
import { isSameRecipe, type RecipeOf, recipeRows, recipeText } from "../../../src/core/plan/recipe.ts";
import { loaded } from "../config/load.ts";

const int8 = "precision: int8";
const sha = (digit: string) => digit.repeat(64);

function recipeOf(
	engine: string,
	{ model = "", before = "", ...files }: { model?: string; before?: string } & Partial<RecipeOf> = {},
) {
	const whole = engine.includes("precision") ? engine : `${int8}${engine && `, ${engine}`}`;
	const text = `version: 1\n${before}models:\n  net: { onnx: net.onnx${model === "" ? "" : `, ${model}`}, engines: { e: { ${whole} } } }\n`;
	const [spec] = engineSpecs(loaded(text));
	return { spec: spec!, modelSha256: sha("a"), ...files };
}

function expectSameEngine(one: RecipeOf, other: RecipeOf, is: boolean) {
	expect(isSameRecipe(one, other)).toBe(is);
	expect(recipeText(one) === recipeText(other)).toBe(is);
}

const dims = "dims: { batch: { min: 1, opt: 4, max: 8 } }";
const profiles = `${dims}, profiles: [{ batch: 1 }, { batch: { min: 2, opt: 4, max: 8 } }]`;

const from = (method: string) => `calibration: { from: cases, method: ${method} }`;

it.each([
	["precision", "precision: fp16", "", "fp16", "int8"],
	["optimization-level", "", "optimization-level: 0", "3", "0"],
	["workspace", "", "workspace: 512MiB", "TensorRT's default", "512 MiB"],
	["workspace", "workspace: 4096MiB", "workspace: 4097MiB", "4,096 MiB", "4,097 MiB"],
	["flags", "", 'flags: ["--sparsity=enable"]', "none", "--sparsity=enable"],
	["plugins", "", "plugins: [a.so]", "none", "a.so"],
	["plugins", "plugins: [a.so]", "plugins: [{ path: a.so, dynamic: true }]", "a.so", "a.so (dynamic)"],
	["calibration", "", "calibration: net.cache", "none", "net.cache"],
	["calibration", "calibration: net.cache", "calibration: { from: cases }", "net.cache", "cases (entropy)"],
	["calibration", from("entropy"), from("minmax"), "cases (entropy)", "cases (minmax)"],
	["dla", "", "dla: { core: 0 }", "none", "core 0"],
	["dla", "dla: { core: 0 }", "dla: { core: 0, gpu-fallback: true }", "core 0", "core 0 with GPU fallback"],
	["plan", "build: { plan: a.plan }", "build: { plan: b.plan }", "a.plan", "b.plan"],
	["dims.batch", dims, dims.replace("max: 8", "max: 9"), "1 to 8, optimum 4", "1 to 9, optimum 4"],
	["dims.batch", dims, dims.replace("opt: 4", "opt: 5"), "1 to 8, optimum 4", "1 to 8, optimum 5"],
	["dims.batch", "dims: { batch: 4 }", "dims: { batch: 8 }", "4", "8"],
	["dims.batch", "dims: { batch: 4 }", "", "4", "none"],
	["dims.batch", dims, profiles, "1 to 8, optimum 4", "1 | 2 to 8, optimum 4"],
])("the recipe differs by %s: { %s } and { %s }", (what, base, head, was, is) => {
	const [one, other] = [recipeOf(base), recipeOf(head)];
	expect(recipeRows(one, other)).toEqual([{ what, base: was, head: is }]);
	expect(recipeRows(other, one)).toEqual([{ what, base: is, head: was }]);
	expect([isSameRecipe(one, other), isSameRecipe(other, one)]).toEqual([false, false]);
	expect(isSameRecipe(one, recipeOf(base))).toBe(true);
});

it("the recipe changes with the model file, which has no row of its own", () => {
	const [one, other] = [recipeOf(int8), recipeOf(int8, { modelSha256: sha("b") })];
	expect(recipeRows(one, other)).toEqual([]);
	expectSameEngine(one, other, false);
});

it.each(["plugins: [a.so]", "calibration: net.cache", "calibration: { from: net.cache }"])(
	"the recipe changes with the bytes of %s",
	(setting) => {
		const withFile = (digit: string, engine = `${int8}, ${setting}`) => {
			const file = { path: "/w/file", sha256: sha(digit) };
			const assets = setting.startsWith("plugins")
				? { plugins: [{ ...file, dynamic: false }] }
				: { plugins: [], calibration: file };
			return recipeOf(engine, { assets });
		};
		expect(recipeRows(withFile("a"), withFile("b"))).toHaveLength(1);
		expectSameEngine(withFile("a"), withFile("b"), false);
		const renamed = withFile("a", `${int8}, ${setting.replace(/a\.so|net\.cache/, "renamed")}`);
		expect(recipeRows(withFile("a"), renamed)).toHaveLength(1);
		expectSameEngine(withFile("a"), renamed, true);
	},
);

it("the recipe names the model's source, but the same bytes from elsewhere make the same engine", () => {
	const plain = recipeOf(int8);
	for (const [what, other] of [
		["onnx", recipeOf(`${int8}, onnx: moved.onnx`)],
		["prepare", recipeOf(int8, { model: "prepare: python export.py" })],
		["inputs.x.fill", recipeOf(int8, { model: "inputs: { x: { fill: ones } }" })],
	] as const) {
		expect(recipeRows(plain, other).map((row) => row.what)).toEqual([what]);
		expectSameEngine(plain, other, true);
	}
});

it("the recipe stays the same if lines, limits, workloads or flags move", () => {
	const plain = recipeOf(`${int8}, flags: ["--sparsity=enable", "--refit"]`);
	const flags = 'flags: ["--refit", "--sparsity=enable"]';
	for (const other of [
		recipeOf(flags, { before: "# one line more\ngates: { latency: { warn: 3% } }\n" }),
		recipeOf(`${flags}, ${int8}`),
		recipeOf(`${flags}, workloads: [{ name: two, streams: 2 }], golden: g.json`),
	]) {
		expect(recipeRows(plain, other)).toEqual([]);
		expectSameEngine(plain, other, true);
	}
	expect(recipeRows(recipeOf(int8), recipeOf(`${int8}, optimization-level: 3`))).toEqual([]);
	expectSameEngine(recipeOf("dims: { a: 1, b: 2 }"), recipeOf("dims: { b: 2, a: 1 }"), true);
});

it("the recipe differs by the shape of an input, which the builder is given", () => {
	const shaped = (shape: string) => recipeOf(int8, { model: `inputs: { x: { shape: ${shape} } }` });
	const [one, other] = [shaped("[1, 3]"), shaped("[8, 3]")];
	expect(recipeRows(one, other)).toEqual([{ what: "inputs.x.shape", base: "1×3", head: "8×3" }]);
	expect(isSameRecipe(one, other)).toBe(false);
	expect(isSameRecipe(recipeOf(int8), shaped("[]"))).toBe(false);
});

const ofPlan = (engine: string, digit?: string) =>
	recipeOf(engine, digit ? { assets: { plugins: [], plan: { path: "/a", sha256: sha(digit) } } } : {});

it("plans are the same by content, those of a command never", () => {
	expectSameEngine(ofPlan("build: { plan: a }", "1"), ofPlan("build: { plan: b }", "1"), true);
	expectSameEngine(ofPlan("build: { plan: a }", "1"), ofPlan("build: { plan: a }", "2"), false);
	expectSameEngine(ofPlan("build: { plan: a }", "1"), ofPlan(""), false);
	const byCommand = "build: { command: make, plan: a }";
	expect(isSameRecipe(ofPlan(byCommand), ofPlan(byCommand))).toBe(false);
	expect(recipeText(ofPlan(byCommand))).toBe(recipeText(ofPlan(byCommand)));
	const rows = [{ what: "build", base: "make", head: "make all" }];
	expect(recipeRows(ofPlan(byCommand), ofPlan(byCommand.replace("make", "make all")))).toEqual(rows);
});
