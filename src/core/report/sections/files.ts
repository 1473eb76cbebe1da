// The files that the run wrote.
import type { Result } from "../../../../generated/result.ts";
import { cleanName, cleanText } from "../../text/escape.ts";
import { counted } from "../../text/labels.ts";
import { formatCount } from "../../text/units.ts";
import { folded, html, type Markup, moreText, type Piece } from "../html/markup.ts";
import { defineSection } from "../section.ts";
import { paint, type TerminalOptions } from "../terminal-text.ts";

const maxInHtml = 1000;
const maxInTerminal = 8;

type Files = Result["files"];

/** A link only to what lies beside or below this page; anything else is text. */
function fileLink(path: string): Markup {
	const clean = cleanText(path);
	const parts = clean.split("/");
	const below = clean.length <= 300 && clean !== "" && !/^[/\\]|:|\\/.test(clean) && !parts.includes("..");
	const shown = html`<code>${cleanName(path, 160)}</code>`;
	return below ? html`<a href="./${parts.map(encodeURIComponent).join("/")}">${shown}</a>` : shown;
}

function fileList(files: Files): Piece {
	const shown = files.slice(0, maxInHtml);
	const list = shown.map(
		(file) => html`<li>${fileLink(file.path)} <span class="mut">${cleanName(file.what, 160)}</span></li>\n`,
	);
	return folded(`Files: ${formatCount(files.length)}`, [
		html`<ul>${list}</ul>`,
		moreText(files.length - maxInHtml, "files"),
	]);
}

function terminalLines(files: Files, { color }: TerminalOptions): string[] {
	const shown = files.slice(0, maxInTerminal);
	const width = Math.max(...shown.map((file) => cleanName(file.path, 100).length));
	const hidden = files.length - shown.length;
	return [
		paint("Files", "bold", color),
		...shown.map(
			(file) =>
				`  ${cleanName(file.path, 100).padEnd(width)}  ${paint(cleanName(file.what, 100), "dim", color)}`,
		),
		...(hidden > 0 ? [paint(`  … and ${counted(hidden, "more file")}`, "dim", color)] : []),
	];
}

export const fileSection = defineSection({
	id: "files",
	appendix: ["html"],
	select: ({ result: { files } }) => (files.length === 0 ? null : files),
	html: fileList,
	terminal: terminalLines,
});
