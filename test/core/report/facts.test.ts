import { expect, test } from "vitest";
import type { Result } from "../../../generated/result.ts";
import { compareRuns } from "../../../src/core/compare/compare.ts";
import { renderCsv } from "../../../src/core/report/exports/figures.ts";
import { workloadRows } from "../../../src/core/report/facts.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildResult, buildRuns, buildWorkload } from "../../support/build-result.ts";
import { readCsv } from "../../support/read-csv.ts";
import { resultCases } from "../../support/result-cases.ts";

/** A machine under load: pair by pair the head is faster, but the median of its runs is the larger one. */
const base = [12_100, 12_400, 6970, 6900, 6800];
const head = [10_200, 10_300, 6100, 5900, 10_180];
const runs = buildRuns({ base, head }).map(({ peakMemoryBytes: _, throughputPerSecond: __, ...run }) => run);
const { noise, ...compared } = compareRuns(runs, { minimalEffect: 0.02, p99MinimalEffect: 0.1 });
const workload = buildWorkload({ ...compared, noise, runs, verdict: compared.latency.verdict });
const result = buildResult({ workloads: [workload] });

const milliseconds = (text: string) => Number(text.replace(" ms", ""));
function cellOf(shown: Result): (name: string) => number {
	const [header = [], row = []] = readCsv(renderCsv(shown));
	return (name) => Number(row[header.indexOf(name)]);
}

const changeBetween = (base: string, head: string) => 100 * (milliseconds(head) / milliseconds(base) - 1);
const percentOf = (text: string) => Number(text.replace("\u2212", "-").replace(" %", ""));

test("base and head of a row lie as far apart as its change says, under their figure's name", () => {
	const { texts } = workloadRows(result)[0]!;
	expect(changeBetween(texts.base, texts.head)).toBeCloseTo(percentOf(texts.change), 1);
	expect(texts.memory).toBe("–");
	expect(renderMarkdown(result)).toContain("| base, median | head, median | P99 change |");
	expect(renderTerminal(result, { color: false, columns: 200 })).toMatch(
		/workload +verdict +change.* base, median +head, median/,
	);
});

test("the table of all figures shows what was compared beside its change", () => {
	const [, ofBase = "", ofHead = "", change = ""] =
		/median \(compared pairs\)<\/th><td class="n">([^<]+)<\/td><td class="n">([^<]+)<\/td><td class="n">([^<(]+) /.exec(
			renderHtml(result),
		) ?? [];
	expect(changeBetween(ofBase, ofHead)).toBeCloseTo(percentOf(change), 1);
});

test("the CSV holds both levels with the change", () => {
	const cell = cellOf(result);
	const change = cell("latency_head_ms") / cell("latency_base_ms") - 1;
	expect(change).toBeCloseTo(cell("latency_change_fraction"), 9);
});

test("a counted row holds both counts and the change, without columns of timing", () => {
	const { backend, workloads } = resultCases["on-cpu"]!;
	const { work, verdict } = workloads[1]!;
	const counted = buildWorkload({ ...(work && { work }), verdict, runs: [], base: null, head: null });
	const only = buildResult({ backend, workloads: [counted] });
	expect(renderMarkdown(only)).toMatch(/\| \+4\.2\s% \| 53\.95\sM \| 56\.22\sM \|/);
	expect(cellOf(only)("work_head_instructions")).toBe(56_215_904);
	expect(renderHtml(only)).not.toContain("P99 change");
});
