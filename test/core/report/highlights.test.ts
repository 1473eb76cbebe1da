import fc from "fast-check";
import { expect, it } from "vitest";
import type { GoldenCheck, GoldenVerdict, ProbeResult } from "../../../generated/result.ts";
import { validate } from "../../../generated/result-validator.js";
import { judgeProbe } from "../../../src/core/gates/goldens.ts";
import { goldenCounts } from "../../../src/core/report/golden-format.ts";
import { brief, countWords, excerptLines, type Highlight } from "../../../src/core/report/highlight.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { withoutMarks } from "../../../src/core/text/escape.ts";
import { buildConfig } from "../../support/build-config.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGate,
	buildGolden,
	buildResult,
	buildWorkload,
} from "../../support/build-result.ts";
import { inEveryFormat } from "../../support/every-format.ts";
import { resultCases } from "../../support/result-cases.ts";

it("highlights say what an inconclusive comparison leaves possible, and that it is not a pass", () => {
	const latency = buildComparison({ verdict: "inconclusive", estimate: 0.016, interval: [-0.006, 0.038] });
	const workload = buildWorkload({ latency, noise: { runCv: 0.021, detectable: 0.022 } });
	expect(highlights(buildResult({ workloads: [workload] }))[0]?.sentences.slice(0, 2)).toEqual([
		"Run noise 2.1 % is too high for a limit of 2 % on this runner; a slowdown of up to 3.8 % cannot be ruled out.",
		"Not a pass.",
	]);
});

it("highlights list an engine that fails on both sides once, a machine's fault as an error", () => {
	const excerpt = Array.from({ length: 30 }, (_, line) => `line ${line}`);
	const about = { code: "tool-crashed", title: "The worker ended.", fix: "Read the log." };
	const failure = { ...about, kind: "runner", excerpt } as const;
	const builds = (["base", "head"] as const).map((arm) => buildBuild({ arm, state: "refused", failure }));
	const gates = [buildGate({ gate: "build", status: "error", message: "The worker ended." })];
	const list = highlights(buildResult({ builds, gates }));
	expect(list.map(({ title, severity, topic }) => [title, severity, topic[0]])).toEqual([
		["encoder · fp16 does not build (base and head): The worker ended.", "error", "build failed"],
	]);
	expect(excerptLines(list[0]?.excerpt ?? [])).toHaveLength(13);
});

it("highlights call a base that does not build a note", () => {
	const builds = [buildBuild({ arm: "base", state: "timed-out" }), buildBuild()];
	const title = "encoder · fp16 does not build (base): timed out";
	expect(highlights(buildResult({ builds }))).toMatchObject([{ title, severity: "note" }]);
});

it("highlights repeat a caveat in titles about speed only beside another backend", () => {
	const verdicts = ["regressed", "improved", "inconclusive", "not-comparable", "missing"] as const;
	const gates = ["p99", "memory", "build-time", "max-latency", "run"] as const;
	const result = buildResult({
		backend: resultCases["on-cpu"]!.backend,
		workloads: verdicts.map((verdict) =>
			buildWorkload({ workload: verdict, latency: buildComparison({ verdict }) }),
		),
		gates: gates.map((gate) => buildGate({ gate, status: "warn" })),
	});
	const onGpu = { name: "gpu", state: "merged" as const, backend: buildResult().backend };
	for (const parts of [undefined, [onGpu]]) {
		const titles = highlights({ ...result, ...(parts && { parts }) }).map(({ title }) => title);
		const withCaveat = titles.filter((title) => title.includes("CPU, not TensorRT"));
		expect([titles.length, withCaveat.length]).toEqual([10, parts === undefined ? 0 : 10]);
	}
});

it("highlights show an open alarm with its size in the title, its command and course as code", () => {
	const message =
		"+1.30 % ± 0.05 % slower since 2026-02-10. It began between 459b217 and 88267e8: `trtgate run`. The last 3 nights: `▁▁█`.";
	const gates = [buildGate({ gate: "trend", status: "fail", message })];
	expect(highlights(buildResult({ gates }))).toMatchObject([
		{
			title: expect.stringMatching(/, trend: \+1\.30 % ± 0\.05 % slower since 2026-02-10$/),
			sentences: ["It began between 459b217 and 88267e8: `trtgate run`.", "The last 3 nights: `▁▁█`."],
		},
	]);
});

function wordsOf({ title, lines = [], sentences }: Highlight) {
	return countWords([title, ...[...lines, ...sentences].map(withoutMarks)].join(" "));
}

const ofWords = (count: number) => new Array(count).fill("word").join(" ");
const phrases = (...lengths: number[]) => lengths.map((length) => ofWords(length));
const blank = { severity: "fail", topic: ["one", "many"] } as const;

it("a highlight has at most 60 words, and none says that all is well if nothing was checked", () => {
	expect(headline(buildResult({ gates: [], golden: [], workloads: [] }))).toBe("nothing was checked");
	for (const highlight of Object.values(resultCases).flatMap((result) => highlights(result)))
		expect(wordsOf(brief(highlight, 60))).toBeLessThanOrEqual(60);
	const text = fc.nat({ max: 80 }).map((count) => ofWords(count));
	const list = fc.array(text, { maxLength: 10 });
	const parts = { title: text, sentences: list, lines: list };
	const any = fc.record(parts, { requiredKeys: ["title", "sentences"] });
	fc.assert(
		fc.property(any, (drawn) => {
			expect(wordsOf(brief({ ...blank, ...drawn }, 60))).toBeLessThanOrEqual(60);
		}),
	);
});

const fitting = { lines: phrases(10, 10), sentences: phrases(10) };
const many = { lines: phrases(20, 20, 20), sentences: phrases(9, 3) };

it.each([
	["what fits unchanged", fitting, [10, 10], [10]],
	["further sentences that still fit", { sentences: phrases(20, 35, 5) }, [], [20, 5]],
	["lines before sentences, and counts those left out", many, [20, 20, 5], [3]],
	["the beginning of a long first sentence", { sentences: phrases(90) }, [], [50]],
])("a highlight in a comment keeps %s", (_, parts, lines, sentences) => {
	const short = brief({ ...blank, title: ofWords(10), ...parts }, 60);
	const lengths = (list: Highlight["sentences"] = []) => list.map((phrase) => countWords(phrase));
	expect([lengths(short.lines), lengths(short.sentences)]).toEqual([lines, sentences]);
});

const ofCase = (id: string, state: GoldenVerdict["state"], checks: GoldenCheck[] = []) =>
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

it.each<[string, Partial<GoldenCheck>]>([
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

it("reports count cases and whole sets, and describe an error that grew in one sentence", () => {
	const match = ofCase("a", "match");
	expect(goldenCounts([match, ofCase("b", "mismatch")])).toBe("1 of 2 cases match");
	expect(goldenCounts([match, ofCase("b", "match", [grown])])).toBe("2 of 2 cases match, 1 with warnings");
	expect(goldenCounts([match, ofSet])).toBe("1 of 1 case matches, 0 of 1 whole set");
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
	["", ["fail", "pass"], [`fail: ${depends}`, known]],
	["gates: { probes: { fail: 2000 } }", ["warn", "pass"], [`warn: ${depends}`, known]],
	["gates: { probes: { warn: off, fail: off } }", [], [known]],
])("the gate of probes with %j gives %j, and nothing for the known and the skipped", (gates, is, titles) => {
	const result = judged(gates);
	expect(result.gates.map(({ status }) => status)).toEqual(is);
	expect(told(result)).toEqual(titles);
	expect(inEveryFormat(result).html).toContain("a row does not depend on its neighbours");
});

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

it("reports tell probes without an answer or a number, and escape text from a model", () => {
	const odd = [probe({ got: "NaN" }), probe({ probe: "profile-sizes", got: null, allowed: null })];
	expect(told(judged("", odd))).toEqual([
		"fail: net · plain gives no finite output",
		"fail: net · plain gives no output at a size within its profile",
	]);
	const { markdown, html } = inEveryFormat(
		judged("", [probe({ message: "<script>x</script> ::error::`|" })]),
	);
	expect(html + markdown).not.toContain("<script>x");
});
