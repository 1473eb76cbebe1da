// The choice of highlights, and their wording.

import { expect, it } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { excerptLines } from "../../../src/core/report/highlight.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { withoutMarks } from "../../../src/core/text/escape.ts";
import {
	buildBuild,
	buildCheck,
	buildComparison,
	buildGate,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
} from "../../support/build-result.ts";
import { resultCases } from "../../support/result-cases.ts";

function told(result: Result): string[] {
	return highlights(result).map(({ title, lines = [], sentences }) =>
		[title, ...[...lines, ...sentences].map(withoutMarks)].join(" "),
	);
}

function named(name: string): Result {
	const result = resultCases[name];
	if (result === undefined) throw new Error(`no case ${name}`);
	return result;
}

it.each([
	["all-green", "all 4 checks pass · slowdowns of 0.2 % or more are ruled out"],
	["mismatch-and-slowdown", "1 golden mismatch, 1 slowdown · 9 of 12 checks pass"],
	["inconclusive", "1 inconclusive comparison · 3 of 4 checks pass"],
	["no-base", "all 4 checks pass"],
	["on-cpu", "1 golden mismatch, 1 increase of work · 9 of 12 checks pass"],
	["build-refused", "1 build refused, 1 preflight gate fails · 0 of 2 checks pass"],
	["partial", "stopped in measure · 1 error · all 3 checks pass"],
	["errors", "1 error, 1 golden not judged, 1 GitHub fault · 1 of 3 checks pass"],
	["improved-and-new", "1 speedup, 1 workload not compared · all 4 checks pass · any slowdown is ruled out"],
	["many-workloads", "100 slowdowns · 200 of 300 checks pass"],
])("headline of %s report what is not green", (name, expected) => {
	expect(headline(named(name))).toBe(expected);
});

it("headline never reports that all is well if nothing was checked", () => {
	expect(headline(buildResult({ gates: [], golden: [], workloads: [] }))).toBe("nothing was checked");
});

it("highlights state a slowdown with its interval, pairs, noise and limits", () => {
	expect(told(buildResult({ workloads: [buildSlowWorkload()] }))).toEqual([
		"classifier · fp16 · batch 8 is slower: +4.2 % (99 % interval +3.7 % … +4.6 %) Warns at 2 %, fails at 10 %. " +
			"8 interleaved pairs, run noise 0.2 %. Clocks equal on both sides. Median 27.91 µs → 29.02 µs. P99 +4.1 % (99 % interval +3.6 % … +4.6 %).",
	]);
});

it("highlights state a mismatch in a line for each output, then the worst element, once for all cases of an engine", () => {
	expect(told(named("mismatch-and-slowdown"))[0]).toBe(
		"segmenter · fp32 does not match its goldens in 2 of 2 cases " +
			"logits_out: relative L2 is 3.3e-2, 33 times the limit of 1e-3 (case case1); base 3e-7. " +
			"mask: share of elements outside tolerance is 2.2e-2, 22 times the limit of 1e-3 (case case0); base 0. " +
			"Worst element [0,4,17,33]: got 1.842, expected 1.97.",
	);
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
	const [highlight] = told(named("inconclusive"));
	expect(highlight).toContain("is inconclusive after 16 pairs: +1.6 % (99 % interval −0.6 % … +3.8 %)");
	expect(highlight).toContain("a slowdown of up to 3.8 % is not ruled out");
	expect(highlight).toContain("Not a pass.");
	const figures = {
		estimate: 0.016,
		interval: [-0.006, 0.038] as [number, number],
		pairs: 16,
		excluded: 0.038,
	};
	const latency = buildComparison({ verdict: "inconclusive", ...figures });
	const workload = buildWorkload({ latency, noise: { runCv: 0.021, detectable: 0.022 } });
	expect(told(buildResult({ workloads: [workload] }))[0]).toContain(
		"Run noise 2.1 % is too high for a limit of 2 % on this runner; a slowdown of up to 3.8 % cannot be ruled out. Not a pass.",
	);
});

it("highlights carry fix and excerpt of a refused build", () => {
	const [highlight] = highlights(named("build-refused"));
	expect(highlight?.title).toBe(
		"encoder · fp16 does not build (head): TensorRT does not know the operator GridSample3D.",
	);
	expect(highlight?.fix).toContain("Replace the operator");
	expect(highlight?.excerpt).toHaveLength(2);
});

it("highlights list an engine that fails on both sides once, and never report a machine's fault as a refusal", () => {
	const excerpt = Array.from({ length: 30 }, (_, line) => `line ${line}`);
	const about = {
		code: "tool-crashed",
		title: "The worker ended.",
		fix: "Read the log.",
		kind: "runner",
	} as const;
	const builds = (["base", "head"] as const).map((arm) =>
		buildBuild({ arm, state: "refused", failure: { ...about, excerpt } }),
	);
	const gates = [buildGate({ gate: "build", status: "error", message: "The worker ended." })];
	const list = highlights(buildResult({ builds, gates }));
	expect(list.map(({ title, severity, topic }) => [title, severity, topic[0]])).toEqual([
		["encoder · fp16 does not build (base and head): The worker ended.", "error", "build failed"],
	]);
	expect(excerptLines(list[0]?.excerpt ?? [])).toHaveLength(13);
});

it("highlights call a base that does not build a note", () => {
	const list = highlights(
		buildResult({ builds: [buildBuild({ arm: "base", state: "timed-out" }), buildBuild()] }),
	);
	expect(list.map(({ title, severity }) => [title, severity])).toEqual([
		["encoder · fp16 does not build (base): timed out", "note"],
	]);
});

it("highlights report gates that nothing else explains", () => {
	expect(told(named("not-comparable"))).toContain(
		"encoder · fp16: the engine size gate fails Engine 504 KiB → 1.20 MiB (+144 %).",
	);
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
		backend: named("on-cpu").backend,
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
