// What stands in one row is of one estimate, and says of which figure.
import { expect, test } from "vitest";
import { compareRuns } from "../../../src/core/compare/compare.ts";
import { renderCsv } from "../../../src/core/report/exports/csv.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { workloadRows, workloadTexts } from "../../../src/core/report/rows.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import type { Arm, PerfRun } from "../../../src/core/schema/result.ts";
import { buildResult, buildWorkload } from "../../support/build-result.ts";

/** A shared CPU under load: pair by pair the head is faster, but the median of its runs is the larger one. */
const busy = [
	[12.1, 10.2],
	[12.4, 10.3],
	[6.97, 6.1],
	[6.9, 5.9],
	[6.8, 10.18],
] as const;

function run(arm: Arm, pair: number, ms: number): PerfRun {
	const figures = { medianMs: 1.2 * ms, meanMs: 1.2 * ms, minMs: ms, p90Ms: 1.3 * ms, p95Ms: 1.4 * ms, p99Ms: 2 * ms };
	return { arm, pair, order: 2 * pair + Number(arm === "head"), state: "ok", wallMs: 900, iterations: 50, ...figures };
}

const runs = busy.flatMap(([base, head], pair) => [run("base", pair, base), run("head", pair, head)]);
const { noise, ...compared } = compareRuns(runs, { minimalEffect: 0.02, p99MinimalEffect: 0.1, figure: "fastest" });
const workload = buildWorkload({ ...compared, noise, runs, figure: "fastest", verdict: compared.latency.verdict });
const result = buildResult({ workloads: [workload] });

const milliseconds = (text: string) => Number(text.replace(" ms", ""));
/** A change as the reports print it, from the two times beside it. */
const changeBetween = (base: string, head: string) => 100 * (milliseconds(head) / milliseconds(base) - 1);
const percentOf = (text: string) => Number(text.replace("\u2212", "-").replace(" %", ""));

test("the sides' own medians contradict the change here", () => {
	expect(compared.latency.estimate).toBeLessThan(0);
	expect(compared.head?.minMs).toBeGreaterThan(compared.base?.minMs ?? Number.NaN);
});

test("base and head of a row lie as far apart as its change says, and name their figure", () => {
	const [row] = workloadRows(result);
	const texts = row && workloadTexts(row);
	expect(changeBetween(texts?.base ?? "", texts?.head ?? "")).toBeCloseTo(percentOf(texts?.change ?? ""), 1);
	expect(renderMarkdown(result)).toContain("| base, fastest | head, fastest | P99 change |");
	expect(renderTerminal(result, { color: false, columns: 200 })).toMatch(
		/Times are the fastest of each run\.\nworkload +verdict +base +head +change/,
	);
});

test("the table of all figures shows what was compared beside its change, not the sides' medians", () => {
	const [, base = "", head = "", change = ""] =
		/min<small>compared pairs<\/small><\/th><td class="n">([^<]+)<\/td><td class="n">([^<]+)<\/td><td class="n">([^<]+)</.exec(
			renderHtml(result),
		) ?? [];
	expect(changeBetween(base, head)).toBeCloseTo(percentOf(change), 1);
});

test("the CSV holds both levels with the change", () => {
	const [header = "", line = ""] = renderCsv(result).split("\r\n");
	const cell = (name: string) => Number(line.split(",")[header.split(",").indexOf(name)]);
	expect(cell("latency_head_ms") / cell("latency_base_ms") - 1).toBeCloseTo(cell("latency_change_fraction"), 9);
});

test("a merged result with both figures reports which belongs to which", () => {
	const both = buildResult({ workloads: [workload, { ...workload, figure: "median" as const }] });
	expect(renderMarkdown(both)).toContain("base, median (on a CPU: fastest)");
});
