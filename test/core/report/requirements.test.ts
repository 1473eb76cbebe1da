// Looser rules and lost coverage: one section each, in every format, instead of the general highlights of their gates.
import { describe, expect, it } from "vitest";
import type { GateResult } from "../../../generated/result.ts";
import { headline, highlights } from "../../../src/core/report/highlights.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildGate, buildResult } from "../../support/build-result.ts";

const about = { model: "net", engine: "fp16", status: "warn" } as const;
const loosened: GateResult = {
	...about,
	gate: "limit-change",
	message:
		"gates.latency.fail: 10 % → 400 %. It holds after the merge; this change was judged by the base's. It needs a review.",
	location: { path: "trtgate.yml", line: 11 },
};
const dropped: GateResult = {
	...{ ...about, gate: "coverage", engine: "int8", workload: "batch 8" },
	message: "The base checks this workload; the head no longer does.",
};
const vanished: GateResult = {
	...{ ...about, gate: "vanished", workload: "batch 1" },
	message: "The base reports peak memory (742 MiB); the head does not, so nothing was compared.",
};

const result = buildResult({ gates: [buildGate(), loosened, dropped, vanished] });
const texts = {
	markdown: renderMarkdown(result),
	html: renderHtml(result),
	terminal: renderTerminal(result, { color: false, columns: 120 }),
};

describe.each(Object.entries(texts))("the report as %s", (_, text) => {
	it("the report lists the looser rules, with their place in the config", () => {
		for (const shown of ["Rules: 1 change to review", "gates.latency.fail: 10 % → 400 %", "trtgate.yml:11"])
			expect(text.replaceAll("\\", "")).toContain(shown);
	});

	it("the report lists what is no longer checked or reported", () => {
		for (const shown of ["Coverage: 2 no longer checked", "peak memory (742 MiB)", "int8 · batch 8"])
			expect(text).toContain(shown);
	});
});

it("the report has neither section if nothing was loosened or dropped", () => {
	const nothing = buildResult({ gates: [buildGate()] });
	const shown =
		renderMarkdown(nothing) + renderHtml(nothing) + renderTerminal(nothing, { color: false, columns: 120 });
	expect(shown).not.toMatch(/Rules: |Coverage: /);
});

it("the terminal's table of rules shows below each subject what changed", () => {
	expect(texts.terminal).toMatch(
		/Rules: 1 change to review\nSubject +in +gate\nnet · fp16 +trtgate\.yml:11 +warn\n {4}gates\.latency\.fail: 10 % → 400 %/,
	);
});

it("the report explains each gate once, with its fix", () => {
	const told = highlights(result).map(({ title, fix = "" }) => `${title} → ${fix}`);
	expect(told).toEqual([
		expect.stringMatching(/^net · fp16: its rules need a review → Restore the rule/),
		expect.stringMatching(/^net · int8 · batch 8: no longer checked → Restore it in trtgate\.yml/),
		expect.stringMatching(/^net · fp16 · batch 1: figures are no longer reported → Find out why/),
	]);
	expect(headline(result)).toContain(
		"1 looser rule to review, 1 subject no longer checked, 1 subject with vanished figures",
	);
});
