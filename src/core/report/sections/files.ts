// The files that the run wrote.
import type { Result } from "../../../../generated/result.ts";
import { cleanName, cleanText } from "../../text/escape.ts";
import { formatCount } from "../../text/units.ts";
import { type Column, html, type Markup } from "../html/markup.ts";
import { type ReportSection, table } from "../section.ts";

/** A link only to what lies beside or below this page; anything else is text. */
function fileLink(path: string): Markup {
	const clean = cleanText(path);
	const parts = clean.split("/");
	const below = clean.length <= 300 && clean !== "" && !/^[/\\]|:|\\/.test(clean) && !parts.includes("..");
	const shown = html`<code>${cleanName(path, 160)}</code>`;
	return below ? html`<a href="./${parts.map(encodeURIComponent).join("/")}">${shown}</a>` : shown;
}

const columns: readonly Column<Result["files"][number]>[] = [
	{
		title: "file",
		heading: true,
		text: ({ path }) => cleanName(path, 100),
		cell: ({ path }) => fileLink(path),
	},
	{ title: "content", text: ({ what }) => cleanName(what, 160) },
];

export const fileSection: ReportSection = {
	id: "files",
	formats: ["html", "terminal"],
	appendix: ["html"],
	show: ({ result: { files } }) =>
		files.length === 0
			? null
			: {
					title: `Files: ${formatCount(files.length)}`,
					blocks: [table("files", columns, files, { noun: "file" })],
				},
};
