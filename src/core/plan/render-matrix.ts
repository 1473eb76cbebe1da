// The job matrix as a table for the job summary.
import { cleanName, escapeMarkdown } from "../text/escape.ts";
import type { MatrixJob } from "./matrix.ts";

const mostRows = 256;

export function renderMatrix(jobs: readonly MatrixJob[]): string {
	const rows = jobs.slice(0, mostRows).map(({ name, runner, only, device }) => {
		const cells = [name, only === "" ? "all" : only, runner, device === "" ? "–" : device];
		return `| ${cells.map((cell) => escapeMarkdown(cleanName(cell, 200))).join(" | ")} |`;
	});
	return [
		`## Plan: ${jobs.length} ${jobs.length === 1 ? "job" : "jobs"}`,
		"",
		"| job | engines | runner | device |",
		"|---|---|---|---|",
		...rows,
		"",
	].join("\n");
}
