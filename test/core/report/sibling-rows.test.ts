// Which engines of a family are best, and what is known of each.
import { expect, it } from "vitest";
import type { GoldenVerdict, Result, SiblingResult } from "../../../generated/result.ts";
import { joinRuns } from "../../../src/core/merge/join.ts";
import { mergeResults } from "../../../src/core/merge/merge.ts";
import { siblingFamilies } from "../../../src/core/report/sections/siblings.ts";
import {
	buildBuild,
	buildCheck,
	buildGolden,
	buildResult,
	buildSibling,
} from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";

/** `int8 -0.4±0.01 fp16`: its change of the time, half of its interval, and its sibling. */
function sibling(text: string): SiblingResult {
	const [engine = "", change = "", against = ""] = text.split(" ");
	const [estimate = 0, half = 0] = change.split("±").map(Number);
	return buildSibling({ engine, against }, estimate, half);
}

/** `int8 0.01`: its relative L2; `int8 !`: its golden fails. */
function golden(text: string): GoldenVerdict {
	const [engine = "", error = ""] = text.split(" ");
	return error === "!"
		? buildGolden({ engine, state: "mismatch" })
		: buildGolden({ engine, checks: [buildCheck({ got: Number(error) })] });
}

function resultOf(siblings: readonly string[], goldens: readonly string[]): Result {
	return buildResult({ siblings: siblings.map(sibling), golden: goldens.map(golden), builds: [] });
}

const bestOf = (result: Result): string[] =>
	siblingFamilies(result)
		.flat()
		.flatMap(({ isBest, engine }) => (isBest ? [engine] : []));

it.each([
	["faster and less accurate: both", ["int8 -0.4±0.01 fp16"], ["fp16 0.001", "int8 0.01"], "fp16 int8"],
	["faster and as accurate", ["int8 -0.4±0.01 fp16"], ["fp16 0.001", "int8 0.0019"], "int8"],
	["slower and as accurate", ["int8 0.4±0.01 fp16"], ["fp16 0.001", "int8 0.0006"], "fp16"],
	["faster within doubt", ["int8 -0.01±0.02 fp16"], ["fp16 0.001", "int8 0.001"], "fp16 int8"],
	["no slower and more accurate", ["fp32 0.01±0.02 fp16"], ["fp16 0.001", "fp32 0.0001"], "fp32"],
	["faster and wrong", ["int8 -0.4±0.01 fp16"], ["fp16 0.001", "int8 !"], "fp16"],
	["errors unknown", ["int8 -0.4±0.01 fp16", "fp32 1±0.1 fp16"], [], "int8"],
	[
		"along a chain the doubt adds up",
		["fp16 -0.5±0.1 fp32", "int8 -0.1±0.05 fp16"],
		["fp32 0.001", "fp16 0.001", "int8 0.001"],
		"fp16 int8",
	],
	["two families", ["b -0.5±0.01 a", "d -0.5±0.01 c"], ["a 0.1", "b 0.1", "c 0.1", "d 0.1"], "b d"],
	["a forged circle", ["b -0.5±0.01 a", "c -0.5±0.01 b", "b -0.5±0.01 c", "e 1±0.1 f", "f 1±0.1 e"], [], "c"],
])("best is what nothing beats beyond doubt: %s", (_, siblings, goldens, best) => {
	expect(bestOf(resultOf(siblings, goldens)).join(" ")).toBe(best);
});

it("an engine that a probe fails is not best, and the table says why", () => {
	const result = resultOf(["int8 -0.4±0.01 fp16"], ["fp16 0.001", "int8 0.001"]);
	result.gates = (["fail", "warn"] as const).map((status, at) => ({
		...{ gate: "probe", case: "streams", status, message: "" },
		...{ model: result.siblings?.[0]?.model ?? "", engine: ["int8", "fp16"][at] },
	}));
	expect(bestOf(result)).toEqual(["fp16"]);
	expect(inEveryFormat(result).markdown).toContain("fails probe");
});

it("a pair that was not timed is not compared, and neither engine is best", () => {
	const untimed = { ...sibling("int8 0±0 fp16"), own: null, sibling: null };
	const latency = { ...untimed.latency, estimate: null, interval: null };
	const result = buildResult({ siblings: [{ ...untimed, latency }], golden: [] });
	expect(bestOf(result)).toEqual([]);
	expect(inEveryFormat(result).markdown).toContain("not compared");
});

it("every format shows precision, time, error, memory and size", () => {
	const result = resultOf(["int8 -0.4±0.01 fp16"], ["fp16 0.001", "int8 0.01"]);
	result.builds = [buildBuild({ engine: "int8", precision: "int8", engineBytes: 204_800 })];
	const texts = inEveryFormat(result);
	for (const text of Object.values(texts))
		for (const part of ["int8", "40.00 µs", "24.00 µs", "1e-2", "742 MiB", "200 KiB", "reference"])
			expect(text.replaceAll("\u00a0", " ")).toContain(part);
	expect(texts.html).toContain("Error against time");
	expect(texts.html.match(/class="dot ok"[^>]* r="6"/g)).toHaveLength(2);
});

it("merged and joined results keep siblings, those of a part by its name", () => {
	const one = resultOf(["int8 -0.4±0.01 fp16"], []);
	const two = resultOf(["int8 -0.2±0.01 fp16", "fp8 -0.5±0.01 fp16"], []);
	const parts = [one, two].map((result, index) => ({
		name: `gpu${index}`,
		content: { state: "read", result: { ...result, environment: { gpu: `gpu${index}` } } } as const,
	}));
	const merged = mergeResults(parts, { version: "0.1.0", files: [] });
	expect(merged.siblings?.map(({ part, engine }) => `${part} ${engine}`)).toEqual([
		"gpu0 int8",
		"gpu1 int8",
		"gpu1 fp8",
	]);
	expect(siblingFamilies(merged)).toHaveLength(2);
	const joined = joinRuns(one, two);
	expect(joined.siblings?.map(({ engine, latency }) => [engine, latency.estimate])).toEqual([
		["int8", -0.4],
		["fp8", -0.5],
	]);
	expect(joined.durationMs).toBe(one.durationMs + two.durationMs);
});
