// Renders engines and their comparisons as text, Markdown, JSON or an HTML page.
import type { EngineDiff } from "../../../generated/result.ts";
import type { EngineAlone } from "../../engine/core/alone.ts";
import { escapeMarkdown, jsonText } from "../text/escape.ts";
import { aloneBlocks, diffBlocks } from "./engine-blocks.ts";
import { mostRows, summaryText, unitOf } from "./engine-text.ts";
import { html, section } from "./html/markup.ts";
import { drawHtml, renderPage } from "./html/report.ts";
import { drawMarkdown } from "./markdown.ts";
import { type Block, fullDetail, sentence } from "./section.ts";
import { drawTerminal } from "./terminal.ts";

type PageFormat = "text" | "markdown" | "json" | "html";

export type TitledDiff = { title: string; diff: EngineDiff };
export type TitledEngine = { title: string; alone: EngineAlone };

export function renderDiffs(diffs: readonly TitledDiff[], format: PageFormat, next: string): string {
	if (format === "json") return jsonText({ comparisons: diffs });
	const parts = diffs.map(({ title, diff }) => {
		const { of } = unitOf(diff);
		const [base, head] = [summaryText(diff.base, of), summaryText(diff.head, of)];
		const sides = sentence(`base: ${base}; head: ${head}.`, "quiet");
		const last = format === "markdown" ? sentence(`Next: \`${next}\``) : sides;
		return { title, blocks: [...diffBlocks(diff, title), last] };
	});
	return render(parts, format, { about: "engines compared", mostRows });
}

export function renderEngines(engines: readonly TitledEngine[], format: PageFormat): string {
	if (format === "json")
		return jsonText({ engines: engines.map(({ title, alone }) => ({ title, ...alone })) });
	const parts = engines.map(({ title, alone }) => ({ title, blocks: aloneBlocks(alone, title) }));
	return render(parts, format, { about: "where the time goes", mostRows: 20 });
}

function render(
	parts: readonly { title: string; blocks: readonly Block[] }[],
	format: Exclude<PageFormat, "json">,
	options: { about: string; mostRows: number },
) {
	if (format === "html") {
		const drawn = parts.map(({ title, blocks }, at) => section(title, drawHtml(blocks), `engine-${at + 1}`));
		return renderPage(`trtgate: ${options.about}`, html`<main>\n${drawn}</main>\n`);
	}
	if (format === "markdown") {
		const detail = { ...fullDetail, foldedRows: options.mostRows };
		const texts = parts.map(({ title, blocks }) =>
			[`### ${escapeMarkdown(title)}`, ...drawMarkdown(blocks, detail)].join("\n\n"),
		);
		return `${texts.join("\n\n")}\n`;
	}
	// The terminal wraps long lines, so that a pipe gets whole sentences.
	const plain = { color: false, columns: 400 };
	const texts = parts.map(({ title, blocks }) =>
		[title, ...drawTerminal(blocks, plain).map((line) => `  ${line}`)].join("\n"),
	);
	return `${texts.join("\n\n")}\n`;
}
