// Reports on goldens and probes: each check in words, whole sets as such, and probes never as a reference.
import { expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict, ProbeResult } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { judgeProbe } from "../../../src/core/gates/goldens.ts";
import { goldenCounts } from "../../../src/core/report/golden-format.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildCheck, buildGolden, buildResult } from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";

const ofCase = (id: string, state: GoldenVerdict["state"], checks: GoldenCheck[] = []): GoldenVerdict =>
	buildGolden({ case: id, state, checks });
const failing = buildCheck({ metric: "accuracy", got: 0.71, allowed: 0.75, bound: "at-least", pass: false });
const ofSet: GoldenVerdict = {
	...ofCase("whole set", "mismatch", [{ ...failing, detail: "0 in the worst case, b" }]),
	...{ scope: "set", cases: 3 },
};
const detail = "the fp16 error grew 3×: its relative L2 went from 0.001 in the base to 0.003";
const growth = { base: null, metric: "error-growth", got: 3, allowed: 2, detail };
const grown = buildCheck({ ...growth, pass: false, severity: "warn" });
const firstHighlight = (...golden: GoldenVerdict[]) => highlights(buildResult({ golden }))[0];

it.each<[words: string, Partial<GoldenCheck>]>([
	["is 1.004e-3, 1.004 times the limit of 1e-3", { got: 0.001004, allowed: 0.001 }],
	["similarity is 0.64 (at least 0.99 required)", { ...failing, got: 0.64, allowed: 0.99, metric: "cosine" }],
	["is NaN (limit 5e-3)", { got: "NaN" }],
	["Expected [1,10].", { got: null, allowed: null, metric: "shape", detail: "Expected [1,10]." }],
	["times the limit of 5e-3", { got: 5e8 }],
	["is 0.2 (limit 0)", { got: 0.2, allowed: 0 }],
	["[7]: got 1.0000001, expected 1.", { worst: { index: [7], got: 1.00000012, expected: 1 } }],
])("reports say of a failing check: %s", (words, over) => {
	const { lines, sentences } = firstHighlight(
		ofCase("a", "mismatch", [buildCheck({ ...over, pass: false })]),
	)!;
	expect([...(lines ?? []), ...sentences].join(" ")).toContain(words);
});

it.each([
	["1 of 2 cases match", [ofCase("a", "match"), ofCase("b", "mismatch")]],
	["2 of 2 cases match, 1 with warnings", [ofCase("a", "match"), ofCase("b", "match", [grown])]],
	["1 of 1 case matches, 0 of 1 whole set", [ofCase("a", "match"), ofSet]],
])("reports count cases, and whole sets beside them: %s", (text, verdicts) => {
	expect(goldenCounts(verdicts)).toBe(text);
});

it("reports describe an error that grew in one sentence, with both errors", () => {
	const golden = [ofCase("a", "match", [grown])];
	expect(firstHighlight(...golden)?.lines).toEqual([`\`${grown.output}\`: ${detail}.`]);
	expect(inEveryFormat(buildResult({ golden })).markdown).toContain(detail);
});

it.each([
	["match", " over its whole set of 3 cases"],
	["mismatch", " in 1 of 3 cases, and over its whole set of 3 cases"],
] as const)("reports mark a number over the set as such if case a is a %s", (state, extent) => {
	const highlight = firstHighlight(ofCase("b", "match"), ofCase("c", "match"), ofCase("a", state), ofSet);
	expect(highlight?.title).toBe(`encoder · fp16 does not match its goldens${extent}`);
	expect(highlight?.lines?.join()).toContain("over the whole set of 3 cases");
});

const probe = (over: Partial<ProbeResult> = {}): ProbeResult => ({
	...{ model: "net", engine: "plain", probe: "neighbours", state: "differs", got: 0.61, allowed: 5e-4 },
	...{ output: "y", message: "A row beside other neighbours and the row before are 0.61 apart." },
	...over,
});

const all: ProbeResult[] = [
	probe(),
	probe({ probe: "determinism", state: "agrees", got: 0 }),
	probe({ probe: "batch-size", state: "known", base: 0.6 }),
	probe({ probe: "padding", state: "skipped", got: null, allowed: null, message: "No input tells padding." }),
];

function judged(gates: string, probes: ProbeResult[] = all) {
	const config = buildConfig(gates);
	const [engine] = config.models[0]!.engines;
	return buildResult({ probes, gates: probes.flatMap((one) => judgeProbe(one, config, engine!)) });
}

const told = (of: ReturnType<typeof judged>) =>
	highlights(of)
		.filter(({ title }) => title.endsWith("no reference)"))
		.map(({ severity, title }) => `${severity}: ${title.replace(/ \(probe, no reference\)$/, "")}`);
const known = "note: net · plain gives different outputs at different batch sizes, as its base does";
const depends = "net · plain has rows that depend on their neighbours";

it.each([
	["", ["warn", "pass"], [`warn: ${depends}`, known]],
	["gates: { probes: fail }", ["fail", "pass"], [`fail: ${depends}`, known]],
	["gates: { probes: off }", [], [known]],
])(
	"the gate of probes with %j gives %j, and nothing for what is known or does not apply",
	(gates, is, titles) => {
		const result = judged(gates);
		expect(result.gates.map(({ status }) => status)).toEqual(is);
		expect(told(result)).toEqual(titles);
		expect(inEveryFormat(result).html).toContain("a row does not depend on its neighbours");
	},
);

it("reports call probes what they are, without a reference, in every format", () => {
	const result = judged("");
	expect(validate(result), JSON.stringify(validate.errors)).toBe(true);
	const title = "Probes (no reference): 1 of 3 answers agree, 1 does not apply";
	for (const text of Object.values(inEveryFormat(result)))
		for (const shown of [title, "a row does not depend on its neighbours", "also in the base"])
			expect(text).toContain(shown);
	expect(inEveryFormat(result).html).toContain("No input tells padding");
	expect(headline(result)).toContain("1 probe difference");
	for (const text of Object.values(inEveryFormat(buildResult()))) expect(text).not.toContain("Probes");
});

it("reports tell answers of probes that are missing or not a number, and escape text from a model", () => {
	const odd = [probe({ got: "NaN" }), probe({ probe: "profile-ends", got: null, allowed: null })];
	expect(told(judged("", odd))).toEqual([
		"warn: net · plain gives no finite output",
		"warn: net · plain gives no output at a size within its profile",
	]);
	const { markdown, html } = inEveryFormat(
		judged("", [probe({ message: "<script>x</script> ::error::`|" })]),
	);
	expect(html + markdown).not.toContain("<script>x");
});
