// What reports say of golden cases and of whole sets.
import { expect, it } from "vitest";
import type { GoldenVerdict } from "../../../generated/result.ts";
import { goldenCounts } from "../../../src/core/report/golden-format.ts";
import { indexGates } from "../../../src/core/report/index-gates.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { goldenHighlights } from "../../../src/core/report/sections/golden-highlights.ts";
import { buildResult } from "../../support/build-result.ts";

const about = {
	model: "net",
	engine: "fp16",
	precision: "fp16",
	golden: "net@1",
	modelChanged: false,
} as const;
const ofCase = (id: string, state: GoldenVerdict["state"]): GoldenVerdict => ({
	...about,
	case: id,
	state,
	checks: [],
});
const check = {
	output: "logits",
	metric: "accuracy",
	got: 0.71,
	allowed: 0.75,
	bound: "at-least",
	pass: false,
	severity: "fail",
	elements: 9,
} as const;
const ofSet: GoldenVerdict = {
	...about,
	case: "whole set",
	scope: "set",
	cases: 3,
	state: "mismatch",
	checks: [{ ...check, detail: "0 in the worst case, b" }],
};

it("reports of goldens count cases, and whole sets beside them", () => {
	expect(goldenCounts([ofCase("a", "match"), ofCase("b", "mismatch")])).toBe("1 of 2 cases match");
	const warning = {
		output: "y",
		metric: "error-growth",
		got: 3,
		allowed: 2,
		bound: "at-most",
		pass: false,
		severity: "warn",
		elements: 1,
	} as const;
	expect(goldenCounts([ofCase("a", "match"), { ...ofCase("b", "match"), checks: [warning] }])).toBe(
		"2 of 2 cases match, 1 with warnings",
	);
	expect(goldenCounts([ofCase("a", "match"), ofSet])).toBe("1 of 1 case matches, 0 of 1 whole set");
});

it("reports of goldens describe an error that grew in one sentence, with both errors and the case", () => {
	const detail =
		"the fp16 error grew 3×: its relative L2 went from 0.001 in the base to 0.003, still within the limits";
	const grown = {
		...check,
		metric: "error-growth",
		got: 3,
		allowed: 2,
		bound: "at-most",
		severity: "warn",
		detail,
	} as const;
	const result = { ...buildResult(), golden: [{ ...ofCase("a", "match"), checks: [grown] }] };
	const [highlight] = goldenHighlights(result, indexGates(result));
	expect(highlight?.lines?.[0]).toBe(`\`${grown.output}\`: ${detail}.`);
	expect(renderMarkdown(result)).toContain(
		"the fp16 error grew 3×: its relative L2 went from 0.001 in the base to 0.003, still within the limits",
	);
});

it.each([
	["match", " over its whole set of 3 cases"],
	["mismatch", " in 1 of 3 cases, and over its whole set of 3 cases"],
] as const)("reports of goldens mark the number over the set as such where case a is a %s", (state, extent) => {
	const golden = [ofCase("b", "match"), ofCase("c", "match"), ofCase("a", state), ofSet];
	const result = { ...buildResult(), golden };
	const [highlight] = goldenHighlights(result, indexGates(result));
	expect(highlight?.title).toBe(`net · fp16 does not match its goldens${extent}`);
	expect(JSON.stringify(highlight?.lines?.[0])).toContain("over the whole set of 3 cases");
});
