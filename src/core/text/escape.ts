// Makes users' text (names, paths, messages, logs) harmless in Markdown, HTML, XML and terminals.

// ECMA-48: CSI and OSC sequences, then the two-character ones.
const ansiSequence =
	/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g;
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
// Marks that reorder or reshape the text around them, and invisible tags: a path could look different from what it is.
const bidiMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const loneSurrogates = /\p{Surrogate}/gu;
/** Breaks a mention, a reference or a link invisibly. */
const joiner = "\u200d";

/** One line of plain text: no escape sequences, control characters, reordering marks or broken code units. */
export function cleanText(text: string): string {
	return text
		.replace(ansiSequence, "")
		.replace(controls, " ")
		.replace(bidiMarks, "")
		.replace(loneSurrogates, "\ufffd");
}

/** Cuts the middle out of a text longer than `maxChars`: the ends distinguish names and paths. */
export function shorten(text: string, maxChars: number): string {
	if (text.length <= maxChars) return text;
	const points = [...text];
	if (points.length <= maxChars) return text;
	const tail = Math.floor((maxChars - 1) / 3);
	return `${points.slice(0, maxChars - 1 - tail).join("")}…${points.slice(points.length - tail).join("")}`;
}

/** Cleans and shortens a name from the user; an empty one becomes `(no name)`. */
export function cleanName(text: string, maxChars = 80): string {
	// The first cut bounds the work on a hostile text, before any pattern reads it.
	const clean = cleanText(shorten(text, maxChars * 8)).trim();
	return clean === "" ? "(no name)" : shorten(clean, maxChars);
}

/** A name between backticks, which Markdown and the terminal both show as code. */
export function quoted(name: string, maxChars = 90): string {
	return `\`${cleanName(name, maxChars).replaceAll("`", "'")}\``;
}

/** In quotes where a shell would read more than a word. */
export function shellWord(text: string): string {
	return /^[\w.:,=@%+/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const htmlEntities: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	">": "&gt;",
	'"': "&quot;",
	"'": "&#39;",
};

export function escapeHtml(text: string): string {
	return cleanText(text).replace(/[&<>"']/g, (char) => htmlEntities[char] ?? char);
}

/** For text and quoted attributes of XML 1.0, which has no way to write most control characters. */
export function escapeXml(text: string): string {
	return escapeHtml(text).replace(/[\ufffe\uffff]/g, "\ufffd");
}

/** Inline text for GitHub's Markdown, in paragraphs and table cells: it cannot become markup, a mention, a reference, a link or a formula. */
export function escapeMarkdown(text: string): string {
	return (
		cleanText(text)
			// `:+1:` becomes a picture; `:9:1:` is a place.
			.replace(/:(?=(?:100|1234|(?!\d+:)[a-z0-9_+-]{1,60}):)/gi, `:${joiner}`)
			.replace(/[\\`*_[\]|~$]/g, "\\$&")
			.replace(/[&<>]/g, (char) => htmlEntities[char] ?? char)
			.replace(/@/g, `@${joiner}`)
			.replace(/(#|\bGH-)(?=\d)/gi, `$1${joiner}`)
			.replace(/:\/\//g, `:${joiner}//`)
			.replace(/\bwww\./gi, `www${joiner}.`)
			.replace(/^(\s*)([-+](?=\s)|[#=])/, "$1\\$2")
			.replace(/^(\s*\d+)([.)])(?=\s)/, "$1\\$2")
	);
}

/** A name in code letters; HTML's own where Markdown's fence could be broken out of. */
export function markdownCode(text: string): string {
	const clean = cleanText(text);
	return /^[\w.,:;/+=()[\] -]+$/.test(clean) && clean.trim() === clean
		? `\`${clean}\``
		: `<code>${escapeMarkdown(text)}</code>`;
}

/** A block of log lines, fenced by more backticks than any line has. */
export function markdownFence(lines: readonly string[]): string {
	const clean = lines.map(cleanText);
	const longest = Math.max(2, ...clean.flatMap((line) => (line.match(/`+/g) ?? []).map((run) => run.length)));
	const fence = "`".repeat(longest + 1);
	return `${fence}text\n${clean.join("\n")}\n${fence}`;
}

/**
 * Lines for a workflow's log. The runner obeys `::command::` at the start of a line, blanks aside, and `##[command]` anywhere
 * in it; text from a model, a log or a file name must not act as a command.
 */
export function disarmCommands(text: string): string {
	return text.replace(commandStart, "$1:\u200b").replace(/##(?=\[)/g, "##\u200b");
}

/** The runner cuts lines at \r and \n alone, but trims every blank before it looks; other readers of logs cut at more. */
const commandStart = /((?:^|[\n\v\f\r\u0085\u2028\u2029])[^\S\n\v\f\r\u2028\u2029]*):(?=:)/g;

/** JSON for stdout, which may be a workflow's log: anything that would act as a command is escaped, and means the same. */
export function jsonText(value: unknown): string {
	const asEscape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
	return `${JSON.stringify(value, null, "\t").replace(/#(?=\[)|[\u0085\u2028\u2029]/g, asEscape)}\n`;
}
