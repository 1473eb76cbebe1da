// The choice of highlights and their wording, never longer than a comment allows.
import fc from "fast-check";
import { expect, it } from "vitest";
import { brief, countWords, excerptLines, type Highlight } from "../../../src/core/report/highlight.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { withoutMarks } from "../../../src/core/text/escape.ts";
import {
	buildBuild,
	buildComparison,
	buildGate,
	buildResult,
	buildWorkload,
} from "../../support/build-result.ts";
import { resultCases } from "../../support/result-cases.ts";

it("headline never reports that all is well if nothing was checked", () => {
	expect(headline(buildResult({ gates: [], golden: [], workloads: [] }))).toBe("nothing was checked");
});

it("highlights say what is still possible after an inconclusive comparison, and that it is not a pass", () => {
	const latency = buildComparison({ verdict: "inconclusive", estimate: 0.016, interval: [-0.006, 0.038] });
	const workload = buildWorkload({ latency, noise: { runCv: 0.021, detectable: 0.022 } });
	expect(highlights(buildResult({ workloads: [workload] }))[0]?.sentences.slice(0, 2)).toEqual([
		"Run noise 2.1 % is too high for a limit of 2 % on this runner; a slowdown of up to 3.8 % cannot be ruled out.",
		"Not a pass.",
	]);
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
	const title = "encoder · fp16 does not build (base): timed out";
	expect(highlights(buildResult({ builds }))).toMatchObject([{ title, severity: "note" }]);
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
	const onGpu = { name: "gpu", state: "merged" as const, backend: buildResult().backend };
	for (const parts of [undefined, [onGpu]]) {
		const titles = highlights({ ...result, ...(parts && { parts }) }).map(({ title }) => title);
		const withCaveat = titles.filter((title) => title.includes("CPU, not TensorRT"));
		expect([titles.length, withCaveat.length]).toEqual([10, parts === undefined ? 0 : 10]);
	}
});

it("highlights show an open alarm of the history with its size in the title, and its command and course as code", () => {
	const message =
		"+1.30 % ± 0.05 % slower since 2026-02-10. It began between 459b217 and 88267e8: `trtgate run`. The last 3 nights: `▁▁█`.";
	const gates = [buildGate({ gate: "trend", status: "fail", message })];
	expect(highlights(buildResult({ gates }))).toMatchObject([
		{
			title: expect.stringMatching(/, trend: \+1\.30 % ± 0\.05 % slower since 2026-02-10$/),
			sentences: [expect.stringMatching(/`trtgate run`.*`▁▁█`/)],
		},
	]);
});

function wordsOf({ title, lines = [], sentences, fix = "" }: Highlight): number {
	return countWords([title, ...[...lines, ...sentences].map(withoutMarks), fix].join(" "));
}

const words = (count: number) => new Array(count).fill("word").join(" ");
const phrases = (...lengths: number[]) => lengths.map((length) => words(length));
const blank = { severity: "fail", topic: ["one", "many"] } as const;

it("the comment has at most 60 words, whatever is reported", () => {
	for (const result of Object.values(resultCases)) {
		for (const highlight of highlights(result)) expect(wordsOf(brief(highlight, 60))).toBeLessThanOrEqual(60);
	}
	const text = fc.nat({ max: 80 }).map((count) => words(count));
	const list = fc.array(text, { maxLength: 10 });
	const parts = { title: text, sentences: list, lines: list, fix: text };
	const any = fc.record(parts, { requiredKeys: ["title", "sentences"] });
	fc.assert(
		fc.property(any, (drawn) => {
			expect(wordsOf(brief({ ...blank, ...drawn }, 60))).toBeLessThanOrEqual(60);
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
