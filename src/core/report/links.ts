// Links from a published report to the files and the run behind it.

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
	const whole = [report ?? (artifact === undefined ? "`report.html`" : ""), artifact ?? "`result.json`"].filter((part) => part !== "");
	return [`the whole in ${whole.join(" and ")}`, ...link("nsys profiles", links.profiles), ...link("run", links.run)].join(" · ");
}
