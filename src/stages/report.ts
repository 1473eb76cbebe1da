// Writes a result and everything that is rendered from it.
import { renderBencher } from "../core/report/exports/bencher.ts";
import { renderBenchmark } from "../core/report/exports/benchmark.ts";
import { renderCsv } from "../core/report/exports/csv.ts";
import { renderSarif } from "../core/report/exports/sarif.ts";
import { renderHtml } from "../core/report/html/report.ts";
import { renderJunit } from "../core/report/junit.ts";
import { renderMarkdown } from "../core/report/markdown.ts";
import type { Result } from "../core/schema/result.ts";
import type { Files } from "../ports/world.ts";

/** Names of the files, relative to the output folder. */
export const reportFiles = {
	result: "result.json",
	markdown: "report.md",
	html: "report.html",
	junit: "junit.xml",
	benchmark: "exports/benchmark.json",
	bencher: "exports/bencher.json",
	csv: "exports/workloads.csv",
	sarif: "exports/findings.sarif",
} as const;

/** result.json first: the others can always be made again from it. */
export async function writeReport(result: Result, outFolder: string, files: Files): Promise<void> {
	await files.writeText(`${outFolder}/${reportFiles.result}`, `${JSON.stringify(result, null, "\t")}\n`);
	await renderReport(result, outFolder, files);
}

/** Renders again from a result that is already on disk; the same result gives the same bytes. */
export async function renderReport(result: Result, outFolder: string, files: Files): Promise<void> {
	await files.writeText(`${outFolder}/${reportFiles.markdown}`, renderMarkdown(result));
	await files.writeText(`${outFolder}/${reportFiles.html}`, renderHtml(result));
	await files.writeText(`${outFolder}/${reportFiles.junit}`, renderJunit(result));
	await files.makeFolder(`${outFolder}/exports`);
	await files.writeText(`${outFolder}/${reportFiles.benchmark}`, renderBenchmark(result));
	await files.writeText(`${outFolder}/${reportFiles.bencher}`, renderBencher(result));
	await files.writeText(`${outFolder}/${reportFiles.csv}`, renderCsv(result));
	await files.writeText(`${outFolder}/${reportFiles.sarif}`, renderSarif(result));
}
