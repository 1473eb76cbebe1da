// The report as GitHub's Markdown: headline, sections, what was left out, and where the full report is.
import type { Result } from "../../../generated/result.ts";
import { upgradesOf } from "../merge/upgrade.ts";
import {
	cleanName,
	codePieces,
	escapeHtml,
	escapeMarkdown,
	markdownCode,
	markdownFence,
} from "../text/escape.ts";
import { capitalize, counted, gateTitle, outcomeSymbols, present, unverifiedText } from "../text/labels.ts";
import { armsText, noBaseText, placeTexts } from "./facts.ts";
import { brief, excerptLines, type Highlight } from "./highlight.ts";
import { leadLine, reportContext } from "./highlights.ts";
import {
	type Block,
	columnsIn,
	type Detail,
	type Drawers,
	drawBlock,
	fitBudget,
	type ReportContext,
	type ReportSection,
	shownSections,
	type Table,
} from "./section.ts";
import { reportSections } from "./sections.ts";

function inlineMarkdown(text: string) {
	return codePieces(text)
		.map((piece, index) => (index % 2 === 1 ? markdownCode(piece) : escapeMarkdown(piece)))
		.join("");
}

const maxWords = 60;

const styleMarks = { strong: "**", quiet: "_" } as const;

export function drawMarkdown(blocks: readonly Block[], detail: Detail): string[] {
	const drawers: Drawers<string> = {
		heading: ({ text }) => `### ${escapeMarkdown(text)}`,
		sentence({ text, style }) {
			const mark = style === undefined ? "" : styleMarks[style];
			return `${mark}${inlineMarkdown(text)}${mark}`;
		},
		notice: ({ text, isUrgent }) => `> [!${isUrgent ? "WARNING" : "NOTE"}]\n> ${inlineMarkdown(text)}`,
		list: ({ items }) => items.map((item) => `- ${inlineMarkdown(item)}`).join("\n"),
		table: ({ table }) => tableMarkdown(table, table.isMain ? detail.rows : detail.foldedRows),
		highlight: ({ highlight, isLead }) => highlightMarkdown(highlight, detail, isLead),
		details: ({ title, blocks: folded }) => foldedMarkdown(title, drawMarkdown(folded, detail)),
		figure: () => "",
	};
	return blocks.map((block) => drawBlock(drawers, block)).filter((part) => part !== "");
}

function foldedMarkdown(title: string, parts: readonly string[]) {
	return foldAs(escapeHtml(title), parts);
}

const summaryOf = (part: string) => /^<details><summary>(.*)<\/summary>/.exec(part)?.[1];

function foldAs(summary: string, parts: readonly string[]) {
	return `<details><summary>${summary}</summary>\n\n${parts.join("\n\n")}\n\n</details>`;
}

/** Folded parts become one at the end, so that the news fits on one screen. */
function foldTogether(parts: readonly string[]) {
	const folded = parts.filter((part) => summaryOf(part) !== undefined);
	if (folded.length < 2) return [...parts];
	const all = foldAs(folded.map(summaryOf).join(" · "), folded);
	return [...parts.filter((part) => !folded.includes(part)), all];
}

/** Nothing to do: what is not folded joins the rest. */
function foldAll(parts: readonly string[]) {
	if (parts.length === 0) return [];
	return [foldAs(present(parts.map(summaryOf)).join(" · ") || "details", parts)];
}

function tableMarkdown({ columns, rows, noun, hidden: beyond = 0 }: Table, most: number) {
	if (rows.length === 0) return "";
	if (most === 0) return `${counted(rows.length + beyond, noun)}, in \`report.html\`.`;
	const shown = columnsIn("markdown", columns);
	const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
	const lines = rows.slice(0, most).map((row) =>
		line(
			shown.map(({ text, numeric }) => {
				const cell = text?.(row) ?? "";
				// A narrow table must not separate a number from its unit.
				return inlineMarkdown(numeric ? cell.replace(/(\d) (?=[%µ\p{L}])/gu, "$1\u00a0") : cell);
			}),
		),
	);
	const hidden = rows.length + beyond - lines.length;
	const more = hidden > 0 ? `\n\n… and ${counted(hidden, `more ${noun}`)}.` : "";
	const rule = `|${shown.map(({ numeric }) => (numeric ? "--:" : "---")).join("|")}|`;
	return `${[line(shown.map(({ title }) => title)), rule, ...lines].join("\n")}${more}`;
}

function highlightMarkdown(whole: Highlight, detail: Detail, isLead = false) {
	const short = brief(whole, maxWords);
	const { severity, title, lines = [], sentences, excerpt = [] } = short;
	const end = sentences.length === 0 || /[.!?…]$/.test(title) ? "" : ".";
	const first = isLead ? "" : `${outcomeSymbols[severity]} **${escapeMarkdown(title)}${end}**`;
	if (!detail.sentences) return first;
	const text = present([
		present([first, sentences.map(inlineMarkdown).join(" ")]).join(" "),
		// How a speedup came about is in the report.
		...(severity === "note" ? [] : lines).map((line) => `- ${inlineMarkdown(line)}`),
	]).join("\n");
	if (!detail.excerpts || excerpt.length === 0) return text;
	return `${text}\n\n${foldedMarkdown("log excerpt", [markdownFence(excerptLines(excerpt))])}`;
}

const commentLimit = 65_000;

export interface ReportLinks {
	report?: string;
	artifact?: string;
	profiles?: string;
	run?: string;
}

/** Nothing that could end a Markdown link or start another scheme. */
const plainUrl = /^https?:\/\/[\w.~:/?#@!$&*+,;=%-]{1,500}$/;

export function linksMarkdown(links: ReportLinks): string {
	const link = (text: string, url = "") => (plainUrl.test(url) ? [`[${text}](${url})`] : []);
	const report = link("report.html", links.report);
	const artifact = link("result.json, logs and samples", links.artifact);
	const files = report.length + artifact.length === 0 ? ["`report.html`"] : report;
	return [
		`full report: ${[...files, ...(artifact.length === 0 ? ["`result.json`"] : artifact)].join(" and ")}`,
		...link("nsys profiles", links.profiles),
		...link("run", links.run),
	].join(" · ");
}

function footer(result: Result, leftOut: readonly string[], { links = {}, change }: Shown) {
	const facts = [armsText(result, change), ...placeTexts(result)].map(escapeMarkdown);
	const line = `<sub>${[...facts, linksMarkdown(links)].join(" · ")}</sub>`;
	return leftOut.length === 0
		? line
		: `**Shortened to fit a comment; left out: ${leftOut.join("; ")}. \`report.html\` and \`result.json\` hold everything.**\n\n${line}`;
}

export interface Shown {
	links?: ReportLinks;
	label?: string;
	/** Commit of the pull request, if GitHub's merge of it is what was tested. */
	change?: string;
}

/** An upgrade is decided by its own section, which has a line for each model; the findings behind it are folded. */
const shownWithUpgrade: readonly string[] = ["upgrade", "notices", "next-steps"];
const untitled: Readonly<Record<string, string>> = { highlights: "findings", "at-load": "P99 at load" };

function sectionParts(context: ReportContext, sections: readonly ReportSection[], detail: Detail) {
	const shown = shownSections(sections, context, { format: "markdown", detail });
	const isUpgrade = shown.some(({ id }) => id === "upgrade");
	return shown.flatMap(({ id, title, blocks, isOpen }) => {
		const parts = drawMarkdown(blocks, detail);
		const isFolded = isUpgrade ? !shownWithUpgrade.includes(id) : isOpen !== true && title !== undefined;
		if (title === undefined && parts.length === 0) return [];
		if (isFolded) return [foldedMarkdown(title ?? capitalize(untitled[id] ?? id), parts)];
		return title === undefined ? parts : [`### ${escapeMarkdown(title)}`, ...parts];
	});
}

function titleLine(context: ReportContext, { label, change }: Shown) {
	const { result } = context;
	const commit = change ?? result.arms.head.commit;
	const title = [gateTitle(result.backend), label, commit?.slice(0, 7)]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const isForgeable = result.unverified === true && result.outcome === "pass";
	const symbol = isForgeable ? "" : `${outcomeSymbols[result.outcome]} `;
	const isAlone = result.outcome === "pass" && noBaseText(result) !== null;
	const found = `${leadLine(context)}${isAlone ? " · nothing to compare with" : ""}`;
	return `## ${symbol}${escapeMarkdown(title.join(" · "))}: ${escapeMarkdown(found)}`;
}

interface MarkdownOptions extends Shown {
	limit?: number;
	sections?: readonly ReportSection[];
}

export function renderMarkdown(
	result: Result,
	{ limit = commentLimit, sections = reportSections, ...shown }: MarkdownOptions = {},
): string {
	const context = reportContext(result, sections);
	const isCalm = upgradesOf(result).every(({ isClear }) => isClear);
	const fold = isCalm && result.outcome === "pass" ? foldAll : foldTogether;
	const render = (detail: Detail, leftOut: readonly string[]) => {
		const drawn = sectionParts(context, sections, detail);
		const parts = [
			...(result.unverified === true ? [`**${unverifiedText}**`] : []),
			titleLine(context, shown),
			...fold(drawn),
			footer(result, leftOut, shown),
		];
		return `${parts.join("\n\n")}\n`;
	};
	return fitBudget(render, limit);
}

/** For the job summary; "" if everything was published. */
export function renderUnpublished(list: readonly { what: string; message: string; fix: string }[]): string {
	if (list.length === 0) return "";
	const sentence = (text: string) => inlineMarkdown(cleanName(text, 700));
	const lines = list
		.slice(0, 20)
		.map(
			({ what, message, fix }) => `> - **${escapeMarkdown(what)}**: ${sentence(message)} ${sentence(fix)}`,
		);
	return `\n> [!NOTE]\n> The outcome stands. Not everything could be published:\n${lines.join("\n")}\n`;
}
