// How long 200 jobs of 50 workloads take to merge: parse, check, merge, render. Limit: 5 s.
import type { Result, WorkloadResult } from "../generated/result.ts";
import { mergeResults } from "../src/core/merge/merge.ts";
import { renderJunit } from "../src/core/report/exports/checks.ts";
import { renderHtml } from "../src/core/report/html/report.ts";
import { renderMarkdown } from "../src/core/report/markdown.ts";
import { parseResult } from "../src/core/report/parse-result.ts";
import {
	buildBuild,
	buildGate,
	buildGolden,
	buildResult,
	buildSlowWorkload,
	buildWorkload,
	watchGpu,
} from "../test/support/build-result.ts";

const jobs = 200;
const workloads = 50;
const limitMs = 5000;

function row(job: number, at: number): WorkloadResult {
	const name = { model: `model-${Math.floor(at / 5)}`, engine: "fp16", workload: `batch ${at % 5}` };
	return watchGpu(at === job % workloads ? buildSlowWorkload(name) : buildWorkload(name));
}

/** As large as in a real job: every run with its GPU telemetry. */
function jobText(job: number): string {
	const rows = Array.from({ length: workloads }, (_, at) => row(job, at));
	const engines = [...new Set(rows.map(({ model }) => model))];
	const result: Result = buildResult({
		environment: { gpu: `GPU ${job}` },
		workloads: rows,
		builds: engines.flatMap((model) => [buildBuild({ model, arm: "base" }), buildBuild({ model })]),
		golden: engines.flatMap((model) => [buildGolden({ model }), buildGolden({ model, case: "case1" })]),
		gates: rows.flatMap(({ model, engine, workload, verdict }) => {
			const subject = { model, engine, workload };
			return [
				buildGate({ ...subject, status: verdict === "regressed" ? "warn" : "pass" }),
				buildGate({ ...subject, gate: "p99" }),
			];
		}),
	});
	return JSON.stringify(result, null, "\t");
}

const texts = Array.from({ length: jobs }, (_, job) => jobText(job));
const bytes = texts.reduce((sum, text) => sum + text.length, 0);
const times: [string, number][] = [];
function timed<Value>(what: string, work: () => Value): Value {
	const started = performance.now();
	const value = work();
	times.push([what, performance.now() - started]);
	return value;
}

const parts = timed("parse and check", () =>
	texts.map((text, job) => ({
		name: `job ${job}`,
		content: { state: "read" as const, result: parseResult(text, `job ${job}`) },
	})),
);
const merged = timed("merge", () => mergeResults(parts, { version: "bench", files: [] }));
const markdown = timed("Markdown", () => renderMarkdown(merged));
const page = timed("HTML", () => renderHtml(merged));
timed("JUnit", () => renderJunit(merged));
const json = timed("result.json", () => JSON.stringify(merged, null, "\t"));
timed("read again", () => parseResult(json, "merged"));

const megabytes = (count: number): string => `${(count / 1e6).toFixed(1)} MB`;
const totalMs = times.reduce((sum, [, ms]) => sum + ms, 0);
console.log(`merge of ${jobs} jobs × ${workloads} workloads, ${megabytes(bytes)} of JSON`);
for (const [what, ms] of times) console.log(`  ${what.padEnd(16)} ${(ms / 1000).toFixed(2).padStart(6)} s`);
console.log(
	`  ${"all".padEnd(16)} ${(totalMs / 1000).toFixed(2).padStart(6)} s, limit ${limitMs / 1000} s: ${totalMs <= limitMs ? "kept" : "BROKEN"}`,
);
console.log(
	`  merged: ${megabytes(json.length)} of JSON, page ${megabytes(page.length)}, comment ${markdown.length} characters`,
);
if (totalMs > limitMs) process.exitCode = 1;
