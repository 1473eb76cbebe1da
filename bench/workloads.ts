// 200 workloads of 20 models through the whole gate, on replayed runs of an H200: what trtgate itself costs beside them, whether memory
// stays flat (ten times the workloads, at most twice the peak), and how long and large the report is.
// node bench/workloads.ts [FOLDER]: the folder keeps the results.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Result } from "../generated/result.ts";
import { fileStore } from "../src/adapters/files/store.ts";
import { writeReport } from "../src/stages/report.ts";
import { runReplayed } from "./replayed-project.ts";

const models = 20;
/** What nothing refers to any more is collected late where there is room. */
const heapMiB = 80;
const limits = { ownShare: 0.01, memoryGrowth: 2, reportMs: 3000 };

interface Cost {
	workloads: number;
	ownMs: number;
	/** What the runs and builds took on the H200. */
	realMs: number;
	peakBytes: number;
	reportMs: number;
	pageBytes: number;
	slower: number;
}

async function costOf(perModel: number, folder: string): Promise<Cost> {
	const started = performance.now();
	const nets = Array.from({ length: models }, (_, at) =>
		at < 4 ? "classifier" : at < 6 ? "segmenter" : "encoder",
	);
	const result = await runReplayed({
		nets,
		perModel,
		folder,
		measure: "pairs: [5, 8], unchanged-models: rebuild",
	});
	const ownMs = performance.now() - started;
	const again = performance.now();
	await writeReport(result, join(folder, "out"), fileStore());
	return {
		workloads: result.workloads.length,
		ownMs,
		realMs: realMsOf(result),
		peakBytes: process.resourceUsage().maxRSS * 1024,
		reportMs: performance.now() - again,
		pageBytes: statSync(join(folder, "out/report.html")).size,
		slower: result.workloads.filter(({ verdict }) => verdict === "regressed").length,
	};
}

function realMsOf({ workloads, builds }: Result): number {
	const runs = workloads.flatMap((row) => row.runs).reduce((sum, { wallMs }) => sum + wallMs, 0);
	return runs + builds.reduce((sum, { durationMs }) => sum + durationMs, 0);
}

/** Each size in a process of its own, so that its peak of memory is its own. */
function measured(perModel: number, folder: string): Cost {
	const child = spawnSync(
		process.execPath,
		[
			`--max-old-space-size=${heapMiB}`,
			"--max-semi-space-size=4",
			import.meta.filename,
			String(perModel),
			folder,
		],
		{
			encoding: "utf8",
			stdio: ["ignore", "pipe", "inherit"],
		},
	);
	if (child.status !== 0) throw new Error(`${models * perModel} workloads: exit ${child.status}`);
	return JSON.parse(child.stdout) as Cost;
}

function compareSizes(kept: string | undefined): void {
	const folder = kept ?? mkdtempSync(join(tmpdir(), "trtgate-bench-"));
	const [few, many] = [1, 10].map((perModel) => measured(perModel, join(folder, String(perModel)))) as [
		Cost,
		Cost,
	];
	const rows: [string, string, string, boolean][] = [
		[
			"own time ÷ time of runs and builds on the H200",
			`${((100 * many.ownMs) / many.realMs).toFixed(2)} %`,
			`${100 * limits.ownShare} %`,
			many.ownMs / many.realMs <= limits.ownShare,
		],
		[
			`peak of memory ÷ that of ${few.workloads} workloads, in a heap of ${heapMiB} MiB`,
			(many.peakBytes / few.peakBytes).toFixed(2),
			String(limits.memoryGrowth),
			many.peakBytes / few.peakBytes <= limits.memoryGrowth,
		],
		[
			"result.json and every report",
			`${(many.reportMs / 1000).toFixed(2)} s`,
			`${limits.reportMs / 1000} s`,
			many.reportMs <= limits.reportMs,
		],
	];
	console.log(`${many.workloads} workloads of ${models} models, ${many.slower} of them slower`);
	console.log(
		`own time ${(many.ownMs / 1000).toFixed(1)} s beside ${(many.realMs / 1000).toFixed(0)} s, peak ${(many.peakBytes / 1e6).toFixed(0)} MB, page ${(many.pageBytes / 1e6).toFixed(2)} MB\n`,
	);
	for (const [what, value, limit, holds] of rows)
		console.log(`| ${what} | ${value} | limit ${limit}${holds ? "" : " MISSED"} |`);
	if (kept === undefined) rmSync(folder, { recursive: true });
	if (rows.some(([, , , holds]) => !holds)) process.exitCode = 1;
}

const [first, second] = process.argv.slice(2);
if (second === undefined) compareSizes(first);
else console.log(JSON.stringify(await costOf(Number(first), second)));
