// What the figures of the job were measured on.
import type { Result } from "../../schema/result.ts";
import { cleanName, escapeMarkdown } from "../../text/escape.ts";
import { gpuFacts } from "../gpu-format.ts";
import { folded, html, type Piece } from "../html/markup.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";

function environmentMarkdown({ environment }: Result): string[] {
	const entries = Object.entries(environment).slice(0, 100);
	if (entries.length === 0) return [];
	const rows = entries.map(([key, value]) => `| ${escapeMarkdown(cleanName(key))} | ${escapeMarkdown(cleanName(value, 200))} |`);
	return [foldedMarkdown("Environment", ["| what | value |", "|---|---|", ...rows].join("\n"))];
}

function environmentTable(result: Result): Piece {
	const entries: [string, string][] = [
		["started", result.startedAt],
		["trtgate", result.tool.version],
		["backend", `${result.backend.name} ${result.backend.version}`],
		["device", result.backend.device],
		["config", result.config.path],
		...Object.entries(result.environment).slice(0, 200),
		...gpuFacts(result).map(({ label, value }): [string, string] => [label, value]),
	];
	const rows = entries.map(
		([key, value]) => html`<tr><th scope="row">${cleanName(key)}</th><td class="wrap">${cleanName(value, 300)}</td></tr>\n`,
	);
	return folded(
		"Environment",
		html`<div class="scroll" role="region" aria-label="environment" tabindex="0"><table><thead><tr><th scope="col">what</th><th scope="col">value</th></tr></thead><tbody>
${rows}</tbody></table></div>
`,
	);
}

export const environmentSection = defineSection({
	id: "environment",
	appendix: ["markdown", "html"],
	select: ({ result }) => result,
	markdown: (result, detail) => (detail.environment ? environmentMarkdown(result) : []),
	html: environmentTable,
});
