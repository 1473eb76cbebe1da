// The report as GitHub's Markdown: headline, stories, rows that are not green, the rest folded.
import type { Result } from "../schema/result.ts";
import { cleanName, cleanText, escapeMarkdown, markdownCode, markdownFence } from "../text/escape.ts";
import { counted, gateTitle, outcomeSymbols } from "../text/labels.ts";
import { type Detail, fitBudget } from "./budget.ts";
import { armsText, jobFacts, noBaseText, noiseBudgetText, partialText } from "./facts.ts";
import { headline } from "./headline.ts";
import { flagsAsCode, type Highlight, type Phrase } from "./highlight.ts";
import { highlights } from "./highlights.ts";
import { excerptLines } from "./highlights-build.ts";
import { linksMarkdown, type ReportLinks } from "./links.ts";
import { probeSection } from "./markdown-probes.ts";
import { buildSection, findingSection, goldenSection, quietRowSection, rowTable } from "./markdown-tables.ts";
import { partSection } from "./part-table.ts";
import { type WorkloadRow, workloadRows } from "./rows.ts";

/** GitHub takes 65,536 characters; the rest is room for the marker that finds the comment again. */
const commentLimit = 65_000;
const mostNotes = 10;

export function phraseMarkdown(phrase: Phrase): string {
	return phrase.map((piece) => (typeof piece === "string" ? escapeMarkdown(piece) : markdownCode(piece.code))).join("");
}

const highlightSymbols: Readonly<Record<Highlight["severity"], string>> = {
	fail: "❌",
	error: "🛑",
	inconclusive: "❔",
	warn: "⚠️",
	note: "ℹ️",
};

function highlightMarkdown(highlight: Highlight, detail: Detail): string {
	const title = `${highlightSymbols[highlight.severity]} **${escapeMarkdown(highlight.title)}**`;
	if (!detail.sentences) return title;
	const sentences = highlight.sentences.map(phraseMarkdown).join(" ");
	const fix = highlight.fix === undefined ? "" : `\n**Next:** ${phraseMarkdown(flagsAsCode(highlight.fix))}`;
	// A line of its own for what happened: the rest is for whoever wants to know why.
	const told = [title, sentences].filter((part) => part !== "").join("\n") + fix;
	if (!detail.excerpts || highlight.excerpt === undefined) return told;
	return `${told}\n\n${folded("log excerpt", markdownFence(excerptLines(highlight.excerpt)))}`;
}

/** `summary` is ours and holds no markup. */
function folded(summary: string, body: string): string {
	return `<details><summary>${summary}</summary>\n\n${body}\n\n</details>`;
}

function highlightsMarkdown(all: readonly Highlight[], detail: Detail): string[] {
	const more = all.length - detail.highlights;
	const shown = all.slice(0, detail.highlights).map((highlight) => highlightMarkdown(highlight, detail));
	return more > 0 ? [...shown, `… and ${more.toLocaleString("en-US")} more things to tell of, in \`report.html\`.`] : shown;
}

function notices(result: Result): string[] {
	const partial = partialText(result);
	const noBase = noBaseText(result);
	return [
		...(partial === null ? [] : [`> [!WARNING]\n> ${escapeMarkdown(partial)}`]),
		...(noBase === null ? [] : [`> [!NOTE]\n> ${escapeMarkdown(noBase)}`]),
	];
}

/** How it was measured; what happened comes first. */
function noteSection({ notes }: Result): string[] {
	if (notes.length === 0) return [];
	const lines = notes.slice(0, mostNotes).map((note) => `- ${escapeMarkdown(cleanName(note, 400))}`);
	const more = notes.length > mostNotes ? [`- … and ${counted(notes.length - mostNotes, "more note")}, in \`report.html\`.`] : [];
	return [folded(counted(notes.length, "note"), [...lines, ...more].join("\n"))];
}

function noiseSection(result: Result): string[] {
	const text = noiseBudgetText(result);
	if (text === null) return [];
	const body =
		"Half the width of the widest interval of this job: a smaller change could not be told from none. A quieter runner or more pairs make it smaller.";
	return [folded(`Noise budget: ${escapeMarkdown(text)}`, body)];
}

function environmentSection(result: Result, detail: Detail): string[] {
	const entries = Object.entries(result.environment).slice(0, 100);
	if (!detail.environment || entries.length === 0) return [];
	const rows = entries.map(([key, value]) => `| ${escapeMarkdown(cleanName(key))} | ${escapeMarkdown(cleanName(value, 200))} |`);
	return [folded("Environment", ["| what | value |", "|---|---|", ...rows].join("\n"))];
}

function footer(result: Result, leftOut: readonly string[], { links = {}, change }: Shown): string {
	const facts = jobFacts(result).map(({ label, value }) => `${escapeMarkdown(label)} ${escapeMarkdown(value)}`);
	const tool = `trtgate ${cleanText(result.tool.version).slice(0, 40)}`;
	const line = [escapeMarkdown(armsText(result, change)), ...facts, escapeMarkdown(tool), linksMarkdown(links)].join(" · ");
	const dropped =
		leftOut.length === 0
			? ""
			: `**Shortened to fit a comment; left out: ${leftOut.join("; ")}. \`report.html\` and \`result.json\` hold the whole.**\n\n`;
	return `${dropped}<sub>${line}</sub>`;
}

export interface Shown {
	links?: ReportLinks;
	/** Tells this report from others on one page: the name of the job or the config. */
	label?: string;
	/** Commit of the pull request, where GitHub's merge of it is what was tested. */
	change?: string;
}

interface Rendering extends Shown {
	leftOut: readonly string[];
	/** The same at every step of the budget, and the most work. */
	told: readonly Highlight[];
	rows: readonly WorkloadRow[];
}

function renderAt(result: Result, detail: Detail, { leftOut, told, rows, label, ...shown }: Rendering): string {
	const title = label === undefined ? gateTitle(result.backend) : `${gateTitle(result.backend)} · ${cleanName(label)}`;
	const blocks = [
		`## ${outcomeSymbols[result.outcome]} ${escapeMarkdown(title)}: ${escapeMarkdown(headline(result, told))}`,
		...notices(result),
		...highlightsMarkdown(told, detail),
		...partSection(result, detail.rows).map(({ summary, body }) => folded(summary, body)),
		...rowTable(result, rows, detail),
		...quietRowSection(result, rows, detail).map(({ summary, body }) => folded(summary, body)),
		...goldenSection(result, detail).map(({ summary, body }) => folded(summary, body)),
		...probeSection(result, detail).map(({ summary, body }) => folded(summary, body)),
		...buildSection(result, detail).map(({ summary, body }) => folded(summary, body)),
		...findingSection(result, detail).map(({ summary, body }) => folded(summary, body)),
		...noteSection(result),
		...noiseSection(result),
		...environmentSection(result, detail),
		footer(result, leftOut, shown),
	];
	return `${blocks.join("\n\n")}\n`;
}

/** The whole comment, at most 65,000 characters and bytes. */
export function renderMarkdown(result: Result, { limit = commentLimit, ...shown }: Shown & { limit?: number } = {}): string {
	const known = { told: highlights(result), rows: workloadRows(result) };
	return fitBudget((detail, leftOut) => renderAt(result, detail, { leftOut, ...known, ...shown }), { limit });
}
