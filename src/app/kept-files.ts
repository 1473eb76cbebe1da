// Lists what a run leaves in its output folder, for people and for whoever uploads it.
import type { Result } from "../core/schema/result.ts";
import type { Files } from "../ports/world.ts";
import { reportFiles } from "../stages/report.ts";

/** Written after the result that lists them. */
export const reportList: Result["files"] = [
	{ path: reportFiles.html, what: "the whole report" },
	{ path: reportFiles.markdown, what: "the report as a comment" },
	{ path: reportFiles.junit, what: "the gates as test cases" },
	{ path: "exports", what: "the figures and findings for other programs: CSV, SARIF, benchmark and Bencher JSON" },
	{ path: reportFiles.result, what: "everything that was found out and decided" },
];

const folders: Result["files"] = [
	{ path: "raw", what: "every sample of every run: 64-bit floats, little-endian, milliseconds" },
	{ path: "logs", what: "what every tool said" },
	{ path: "engines", what: "the engines of both arms" },
];

/** @returns paths relative to the output folder. */
export async function keptFiles(outFolder: string, explained: Result["files"], files: Files): Promise<Result["files"]> {
	const there = await Promise.all(
		folders.map(async (folder) => ((await files.realPath(`${outFolder}/${folder.path}`)) === null ? [] : [folder])),
	);
	return [...reportList, ...there.flat(), ...explained];
}
