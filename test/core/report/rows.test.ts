// All figures of a row come from one estimate, and the row says which.
import { expect, test } from "vitest";
import type { Arm, PerfRun } from "../../../generated/result.ts";
import { compareRuns } from "../../../src/core/compare/compare.ts";
import { renderCsv } from "../../../src/core/report/exports/csv.ts";
import { renderHtml } from "../../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../../src/core/report/markdown.ts";
import { workloadRows } from "../../../src/core/report/rows.ts";
import { renderTerminal } from "../../../src/core/report/terminal.ts";
import { buildResult, buildWorkload } from "../../support/build-result.ts";

/** A machine under load: pair by pair the head is faster, but the median of its runs is the larger one. */
const busy = [
	[12.1, 10.2],
	[12.4, 10.3],
	[6.97, 6.1],
	[6.9, 5.9],
	[6.8, 10.18],
] as const;

function run(arm: Arm, pair: number, ms: number): PerfRun {
	return {
		...{ arm, pair, order: 2 * pair + Number(arm === "head"), state: "ok", wallMs: 900, iterations: 50 },
		...{ medianMs: ms, meanMs: ms, minMs: 0.8 * ms, p90Ms: 1.3 * ms, p95Ms: 1.4 * ms, p99Ms: 2 * ms },
	};
}

const runs = busy.flatMap(([base, head], pair) => [run("base", pair, base), run("head", pair, head)]);
const { noise, ...compared } = compareRuns(runs, { minimalEffect: 0.02, p99MinimalEffect: 0.1 });
const workload = buildWorkload({ ...compared, noise, runs, verdict: compared.latency.verdict });
const untouched = { pairs: 0, excluded: null, minimalEffect: 0.02, level: 1 };
const name = "ONNX Runtime (WebAssembly)";
const cpu = { kind: "onnxruntime", name, version: "1.30.0", device: "CPU" } as const;
const result = buildResult({ workloads: [workload] });

const milliseconds = (text: string) => Number(text.replace(" ms", ""));
/** A change as the reports print it, from the two times beside it. */
const changeBetween = (base: string, head: string) => 100 * (milliseconds(head) / milliseconds(base) - 1);
const percentOf = (text: string) => Number(text.replace("\u2212", "-").replace(" %", ""));

test("base and head of a row lie as far apart as its change says, and name their figure", () => {
	const [row] = workloadRows(result);
	const texts = row?.texts;
	expect(changeBetween(texts?.base ?? "", texts?.head ?? "")).toBeCloseTo(percentOf(texts?.change ?? ""), 1);
	expect(renderMarkdown(result)).toContain("| base, median | head, median | P99 change |");
	expect(renderTerminal(result, { color: false, columns: 200 })).toMatch(
		/workload +verdict +change.* base, median +head, median/,
	);
});

test("the table of all figures shows what was compared beside its change, not the sides' medians", () => {
	const [, base = "", head = "", change = ""] =
		/median \(compared pairs\)<\/th><td class="n">([^<]+)<\/td><td class="n">([^<]+)<\/td><td class="n">([^<(]+) /.exec(
			renderHtml(result),
		) ?? [];
	expect(changeBetween(base, head)).toBeCloseTo(percentOf(change), 1);
});

test("the CSV holds both levels with the change", () => {
	const [header = "", line = ""] = renderCsv(result).split("\r\n");
	const cell = (name: string) => Number(line.split(",")[header.split(",").indexOf(name)]);
	expect(cell("latency_head_ms") / cell("latency_base_ms") - 1).toBeCloseTo(
		cell("latency_change_fraction"),
		9,
	);
});

const work = { ...untouched, verdict: "regressed", estimate: 0.419, base: 19.35e6, head: 27.45e6 } as const;
const counted = buildWorkload({
	...{ work: { ...work, interval: [0.419, 0.419] }, verdict: "regressed", runs: [], base: null, head: null },
});

test("a counted row holds both counts and the exact change, without columns that only timing fills", () => {
	const only = buildResult({ backend: cpu, workloads: [counted] });
	expect(renderMarkdown(only)).toMatch(/\| \+41\.9\s% \| 19\.35\sM \| 27\.45\sM \|/);
	const [header = "", line = ""] = renderCsv(only).split("\r\n");
	expect(line.split(",")[header.split(",").indexOf("work_head_instructions")]).toBe("27450000");
	expect(renderHtml(only)).not.toContain("P99 change");
});
