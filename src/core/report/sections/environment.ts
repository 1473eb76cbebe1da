// What the figures of the job were measured on.
import type { Result } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { gpuFacts } from "../gpu-format.ts";
import { type Column, folded, type Piece } from "../html/markup.ts";
import { defineSection } from "../section.ts";
import { foldedTable, htmlTable } from "../table.ts";

const columns: readonly Column<readonly [key: string, value: string]>[] = [
	{ title: "what", heading: true, text: ([key]) => cleanName(key) },
	{
		title: "value",
		wraps: true,
		text: ([, value]) => cleanName(value, 200),
		cell: ([, value]) => cleanName(value, 300),
	},
];
const noun = "fact";

/** Around the fingerprint, which alone is in a comment. */
function environmentTable(result: Result): Piece {
	const rows = [
		["started", result.startedAt],
		["trtgate", result.tool.version],
		["backend", `${result.backend.name} ${result.backend.version}`],
		["device", result.backend.device],
		["config", result.config.path],
		...Object.entries(result.environment),
		...gpuFacts(result).map(({ label, value }) => [label, value] as const),
	] as const;
	return folded("Environment", htmlTable("environment", columns, { rows, most: 300, noun }));
}

export const environmentSection = defineSection({
	id: "environment",
	appendix: ["markdown", "html"],
	select: ({ result }) => result,
	markdown: ({ environment }, detail) => {
		const rows = Object.entries(environment);
		return detail.environment && rows.length > 0
			? [foldedTable("Environment", columns, { rows, most: 100, noun })]
			: [];
	},
	html: environmentTable,
});
