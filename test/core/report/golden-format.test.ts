// The wording of reports on golden cases and whole sets.

import { expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict } from "../../../generated/result.ts";
import { goldenCounts } from "../../../src/core/report/golden-format.ts";
import { GateIndex } from "../../../src/core/report/index-gates.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { goldenHighlights } from "../../../src/core/report/sections/goldens.ts";
import { buildCheck, buildGolden, buildResult } from "../../support/build-result.ts";

const ofCase = (id: string, state: GoldenVerdict["state"], checks: GoldenCheck[] = []): GoldenVerdict =>
	buildGolden({ model: "net", engine: "fp16", case: id, state, checks });
const failing = buildCheck({ metric: "accuracy", got: 0.71, allowed: 0.75, bound: "at-least", pass: false });
const ofSet: GoldenVerdict = {
	...ofCase("whole set", "mismatch", [{ ...failing, detail: "0 in the worst case, b" }]),
	...{ scope: "set", cases: 3 },
};
const detail =
	"the fp16 error grew 3×: its relative L2 went from 0.001 in the base to 0.003, still within the limits";
const grown = buildCheck({
	base: null,
	metric: "error-growth",
	got: 3,
	allowed: 2,
	pass: false,
	severity: "warn",
	detail,
});

function firstHighlight(golden: GoldenVerdict[]) {
	const result = buildResult({ golden });
	return goldenHighlights(result, new GateIndex(result))[0];
}

it.each([
	["1 of 2 cases match", [ofCase("a", "match"), ofCase("b", "mismatch")]],
	["2 of 2 cases match, 1 with warnings", [ofCase("a", "match"), ofCase("b", "match", [grown])]],
	["1 of 1 case matches, 0 of 1 whole set", [ofCase("a", "match"), ofSet]],
])("reports count cases, and whole sets beside them: %s", (text, verdicts) => {
	expect(goldenCounts(verdicts)).toBe(text);
});

it("reports describe an error that grew in one sentence, with both errors", () => {
	const golden = [ofCase("a", "match", [grown])];
	expect(firstHighlight(golden)?.lines?.[0]).toBe(`\`${grown.output}\`: ${detail}.`);
	expect(renderMarkdown(buildResult({ golden }))).toContain(detail);
});

it.each([
	["match", " over its whole set of 3 cases"],
	["mismatch", " in 1 of 3 cases, and over its whole set of 3 cases"],
] as const)("reports mark a number over the set as such if case a is a %s", (state, extent) => {
	const highlight = firstHighlight([ofCase("b", "match"), ofCase("c", "match"), ofCase("a", state), ofSet]);
	expect(highlight?.title).toBe(`net · fp16 does not match its goldens${extent}`);
	expect(highlight?.lines?.join()).toContain("over the whole set of 3 cases");
});
