// The report as GitHub's Markdown: headline, sections, what was left out, and where the full report is.
import type { Result } from "../../../generated/result.ts";
import { cleanName, cleanText, escapeMarkdown } from "../text/escape.ts";
import { gateTitle, outcomeSymbols, unverifiedText } from "../text/labels.ts";
import { type Detail, fitBudget } from "./budget.ts";
import { armsText, jobFacts } from "./facts.ts";
import { headline, reportContext } from "./highlights.ts";
import { drawMarkdown, foldedMarkdown, foldTogether, inlineMarkdown } from "./markdown-blocks.ts";
import { type ReportContext, type ReportSection, shownSections } from "./section.ts";
import { reportSections } from "./sections.ts";

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
	const link = (text: string, url = ""): string[] => (plainUrl.test(url) ? [`[${text}](${url})`] : []);
	const report = link("report.html", links.report);
	const artifact = link("result.json, logs and samples", links.artifact);
	const files = report.length + artifact.length === 0 ? ["`report.html`"] : report;
	return [
		`full report: ${[...files, ...(artifact.length === 0 ? ["`result.json`"] : artifact)].join(" and ")}`,
		...link("nsys profiles", links.profiles),
		...link("run", links.run),
	].join(" · ");
}

function footer(result: Result, leftOut: readonly string[], { links = {}, change }: Shown): string {
	const facts = [
		armsText(result, change),
		...jobFacts(result).map((fact) => fact.join(" ")),
		`trtgate ${cleanText(result.tool.version).slice(0, 40)}`,
	].map(escapeMarkdown);
	const line = `<sub>${[...facts, linksMarkdown(links)].join(" · ")}</sub>`;
	return leftOut.length === 0
		? line
		: `**Shortened to fit a comment; left out: ${leftOut.join("; ")}. \`report.html\` and \`result.json\` hold everything.**\n\n${line}`;
}

export interface Shown {
	links?: ReportLinks;
	/** The name of the job or the config, if one page has several reports. */
	label?: string;
	/** Commit of the pull request, if GitHub's merge of it is what was tested. */
	change?: string;
}

function sectionParts(context: ReportContext, sections: readonly ReportSection[], detail: Detail): string[] {
	return shownSections(sections, context, { format: "markdown", detail }).flatMap(
		({ title, blocks, isOpen }) => {
			const parts = drawMarkdown(blocks, detail);
			if (title === undefined) return parts;
			return isOpen ? [`### ${escapeMarkdown(title)}`, ...parts] : [foldedMarkdown(title, parts)];
		},
	);
}

function titleLine({ result, highlights }: ReportContext, { label, change }: Shown): string {
	const commit = change ?? result.arms.head.commit;
	const title = [gateTitle(result.backend), label, commit?.slice(0, 7)]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const isForgeable = result.unverified === true && result.outcome === "pass";
	const symbol = isForgeable ? "" : `${outcomeSymbols[result.outcome]} `;
	return `## ${symbol}${escapeMarkdown(title.join(" · "))}: ${escapeMarkdown(headline(result, highlights))}`;
}

interface MarkdownOptions extends Shown {
	limit?: number;
	sections?: readonly ReportSection[];
}

/** At most 65,000 characters and bytes unless `limit` is given. */
export function renderMarkdown(
	result: Result,
	{ limit = commentLimit, sections = reportSections, ...shown }: MarkdownOptions = {},
): string {
	const context = reportContext(result, sections);
	const render = (detail: Detail, leftOut: readonly string[]): string => {
		const parts = [
			...(result.unverified === true ? [`**${unverifiedText}**`] : []),
			titleLine(context, shown),
			...foldTogether(sectionParts(context, sections, detail)),
			footer(result, leftOut, shown),
		];
		return `${parts.join("\n\n")}\n`;
	};
	return fitBudget(render, limit);
}

export interface Unpublished {
	what: string;
	message: string;
	fix: string;
}

/** For the job summary; "" if everything was published. */
export function renderUnpublished(list: readonly Unpublished[]): string {
	if (list.length === 0) return "";
	const sentence = (text: string): string => inlineMarkdown(cleanName(text, 700));
	const lines = list
		.slice(0, 20)
		.map(
			({ what, message, fix }) => `> - **${escapeMarkdown(what)}**: ${sentence(message)} ${sentence(fix)}`,
		);
	return `\n> [!NOTE]\n> The outcome stands. Not everything could be published:\n${lines.join("\n")}\n`;
}
