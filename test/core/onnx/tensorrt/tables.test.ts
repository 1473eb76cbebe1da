import { readdirSync, readFileSync, statSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import standard from "../../../../data/onnx-operators.json" with { type: "json" };
import { restrictions } from "../../../../src/core/onnx/findings/tensorrt-restrictions.ts";
import { isAtLeast, standingOf, tables, tensorRtOf } from "../../../../src/core/onnx/tensorrt/support.ts";

const folder = "data/tensorrt-operators";
const files = readdirSync(folder);
const wordsOf = (version: string, key: "restricted" | "unsupported"): string[] =>
	JSON.parse(readFileSync(`${folder}/${version}.json`, "utf8"))
		[key].split(" ")
		.filter(Boolean);

it("the tables of TensorRT are all in use, oldest first", () => {
	const versions = files
		.map((file) => file.replace(/\.json$/, ""))
		.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
	expect(tables.map((table) => table.version)).toEqual(versions);
});

it.each(files)("%s names its source, and is small", (file) => {
	const { source } = JSON.parse(readFileSync(`${folder}/${file}`, "utf8"));
	expect(source.repository).toBe("onnx/onnx-tensorrt");
	expect(source.commit).toMatch(/^[0-9a-f]{40}$/);
	expect(source.date).toMatch(/^\d{4}-\d\d-\d\d$/);
	expect(statSync(`${folder}/${file}`).size).toBeLessThan(11_000);
});

it("the tables of TensorRT never say yes and no to one operator", () => {
	for (const { version, operators } of tables)
		expect(wordsOf(version, "unsupported").filter((name) => operators.has(name))).toEqual([]);
});

it("the tables of TensorRT never take an operator back, so two versions vouch for those between", () => {
	const lost = tables.flatMap((table, index) =>
		[...table.operators].filter((name) => tables[index + 1]?.operators.has(name) === false),
	);
	expect(lost).toEqual([]);
});

it("the tables of TensorRT hold operators of the standard, and a few of before it", () => {
	const known = new Set(Object.keys(standard.domains[""]));
	const listed = tables.flatMap((table) => [...table.operators, ...wordsOf(table.version, "unsupported")]);
	const others = new Set(listed.filter((name) => !known.has(name)));
	expect(others).toEqual(new Set(["ImageScaler", "ParametricSoftplus", "ScaledTanh"]));
});

/** Conditions that a file does not show, or that change no result (random seeds). Q/DQ have findings of their own. */
const notInFile =
	"DeformConv DequantizeLinear EyeLike Hardmax If Loop QuantizeLinear RandomNormal RandomNormalLike RandomUniform RandomUniformLike RotaryEmbedding";

it("every condition that the newest table knows of is judged, or named as not in a file", () => {
	const judged = new Set([...restrictions.keys(), ...notInFile.split(" ")]);
	expect(wordsOf("11.1", "restricted").filter((name) => !judged.has(name))).toEqual([]);
});

it("the tables of TensorRT have as many operators as their makers counted", () => {
	const counts = tables.map(({ version, operators }) => [
		version,
		[operators.size, wordsOf(version, "unsupported").length],
	]);
	const expected = { "8.6": [145, 36], "10.1": [150, 46], "11.1": [159, 42] };
	expect(Object.fromEntries(counts)).toMatchObject(expected);
});

function standing(version: string | undefined, name: string, kind: "operators" | "plugins" = "operators") {
	const { has, isCertain, because } = standingOf(tensorRtOf(version), kind, name);
	return `${isCertain ? "surely" : "maybe"} ${has ? "yes" : "no"}${because === undefined ? "" : ` (${because})`}`;
}

it.each([
	["10.15", "Det", "surely no"],
	["10.6.0", "Det", "surely no (neither 10.1 nor 10.14 does)"],
	["10.6", "Relu", "surely yes (10.1 and 10.14 both do)"],
	["10.6", "Attention", "maybe no (10.1 does not, 10.14 does)"],
	["11", "Det", "surely no (neither 10.15 nor 11.1 does)"],
	["11.2.1", "Det", "maybe no (11.1, the newest version listed, does not)"],
	["8.5", "Gelu", "maybe no (8.6, the oldest version listed, does not)"],
	[undefined, "Det", "maybe no (11.1, the newest version listed, does not)"],
	["ten", "Det", "maybe no (11.1, the newest version listed, does not)"],
	["10.0", "Gelu", "surely yes"],
])("TensorRT %s has %s: %s", (version, name, expected) => {
	expect(standing(version, name)).toBe(expected);
});

it("a version knows the plugins that TensorRT 11 dropped", () => {
	expect(standing("10.6", "BatchedNMS_TRT", "plugins")).toBe("surely yes (10.1 and 10.14 both do)");
	expect(standing("11.1", "BatchedNMS_TRT", "plugins")).toBe("surely no");
	expect(standing("11.1", "EfficientNMS_TRT", "plugins")).toBe("surely yes");
});

it("a version can be read from any text without a failure", () => {
	fc.assert(
		fc.property(fc.string(), (text) => {
			expect(tensorRtOf(text).name).toMatch(/^TensorRT( \d{1,4}\.\d{1,4})?$/);
		}),
	);
});

it("isAtLeast compares versions as numbers, and unknown ones not at all", () => {
	expect(isAtLeast(tensorRtOf("10.9"), 10, 11)).toBe(false);
	expect(isAtLeast(tensorRtOf("10.11"), 10, 9)).toBe(true);
	expect(isAtLeast(tensorRtOf(undefined), 10, 9)).toBe(null);
});
