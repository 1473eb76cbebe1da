// The choice of highlights, and their wording.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { brief, countWords, excerptLines, type Highlight } from "../../../src/core/report/highlight.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { withoutMarks } from "../../../src/core/text/escape.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGate,
	buildGolden,
	buildResult,
	buildWorkload,
} from "../../support/build-result.ts";
import { resultCases } from "../../support/result-cases.ts";

function told(result: Result): string[] {
	return highlights(result).map(({ title, lines = [], sentences }) =>
		[title, ...[...lines, ...sentences].map(withoutMarks)].join(" "),
	);
}

it("headline never reports that all is well if nothing was checked", () => {
	expect(headline(buildResult({ gates: [], golden: [], workloads: [] }))).toBe("nothing was checked");
});

it.each([
	[{ index: [0, 3], got: 1.84, expected: 1.97 }, "[0,3]: got 1.84, expected 1.97."],
	[{ index: [7], got: 1.00000012, expected: 1 }, "[7]: got 1.0000001, expected 1."],
])("highlights name the worst element: %j", (worst, text) => {
	const check = buildCheck({ metric: "allclose", got: 0.02, allowed: 1e-3, pass: false, worst });
	const golden = [buildGolden({ state: "mismatch", checks: [check] })];
	expect(told(buildResult({ golden }))[0]).toContain(`Worst element ${text}`);
});

it("highlights say what is still possible after an inconclusive comparison, and that it is not a pass", () => {
	const figures = { estimate: 0.016, interval: [-0.006, 0.038] as [number, number], pairs: 16 };
	const latency = buildComparison({ verdict: "inconclusive", ...figures });
	const workload = buildWorkload({ latency, noise: { runCv: 0.021, detectable: 0.022 } });
	expect(told(buildResult({ workloads: [workload] }))[0]).toContain(
		"Run noise 2.1 % is too high for a limit of 2 % on this runner; a slowdown of up to 3.8 % cannot be ruled out. Not a pass.",
	);
});

it("highlights list an engine that fails on both sides once, and never report a machine's fault as a refusal", () => {
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
	const list = highlights(buildResult({ builds }));
	expect(list.map(({ title, severity }) => [title, severity])).toEqual([
		["encoder · fp16 does not build (base): timed out", "note"],
	]);
});

it.each([
	[{ got: 0.001004, allowed: 0.001 }, "is 1.004e-3, 1.004 times the limit of 1e-3"],
	[
		{ got: 0.64, allowed: 0.99, bound: "at-least", metric: "cosine" } as const,
		"cosine similarity is 0.64 (at least 0.99 required)",
	],
	[{ got: "NaN" } as const, "is NaN (limit 5e-3)"],
	[
		{ got: null, allowed: null, metric: "shape", detail: "Expected [1,10], got [1,11]." },
		"Expected [1,10], got [1,11].",
	],
	[{ got: 5e8, allowed: 0.005 }, "times the limit of 5e-3"],
	[{ got: 0.2, allowed: 0 }, "is 0.2 (limit 0)"],
])("highlights word a failing check %j", (check, words) => {
	const golden = [buildGolden({ state: "mismatch", checks: [buildCheck({ ...check, pass: false })] })];
	expect(told(buildResult({ golden }))[0]).toContain(words);
});

it("highlights repeat a backend's caveat in a title about speed only if a merged result has another backend too", () => {
	const verdicts = ["regressed", "improved", "inconclusive", "not-comparable", "missing"] as const;
	const gates = ["p99", "memory", "build-time", "max-latency", "run"] as const;
	const result = buildResult({
		backend: resultCases["on-cpu"]!.backend,
		workloads: verdicts.map((verdict) =>
			buildWorkload({ workload: verdict, latency: buildComparison({ verdict }) }),
		),
		gates: gates.map((gate) => buildGate({ gate, status: "warn" })),
	});
	const titlesOf = (shown: typeof result) => highlights(shown).map((highlight) => highlight.title);
	expect(titlesOf(result)).toHaveLength(10);
	expect(titlesOf(result).join()).not.toContain("CPU, not TensorRT");
	const onGpu = { name: "gpu", state: "merged" as const, backend: buildResult().backend };
	const titles = titlesOf({ ...result, parts: [onGpu] });
	expect(titles).toHaveLength(10);
	for (const title of titles) expect(title).toContain("CPU, not TensorRT");
});

it("highlights show an open alarm of the history with its size in the title, and its command and course as code", () => {
	const message =
		"+1.30 % ± 0.05 % slower since 2026-02-10. Cause: the change (layers). It began between 459b217 and 88267e8: `trtgate run`. The last 3 nights: `▁▁█`.";
	const result = buildResult({ gates: [buildGate({ gate: "trend", status: "fail", message })] });
	const [highlight, ...others] = highlights(result);
	expect(others).toEqual([]);
	expect(highlight?.title).toMatch(/, trend: \+1\.30 % ± 0\.05 % slower since 2026-02-10$/);
	expect(highlight?.sentences[0]).toContain("`trtgate run`");
	expect(highlight?.sentences[0]).toContain("`▁▁█`");
});

// A highlight of a comment: never more words than allowed, and what matters most is kept.

function wordsOf({ title, lines = [], sentences, fix = "" }: Highlight): number {
	return countWords([title, ...[...lines, ...sentences].map(withoutMarks), fix].join(" "));
}

const words = (count: number, word = "word"): string => Array.from({ length: count }, () => word).join(" ");
const phrases = (...lengths: number[]) => lengths.map((length) => words(length));
const blank = { severity: "fail", topic: ["one", "many"] } as const;

it("the comment has at most 60 words, whatever is reported", () => {
	for (const result of Object.values(resultCases)) {
		for (const highlight of highlights(result)) expect(wordsOf(brief(highlight, 60))).toBeLessThanOrEqual(60);
	}
	const text = fc.nat({ max: 80 }).map((count) => words(count));
	const list = fc.array(text, { maxLength: 10 });
	const any = fc.record(
		{ title: text, sentences: list, lines: list, fix: text },
		{
			requiredKeys: ["title", "sentences"],
		},
	);
	fc.assert(
		fc.property(any, (parts) => {
			expect(wordsOf(brief({ ...blank, ...parts }, 60))).toBeLessThanOrEqual(60);
		}),
	);
});

const fitting = { lines: phrases(10, 10), sentences: phrases(10), fix: words(10) };
const many = { lines: phrases(20, 20, 20), sentences: phrases(9, 3) };

it.each([
	["what fits unchanged", fitting, [10, 10], [10], 10],
	["the fix before further sentences", { sentences: phrases(20, 25, 5), fix: words(14) }, [], [20, 5], 14],
	["lines before sentences, and counts those left out", many, [20, 20, 5], [3], 0],
	["the beginning of a long first sentence", { sentences: phrases(90), fix: words(30) }, [], [25], 24],
])("the comment keeps %s", (_, parts, lines, sentences, fix) => {
	const short = brief({ ...blank, title: words(10), ...parts }, 60);
	const lengths = (list: Highlight["sentences"] = []) => list.map((phrase) => countWords(phrase));
	expect([lengths(short.lines), lengths(short.sentences)]).toEqual([lines, sentences]);
	expect(countWords(short.fix ?? "")).toBe(fix);
});
