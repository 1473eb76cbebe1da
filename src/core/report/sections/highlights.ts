// The highlights at the top of every report, and in the terminal the list of what to do next.
import { cleanText, escapeMarkdown, markdownFence, shellWord } from "../../text/escape.ts";
import { counted, type Tone } from "../../text/labels.ts";
import type { Detail } from "../budget.ts";
import { nextStep } from "../engine-format.ts";
import {
	excerptLines,
	flagsAsCode,
	type Highlight,
	type HighlightSeverity,
	type Phrase,
	plainPhrase,
} from "../highlight.ts";
import { folded, html, logExcerpt, type Markup, type Piece, phrase, pill } from "../html/markup.ts";
import { foldedMarkdown, phraseMarkdown } from "../markdown-parts.ts";
import { defineSection } from "../section.ts";
import { paint, type Style, type TerminalOptions, toneStyles, wrapText } from "../terminal-text.ts";

interface SeverityLook {
	symbol: string;
	/** In the terminal. */
	mark: string;
	tone: Tone;
	/** Beside the colour, for those who do not see it. */
	label: string;
}

const looks: Readonly<Record<HighlightSeverity, SeverityLook>> = {
	fail: { symbol: "❌", mark: "✗", tone: "bad", label: "fails" },
	error: { symbol: "🛑", mark: "✗", tone: "bad", label: "error" },
	inconclusive: { symbol: "❔", mark: "?", tone: "open", label: "inconclusive" },
	warn: { symbol: "⚠️", mark: "!", tone: "warn", label: "warns" },
	note: { symbol: "ℹ️", mark: "i", tone: "plain", label: "note" },
};

/** In HTML the others are folded, so that the table is not pushed off the screen. */
const maxOpen = 6;
const maxInHtml = 200;
const maxInTerminal = 8;
const maxFixes = 5;

/** Of one highlight in a comment. */
const maxWords = 60;

function highlightMarkdown(whole: Highlight, detail: Detail): string {
	const highlight = brief(whole, maxWords);
	const title = `${looks[highlight.severity].symbol} **${escapeMarkdown(highlight.title)}**`;
	if (!detail.sentences) return title;
	const lines = (highlight.lines ?? []).map((line) => `- ${phraseMarkdown(line)}`);
	// What follows a list is a paragraph of its own.
	const gap = lines.length > 0 && (highlight.sentences.length > 0 || highlight.fix !== undefined) ? [""] : [];
	const sentences =
		highlight.sentences.length === 0 ? [] : [highlight.sentences.map(phraseMarkdown).join(" ")];
	const fix = highlight.fix === undefined ? [] : [`**Next:** ${phraseMarkdown(flagsAsCode(highlight.fix))}`];
	// What happened has a line of its own; the next lines explain it.
	const text = [title, ...lines, ...gap, ...sentences, ...fix].join("\n");
	if (!detail.excerpts || highlight.excerpt === undefined) return text;
	return `${text}\n\n${foldedMarkdown("log excerpt", markdownFence(excerptLines(highlight.excerpt)))}`;
}

function markdownBlocks(all: readonly Highlight[], detail: Detail): string[] {
	const hidden = all.length - detail.highlights;
	const shown = all.slice(0, detail.highlights).map((highlight) => highlightMarkdown(highlight, detail));
	return hidden > 0 ? [...shown, `… and ${counted(hidden, "more item")}, in \`report.html\`.`] : shown;
}

function highlightCard(highlight: Highlight): Markup {
	const { tone, label } = looks[highlight.severity];
	const [lines, excerpt] = [highlight.lines ?? [], highlight.excerpt ?? []];
	const sentences = highlight.sentences.map((sentence) => [phrase(sentence), " "]);
	return html`<article class="highlight ${tone}"><h2>${highlight.title} ${pill(label, tone)}</h2>
${lines.length === 0 ? null : html`<ul>${lines.map((line) => html`<li>${phrase(line)}</li>\n`)}</ul>`}<p>${sentences}</p>${highlight.fix === undefined ? null : html`<p><b>Next:</b> ${phrase(flagsAsCode(highlight.fix))}</p>`}${excerpt.length === 0 ? null : folded("Log excerpt", logExcerpt(excerpt))}</article>
`;
}

function htmlCards(all: readonly Highlight[]): Piece {
	const others = all.slice(maxOpen, maxInHtml).map(highlightCard);
	const hidden = all.length - maxInHtml;
	const more =
		hidden > 0
			? html`<p class="more">… and ${counted(hidden, "more item")}; the table of all checks lists each.</p>`
			: null;
	return [
		all.slice(0, maxOpen).map(highlightCard),
		others.length === 0 ? null : folded(counted(all.length - maxOpen, "more item"), [others, more]),
	];
}

function terminalBlock(highlight: Highlight, { color, columns }: TerminalOptions): string[] {
	const { mark, tone } = looks[highlight.severity];
	const style: Style = highlight.severity === "note" ? "cyan" : toneStyles[tone];
	const [first = "", ...others] = wrapText(highlight.title, columns - 2);
	const texts = [...(highlight.lines ?? []).map(plainPhrase), highlight.sentences.map(plainPhrase).join(" ")];
	return [
		`${paint(mark, style, color)} ${paint(first, "bold", color)}`,
		...others.map((line) => `  ${paint(line, "bold", color)}`),
		...texts.flatMap((text) => wrapText(text, columns - 2)).map((line) => `  ${line}`),
		...excerptLines(highlight.excerpt ?? []).map((line) => paint(`  │ ${line}`, "dim", color)),
	];
}

/** Blocks are separated by empty lines. */
function terminalLines(all: readonly Highlight[], options: TerminalOptions): string[] {
	const hidden = all.length - maxInTerminal;
	const blocks = [
		...all.slice(0, maxInTerminal).map((highlight) => terminalBlock(highlight, options)),
		...(hidden > 0 ? [[`… and ${counted(hidden, "more item")}, in the report.`]] : []),
	];
	return blocks.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
}

export const highlightSection = defineSection({
	id: "highlights",
	select: ({ highlights }) => (highlights.length === 0 ? null : highlights),
	markdown: markdownBlocks,
	html: htmlCards,
	terminal: terminalLines,
});

/** The other formats show each fix beside its highlight. */
export const nextStepSection = defineSection({
	id: "next-steps",
	select: ({ highlights }) => {
		const fixes = highlights.flatMap(({ fix }) => (fix === undefined ? [] : [cleanText(fix)]));
		return fixes.length === 0 ? null : [...new Set(fixes)].slice(0, maxFixes);
	},
	terminal: (fixes, { color, columns, resultPath = "result.json" }) => {
		const command = nextStep.replace("result.json", () => shellWord(resultPath));
		const lines = fixes.map((fix) =>
			wrapText(
				fix.replace(nextStep, () => command),
				columns - 4,
			).join("\n    "),
		);
		return [paint("What to do next", "bold", color), ...lines.map((line) => `  - ${line}`)];
	},
});

/** Signs such as `%` and `→` are not words. */
export function countWords(text: string): number {
	return text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
}

const mostTitleWords = 26;
/** Kept free for the fix. */
const mostFixWords = 24;
/** Kept free for `… and 3 more in report.html`. */
const moreWords = 5;

function cut(text: string, maxWords: number): string {
	let left = maxWords;
	const words = text.split(" ");
	const end = words.findIndex((word) => {
		left -= countWords(word);
		return left < 0;
	});
	return end === -1 ? text : `${words.slice(0, end).join(" ")} …`;
}

/** The highlight in at most `maxWords` words: title, lines or first sentence, fix, and the other sentences that fit. */
export function brief({ lines, fix, ...highlight }: Highlight, maxWords: number): Highlight {
	const title = cut(highlight.title, mostTitleWords);
	// The fix has a label of one word.
	let left = maxWords - countWords(title) - (fix === undefined ? 0 : 1);
	const take = (phrases: readonly Phrase[], reserved = 0): Phrase[] =>
		phrases.filter((phrase) => {
			const words = countWords(plainPhrase(phrase));
			if (words > left - reserved) return false;
			left -= words;
			return true;
		});
	/** Cut where it does not fit. */
	const takeText = (text: string, reserved = 0): string => {
		const shown = cut(text, left - reserved);
		left -= countWords(shown);
		return shown;
	};
	const forFix = fix === undefined ? 0 : Math.min(mostFixWords, countWords(fix));
	const [first, ...others] = highlight.sentences;
	const opening =
		lines === undefined && first !== undefined
			? (take([first], forFix)[0] ?? [takeText(plainPhrase(first), forFix)])
			: null;
	const failing = take(lines ?? [], forFix + moreWords);
	const hidden = (lines?.length ?? 0) - failing.length;
	const more: Phrase[] = hidden === 0 ? [] : take([[`… and ${hidden} more in report.html`]], forFix);
	return {
		...highlight,
		title,
		lines: lines === undefined ? undefined : [...failing, ...more],
		fix: fix === undefined ? undefined : takeText(fix),
		sentences: opening === null ? take(highlight.sentences) : [opening, ...take(others)],
	};
}
