import type { Result } from "../../generated/result.ts";
import { renderHtml } from "../../src/core/report/html/report.ts";
import { renderMarkdown } from "../../src/core/report/markdown.ts";
import type { ReportSection } from "../../src/core/report/section.ts";
import { renderTerminal } from "../../src/core/report/terminal.ts";

export function inEveryFormat(result: Result, sections?: readonly ReportSection[]) {
	return {
		markdown: renderMarkdown(result, sections && { sections }),
		html: renderHtml(result, sections),
		terminal: renderTerminal(result, { color: false, columns: 160 }, sections),
	};
}
