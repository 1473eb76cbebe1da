// Makes users' text harmless in Markdown, HTML, XML, YAML and terminals.

// ECMA-48: CSI and OSC sequences, then the two-character ones.
const ansiSequence =
	/\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g;
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g;
// Marks that reorder text, and invisible tags.
const bidiMarks = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const loneSurrogates = /\p{Surrogate}/gu;
const joiner = "\u200d";

/** One line without escape sequences, control characters, reordering marks or lone surrogates. */
export function cleanText(text: string): string {
	return text
		.replace(ansiSequence, "")
		.replace(controls, " ")
		.replace(bidiMarks, "")
		.replace(loneSurrogates, "\ufffd");
}

export function shorten(text: string, maxChars: number): string {
	if (text.length <= maxChars) return text;
	const points = [...text];
	if (points.length <= maxChars) return text;
	const tail = Math.floor((maxChars - 1) / 3);
	return `${points.slice(0, maxChars - 1 - tail).join("")}…${points.slice(points.length - tail).join("")}`;
}

export function cleanName(text: string, maxChars = 80): string {
	// Bounds the work on a hostile text.
	const clean = cleanText(shorten(text, maxChars * 8)).trim();
	return clean === "" ? "(no name)" : shorten(clean, maxChars);
}

export function cleanMessage(text: string, maxChars = 600): string {
	return shorten(cleanText(shorten(text, maxChars * 4)).trim(), maxChars);
}

export function quoted(name: string, maxChars = 90): string {
	return `\`${cleanName(name, maxChars).replaceAll("`", "'")}\``;
}

export function codePieces(text: string): string[] {
	return text.split(/`([^`]+)`/);
}

export function withoutMarks(text: string): string {
	return codePieces(text).join("");
}

const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Quotes text that a shell would split, and spells out what a terminal would obey or hide. */
export function shellWord(text: string): string {
	if (/^[\w.:,=@%+/-]+$/.test(text)) return text;
	if (!unprintable.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
	const spelled = [...text].map((char) => {
		if (char === "'" || char === "\\") return `\\${char}`;
		if (!unprintable.test(char)) return char;
		return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, "0")}`;
	});
	return `$'${spelled.join("")}'`;
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

export function escapeXml(text: string): string {
	return escapeHtml(text).replace(/[\ufffe\uffff]/g, "\ufffd");
}

/** For paragraphs and table cells: no markup, mention, reference, link or formula can result. */
export function escapeMarkdown(text: string): string {
	return (
		cleanText(text)
			// `:+1:` becomes an emoji; `:9:1:` is a place.
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

/** Code; in HTML if Markdown's fence could be broken. */
export function markdownCode(text: string): string {
	const clean = cleanText(text);
	return /^[\w.,:;/+=()[\] -]+$/.test(clean) && clean.trim() === clean
		? `\`${clean}\``
		: `<code>${escapeMarkdown(text)}</code>`;
}

export function markdownFence(lines: readonly string[]): string {
	const clean = lines.map(cleanText);
	const longest = Math.max(2, ...clean.flatMap((line) => (line.match(/`+/g) ?? []).map((run) => run.length)));
	const fence = "`".repeat(longest + 1);
	return `${fence}text\n${clean.join("\n")}\n${fence}`;
}

/** The runner obeys `::command::` at the start of a line and `##[command]` anywhere. */
export function disarmCommands(text: string): string {
	return text.replace(commandStart, "$1:\u200b").replace(/##(?=\[)/g, "##\u200b");
}

/** The runner breaks lines at \r and \n and trims blanks; other readers break at more. */
const commandStart = /((?:^|[\n\v\f\r\u0085\u2028\u2029])[^\S\n\v\f\r\u2028\u2029]*):(?=:)/g;

/** For stdout, which may be a workflow's log. */
export function jsonText(value: unknown): string {
	const asEscape = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
	return `${JSON.stringify(value, null, "\t").replace(/#(?=\[)|[\u0085\u2028\u2029]/g, asEscape)}\n`;
}

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}\p{Default_Ignorable_Code_Point}]/u;

export function describeInvisible(text: string): string | null {
	const found = invisible.exec(text);
	if (found === null) return null;
	const point = found[0].codePointAt(0) ?? 0;
	const what = /[\n\r\u2028\u2029]/.test(found[0]) ? "a line break" : "an invisible character";
	return `${what} (U+${point.toString(16).toUpperCase().padStart(4, "0")}) at position ${found.index + 1}`;
}

export function withoutInvisible(text: string): string {
	return text.replace(new RegExp(invisible, "gu"), "");
}

const keyword = /^(true|false|null|yes|no|on|off|y|n)$/i;

export function yamlText(text: string): string {
	return /^[A-Za-z_][\w./-]*$/.test(text) && !keyword.test(text) ? text : JSON.stringify(text);
}

export function flowYaml(value: unknown): string {
	if (typeof value === "string") return yamlText(value);
	if (Array.isArray(value)) return `[${value.map(flowYaml).join(", ")}]`;
	if (typeof value !== "object" || value === null) return String(value);
	const entries = Object.entries(value).filter(([, own]) => own !== undefined);
	return `{ ${entries.map(([key, own]) => `${yamlText(key)}: ${flowYaml(own)}`).join(", ")} }`;
}

const maxNameChars = 100;
const harmful = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

export function quoteName(name: string, mark = '"'): string {
	const shown = name.length > maxNameChars ? `${name.slice(0, maxNameChars - 1)}…` : name;
	return `${mark}${showText(shown)}${mark}`;
}

export function showText(text: string): string {
	return text.replace(harmful, (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

export function formatDims(dims: readonly (number | string | null)[]): string {
	return `[${dims.map((dim) => (typeof dim === "string" ? quoteName(dim, "") : (dim ?? "?"))).join(", ")}]`;
}
