// A highlight: one thing that is not green, in a title and a few sentences.
import { precedence } from "../precedence.ts";
import { cleanText, shorten } from "../text/escape.ts";

/** A sentence in pieces: plain text, or a name to be set in code letters. */
export type Phrase = readonly (string | { code: string })[];

export type HighlightSeverity = "fail" | "error" | "inconclusive" | "warn" | "note";

export interface Highlight {
	severity: HighlightSeverity;
	/** What the headline counts: singular and plural. */
	topic: readonly [one: string, many: string];
	/** Plain text, cleaned and shortened, not yet escaped for any format. */
	title: string;
	/** One for each thing that fails, such as an output. */
	lines?: readonly Phrase[];
	/** What explains it, most important first. */
	sentences: readonly Phrase[];
	/** What to do next. */
	fix?: string;
	/** Lines of a log. */
	excerpt?: readonly string[];
	/** Key (`gateKey`) of the gate that it explains, which gets no highlight of its own. */
	explains?: string;
}

export const severityOrder: readonly string[] = [...precedence, "note"];

/** A sentence of ours in which backticks mark code. */
export function flagsAsCode(text: string): Phrase {
	return text.split(/`([^`]+)`/).map((piece, index) => (index % 2 === 1 ? { code: piece } : piece));
}

export function plainPhrase(phrase: Phrase): string {
	return phrase.map((piece) => (typeof piece === "string" ? piece : piece.code)).join("");
}

const maxExcerptLines = 12;

/** Lines of a log that a report shows: the first show what broke, the last how it ended. The whole is in the log file. */
export function excerptLines(lines: readonly string[]): string[] {
	const half = maxExcerptLines / 2;
	const shown =
		lines.length <= maxExcerptLines ? lines : [...lines.slice(0, half), "…", ...lines.slice(-half)];
	return shown.map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}
