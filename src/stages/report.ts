// Writes a result and its reports, and lists the files of a run.
import type { Result } from "../../generated/result.ts";
import {
	renderCodeQuality,
	renderJunit,
	renderManifest,
	renderSarif,
} from "../core/report/exports/checks.ts";
import { renderBencher, renderBenchmark, renderCsv, renderMetrics } from "../core/report/exports/figures.ts";
import { renderHtml } from "../core/report/html/report.ts";
import { renderMarkdown } from "../core/report/markdown.ts";
import type { Files } from "../ports/world.ts";

export const reportFiles = {
	result: "result.json",
	markdown: "report.md",
	html: "report.html",
	junit: "junit.xml",
	benchmark: "exports/benchmark.json",
	bencher: "exports/bencher.json",
	csv: "exports/workloads.csv",
	sarif: "exports/findings.sarif",
	codeQuality: "exports/code-quality.json",
	metrics: "exports/metrics.txt",
	manifest: "exports/manifest.json",
} as const;

type ReportFiles = Pick<Files, "writeText" | "makeFolder">;

/** Writes result.json first, because the others derive from it. */
export async function writeReport(result: Result, outFolder: string, files: ReportFiles): Promise<void> {
	await files.writeText(`${outFolder}/${reportFiles.result}`, `${JSON.stringify(result, null, "\t")}\n`);
	await renderReport(result, outFolder, files);
}

export async function renderReport(result: Result, outFolder: string, files: ReportFiles): Promise<void> {
	await files.makeFolder(`${outFolder}/exports`);
	for (const [file, render] of Object.entries(renderers) as [keyof typeof renderers, typeof renderCsv][])
		await files.writeText(`${outFolder}/${reportFiles[file]}`, render(result));
}

const renderers = {
	markdown: renderMarkdown,
	html: (result: Result) => renderHtml(result),
	junit: renderJunit,
	benchmark: renderBenchmark,
	bencher: renderBencher,
	csv: renderCsv,
	sarif: renderSarif,
	codeQuality: renderCodeQuality,
	metrics: renderMetrics,
	manifest: renderManifest,
};

export async function openPageWith(
	before: Result,
	result: Result,
	{ outFolder, files }: { outFolder: string; files: Pick<Files, "writeText"> },
): Promise<void> {
	await files.writeText(`${outFolder}/${reportFiles.html}`, renderHtml(result, undefined, [before]));
}

export const reportList: Result["files"] = [
	{ path: reportFiles.html, what: "the whole report" },
	{ path: reportFiles.markdown, what: "the report as a comment" },
	{ path: reportFiles.junit, what: "the gates as test cases" },
	{
		path: "exports",
		what: "results for other tools: CSV, SARIF, Code Quality, metrics, benchmark and Bencher JSON, manifest",
	},
	{ path: reportFiles.result, what: "every measurement, finding and verdict" },
];

const folders: Result["files"] = [
	{ path: "raw", what: "raw samples of every run, in ms (64-bit floats, little-endian)" },
	{ path: "logs", what: "the output of every tool" },
	{ path: "engines", what: "the engines of base and head" },
];

export async function filesOfRun(
	outFolder: string,
	explained: Result["files"],
	files: Pick<Files, "realPath">,
): Promise<Result["files"]> {
	const there = await Promise.all(
		folders.map(async (folder) =>
			(await files.realPath(`${outFolder}/${folder.path}`)) === null ? [] : [folder],
		),
	);
	return [...reportList, ...there.flat(), ...explained];
}
