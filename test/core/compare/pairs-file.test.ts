// The pairs file is read strictly, and recorded comparisons get the right sentence.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parsePairs } from "../../../src/core/compare/pairs-file.ts";
import { renderVerdict } from "../../../src/core/compare/sentence.ts";
import { judgePairs } from "../../../src/core/compare/verdict.ts";
import { ConfigError } from "../../../src/core/errors.ts";

function recorded(name: string) {
	const file = parsePairs(
		readFileSync(new URL(`../../fixtures/pairs/${name}.json`, import.meta.url), "utf8"),
		`${name}.json`,
	);
	return judgePairs(file.pairs, file);
}

test("recorded on a GPU, a wider network is slower by 4.2 %", () => {
	const got = recorded("slower-head");
	expect(got.verdict).toBe("regressed");
	expect(got.estimate).toBeCloseTo(0.042, 2);
	expect(renderVerdict(got)).toBe("Slower: +4.2 % (99 % interval +3.7 to +4.7 %), 8 pairs.");
});

test("recorded on a GPU, the same model is unchanged, and 1 % is excluded", () => {
	const got = recorded("same-model");
	expect(got.verdict).toBe("unchanged");
	expect(got.excluded).toBeLessThan(0.01);
	expect(renderVerdict(got)).toBe(
		"No relevant change: \u22120.1 % (99 % interval \u22120.3 to +0.2 %), 8 pairs; changes of 0.4 % or more are ruled out.",
	);
});

test("recorded on a GPU, swapped, the wider network becomes the faster one", () => {
	const file = parsePairs(
		readFileSync(new URL("../../fixtures/pairs/slower-head.json", import.meta.url), "utf8"),
		"pairs.json",
	);
	const got = judgePairs(
		file.pairs.map(({ base, head }) => ({ base: head, head: base })),
		file,
	);
	expect(renderVerdict(got)).toBe("Faster: \u22124.0 % (99 % interval \u22124.5 to \u22123.5 %), 8 pairs.");
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
	const refusal = (() => {
		try {
			return parsePairs(text, "runs/pairs.json");
		} catch (error) {
			return error;
		}
	})();
	expect(refusal).toBeInstanceOf(ConfigError);
	if (!(refusal instanceof ConfigError)) return;
	expect(refusal.code).toBe("pairs-invalid");
	expect(refusal).toMatchObject({ pointer, location: { path: "runs/pairs.json" } });
	expect(refusal.message).toContain(expected);
	expect(refusal.message).toContain(got);
	expect(refusal.fix).toContain("milliseconds");
	expect(refusal.message.length).toBeLessThan(400);
});

describe("sentences", () => {
	const judge = (logs: readonly number[]) =>
		judgePairs(
			logs.map((log) => ({ base: 1, head: Math.exp(log) })),
			{ minimalEffect: 0.02 },
		);

	test("doubt is not a pass", () => {
		expect(renderVerdict(judge([-0.05, 0.06, -0.03, 0.05, 0.01, -0.04, 0.03, 0]))).toMatch(
			/^Inconclusive after 8 pairs: \+0\.\d % \(99 % interval −\d\.\d to \+\d+\.\d %\)\. Run noise of .* is not ruled out\. Not a pass\.$/,
		);
		expect(renderVerdict(judge([0.01]))).toBe(
			"Inconclusive: 1 run each of base and head is too few for a verdict: at least 5 pairs are needed. The runs so far differ by +1.0 %. Not a pass.",
		);
	});

	test("nothing to compare is reported", () => {
		expect(renderVerdict(judge([]))).toBe("Nothing to compare: There is no pair of runs to compare.");
		expect(renderVerdict(judgePairs([{ base: Number.NaN, head: 1 }], { minimalEffect: 0.02 }))).toMatch(
			/^Not comparable: The base run of pair 1 gave NaN/,
		);
	});

	test("what was not timed is not given an interval in words", () => {
		const identical = {
			...judge([]),
			verdict: "unchanged",
			estimate: 0,
			interval: [0, 0],
			excluded: 0,
			reason: "Same engine.",
		} as const;
		expect(renderVerdict({ ...identical, interval: [0, 0] })).toBe("No change: Same engine.");
	});
});
