// What a reader must know before anything else: a partial result, a missing base, and the notes of the run.
import { cleanName, escapeMarkdown } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { cleanMessage } from "../comparison-format.ts";
import { noBaseText } from "../facts.ts";
import { html } from "../html/markup.ts";
import { foldedMarkdown } from "../markdown-parts.ts";
import { defineSection, type ReportContext } from "../section.ts";
import { paint, type TerminalOptions, wrapText } from "../terminal-text.ts";

const maxNotes = { markdown: 10, html: 30, terminal: 10 } as const;

function partialText({ result }: ReportContext): string | null {
	if (result.partial === undefined) return null;
	const { stage, reason } = result.partial;
	return `Partial result: the run ended in ${cleanName(stage, 60)} (${cleanName(reason, 300)}). What follows is what was known by then.`;
}

function terminalLines(texts: readonly string[], { color, columns }: TerminalOptions): string[] {
	return texts.flatMap((text) => wrapText(text, columns)).map((line) => paint(line, "yellow", color));
}

export const noticeSection = defineSection({
	id: "notices",
	select: (context) => ({ partial: partialText(context), noBase: noBaseText(context.result) }),
	markdown: ({ partial, noBase }) => [
		...(partial === null ? [] : [`> [!WARNING]\n> ${escapeMarkdown(partial)}`]),
		...(noBase === null ? [] : [`> [!NOTE]\n> ${escapeMarkdown(noBase)}`]),
	],
	html: ({ partial, noBase }) => [
		partial === null ? null : html`<p class="notice" role="note"><b>${partial}</b></p>`,
		noBase === null ? null : html`<p class="notice plain" role="note">${noBase}</p>`,
	],
	terminal: ({ partial, noBase }, options) =>
		terminalLines(
			[partial, noBase].filter((text) => text !== null),
			options,
		),
});

/** How it was measured: in a comment, what happened comes first. */
export const noteSection = defineSection({
	id: "notes",
	appendix: ["markdown"],
	select: ({ result: { notes } }) => (notes.length === 0 ? null : notes),
	markdown: (notes) => {
		const lines = notes
			.slice(0, maxNotes.markdown)
			.map((note) => `- ${escapeMarkdown(cleanName(note, 400))}`);
		const hidden = notes.length - maxNotes.markdown;
		const more = hidden > 0 ? [`- … and ${counted(hidden, "more note")}, in \`report.html\`.`] : [];
		return [foldedMarkdown(counted(notes.length, "note"), [...lines, ...more].join("\n"))];
	},
	html: (notes) =>
		html`<div class="notice plain" role="note">${notes.slice(0, maxNotes.html).map((note) => html`<p>${cleanMessage(note)}</p>`)}</div>`,
	terminal: (notes, options) =>
		terminalLines(
			notes.slice(0, maxNotes.terminal).map((note) => `Note: ${cleanName(note, 400)}`),
			options,
		),
});
