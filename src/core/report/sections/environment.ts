// What the figures of the job were measured on.
import { cleanName } from "../../text/escape.ts";
import type { Column } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

const columns: readonly Column<readonly [key: string, value: string]>[] = [
	{ title: "what", heading: true, text: ([key]) => cleanName(key) },
	{ title: "value", wraps: true, text: ([, value]) => cleanName(value, 300) },
];

export const environmentSection: ReportSection = {
	id: "environment",
	formats: ["markdown", "html"],
	appendix: ["markdown", "html"],
	show({ result }, { format, detail }) {
		const { startedAt, tool, backend, config } = result;
		const fingerprint = Object.entries(result.environment);
		const isPage = format === "html";
		if (!isPage && (!detail.environment || fingerprint.length === 0)) return null;
		const rows = isPage
			? [
					["started", startedAt],
					["trtgate", tool.version],
					["backend", `${backend.name} ${backend.version}`],
					["device", backend.device],
					["config", config.path],
					...fingerprint,
				]
			: fingerprint;
		const facts = rows.map(([key = "", value = ""]) => [key, value] as const);
		return { title: "Environment", blocks: [table("environment", columns, facts, { noun: "fact" })] };
	},
};
