import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parsePairs } from "../../../src/core/compare/pairs-file.ts";
import { renderVerdict } from "../../../src/core/compare/sentence.ts";
import { judgePairs } from "../../../src/core/compare/verdict.ts";

test.each([
	["slower-head", "Slower: +4.2 % (99 % interval +3.7 to +4.7 %), 8 pairs."],
	[
		"same-model",
		"No relevant change: \u22120.1 % (99 % interval \u22120.3 to +0.2 %), 8 pairs; changes of 0.4 % or more are ruled out.",
	],
	["slower-head", "Faster: \u22124.0 % (99 % interval \u22124.5 to \u22123.5 %), 8 pairs.", "swapped"],
])("recorded on a GPU, %s is judged: %s", (name, sentence, swapped = "") => {
	const file = parsePairs(readFileSync(`test/fixtures/pairs/${name}.json`, "utf8"), name);
	const pairs = file.pairs.map(({ base, head }) => (swapped ? { base: head, head: base } : { base, head }));
	expect(renderVerdict(judgePairs(pairs, file))).toBe(sentence);
});

test.each([
	["", "", "JSON", "an empty file"],
	["{", "", "JSON", "not JSON"],
	["[1]", "", "pairs", "a list"],
	["null", "", "pairs", "null"],
	["{}", "/pairs", "array", "nothing"],
	['{"pairs":{}}', "/pairs", "array", "an empty object"],
	['{"pairs":[[1,2]]}', "/pairs/0", "base", "a list"],
	['{"pairs":[{"base":1}]}', "/pairs/0/head", "above 0", "nothing"],
	['{"pairs":[{"base":1,"head":1},{"base":"1.2","head":1}]}', "/pairs/1/base", "above 0", '"1.2"'],
	['{"pairs":[{"base":1,"head":null}]}', "/pairs/0/head", "above 0", "null"],
	['{"pairs":[{"base":1,"head":0}]}', "/pairs/0/head", "above 0", "0"],
	['{"pairs":[{"base":-3,"head":1}]}', "/pairs/0/base", "above 0", "-3"],
	['{"pairs":[{"base":1,"head":1e999}]}', "/pairs/0/head", "finite", "too large"],
	['{"pairs":[{"__proto__":{"base":1,"head":1}}]}', "/pairs/0/base", "above 0", "nothing"],
	['{"pairs":[],"minimalEffect":"2%"}', "/minimalEffect", "0.02 is 2 %", '"2%"'],
	['{"pairs":[],"minimalEffect":2}', "/minimalEffect", "between 0 and 1", "2"],
	['{"pairs":[],"minimalEffect":0}', "/minimalEffect", "between 0 and 1", "0"],
	['{"pairs":[],"minimaleffect":0.1}', "/minimaleffect", "only", "another key"],
	[`{"pairs":[${"1,".repeat(10_000)}1]}`, "/pairs", "10000", "10001"],
])("malformed files %.60s is refused at %s", (...[text, pointer, expected, got]) => {
	const path = "runs/pairs.json";
	const words = expect.stringMatching(new RegExp(`^.{0,200}${expected}.{0,100}${got}.{0,100}$`));
	const fix = expect.stringContaining("milliseconds");
	expect(() => parsePairs(text, path)).toThrow(
		expect.objectContaining({ code: "pairs-invalid", pointer, location: { path }, message: words, fix }),
	);
});

const options = { minimalEffect: 0.02 };
const judge = (...logs: readonly number[]) =>
	judgePairs(
		logs.map((log) => ({ base: 1, head: Math.exp(log) })),
		options,
	);

test("a sentence says that doubt is not a pass", () => {
	expect(renderVerdict(judge(-0.05, 0.06, -0.03, 0.05, 0.01, -0.04, 0.03, 0))).toMatch(
		/^Inconclusive after 8 pairs: \+0\.\d % \(99 % interval −\d\.\d to \+\d+\.\d %\)\. Run noise of \d\.\d % is too high for a limit of 2 % with 8 pairs; a slowdown of up to \d+\.\d % is not ruled out\. Not a pass\.$/,
	);
	expect(renderVerdict(judge(0.01))).toBe(
		"Inconclusive: 1 run each of base and head is too few for a verdict: at least 5 pairs are needed. The runs so far differ by +1.0 %. Not a pass.",
	);
});

test("a sentence reports that there is nothing to compare", () => {
	expect(renderVerdict(judge())).toBe("Nothing to compare: There is no pair of runs to compare.");
	expect(renderVerdict(judgePairs([{ base: Number.NaN, head: 1 }], options))).toMatch(
		/^Not comparable: The base run of pair 1 gave NaN/,
	);
});

test("a sentence on what was not timed has no interval", () => {
	const exact = { verdict: "unchanged" as const, estimate: 0, interval: [0, 0] as [number, number] };
	const same = { ...judge(), ...exact, excluded: 0, reason: "Same engine." };
	expect(renderVerdict(same)).toBe("No change: Same engine.");
});
