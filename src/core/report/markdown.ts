// The report as GitHub's Markdown: headline, sections, what was left out, and where the full report is.
import type { Result } from "../../../generated/result.ts";
import { cleanName, cleanText, escapeMarkdown } from "../text/escape.ts";
import { gateTitle, outcomeSymbols, unverifiedText } from "../text/labels.ts";
import { type Detail, fitBudget } from "./budget.ts";
import { armsText, jobFacts } from "./facts.ts";
import { flagsAsCode } from "./highlight.ts";
import { headline, reportContext } from "./highlights.ts";
import { foldTogether, phraseMarkdown } from "./markdown-parts.ts";
import type { ReportContext, ReportSection } from "./section.ts";
import { reportSections } from "./sections.ts";

/** GitHub takes 65,536 characters; the difference is room for the marker that finds the comment again. */
const commentLimit = 65_000;

/** Links from a published report to the files and the run behind it. */
export interface ReportLinks {
	/** report.html, which a browser opens. */
	report?: string;
	/** The artifact with result.json, logs and samples. */
	artifact?: string;
	/** The artifact with the profiles of Nsight Systems. */
	profiles?: string;
	/** The workflow run. */
	run?: string;
}

/** Nothing that could end a Markdown link or start another scheme. */
const plainUrl = /^https?:\/\/[\w.~:/?#@!$&*+,;=%-]{1,500}$/;

function link(text: string, url: string | undefined): string[] {
	return url !== undefined && plainUrl.test(url) ? [`[${text}](${url})`] : [];
}

/** Markdown for a footer; the names alone where nothing is linked. */
export function linksMarkdown(links: ReportLinks): string {
	const report = link("report.html", links.report)[0];
	const artifact = link("result.json, logs and samples", links.artifact)[0];
	const files = [
		report ?? (artifact === undefined ? "`report.html`" : ""),
		artifact ?? "`result.json`",
	].filter((part) => part !== "");
	return [
		`full report: ${files.join(" and ")}`,
		...link("nsys profiles", links.profiles),
		...link("run", links.run),
	].join(" · ");
}

function footer(result: Result, leftOut: readonly string[], { links = {}, change }: Shown): string {
	const facts = jobFacts(result).map(
		({ label, value }) => `${escapeMarkdown(label)} ${escapeMarkdown(value)}`,
	);
	const tool = `trtgate ${cleanText(result.tool.version).slice(0, 40)}`;
	const line = [
		escapeMarkdown(armsText(result, change)),
		...facts,
		escapeMarkdown(tool),
		linksMarkdown(links),
	].join(" · ");
	const dropped =
		leftOut.length === 0
			? ""
			: `**Shortened to fit a comment; left out: ${leftOut.join("; ")}. \`report.html\` and \`result.json\` hold everything.**\n\n`;
	return `${dropped}<sub>${line}</sub>`;
}

export interface Shown {
	links?: ReportLinks;
	/** Distinguishes this report from others on one page: the name of the job or the config. */
	label?: string;
	/** Commit of the pull request, where GitHub's merge of it is what was tested. */
	change?: string;
}

interface Rendering {
	context: ReportContext;
	sections: readonly ReportSection[];
	shown: Shown;
}

function renderAt(
	{ context, sections, shown }: Rendering,
	detail: Detail,
	leftOut: readonly string[],
): string {
	const { result, highlights } = context;
	const commit = shown.change ?? result.arms.head.commit;
	const title = [gateTitle(result.backend), shown.label, commit?.slice(0, 7)]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const isLate = ({ appendix }: ReportSection) => appendix.includes("markdown");
	const ordered = [...sections.filter((section) => !isLate(section)), ...sections.filter(isLate)];
	const isForgeable = result.unverified === true;
	const symbol = isForgeable && result.outcome === "pass" ? "" : `${outcomeSymbols[result.outcome]} `;
	const blocks = [
		...(isForgeable ? [`**${unverifiedText}**`] : []),
		`## ${symbol}${escapeMarkdown(title.join(" · "))}: ${escapeMarkdown(headline(result, highlights))}`,
		...foldTogether(ordered.flatMap((section) => section.markdown(context, detail))),
		footer(result, leftOut, shown),
	];
	return `${blocks.join("\n\n")}\n`;
}

interface MarkdownOptions extends Shown {
	/** In characters and bytes. */
	limit?: number;
	sections?: readonly ReportSection[];
}

/** The whole comment, at most 65,000 characters and bytes unless `limit` is given. */
export function renderMarkdown(
	result: Result,
	{ limit = commentLimit, sections = reportSections, ...shown }: MarkdownOptions = {},
): string {
	const rendering = { context: reportContext(result, sections), sections, shown };
	return fitBudget((detail, leftOut) => renderAt(rendering, detail, leftOut), { limit });
}

export interface Unpublished {
	what: string;
	message: string;
	fix: string;
}

/** For the job summary: what could not be published, and what to do about it. "" where everything was. */
export function renderUnpublished(list: readonly Unpublished[]): string {
	if (list.length === 0) return "";
	const sentence = (text: string): string => phraseMarkdown(flagsAsCode(cleanName(text, 700)));
	const lines = list
		.slice(0, 20)
		.map(
			({ what, message, fix }) => `> - **${escapeMarkdown(what)}**: ${sentence(message)} ${sentence(fix)}`,
		);
	return `\n> [!NOTE]\n> The outcome stands. Not everything could be published:\n${lines.join("\n")}\n`;
}
