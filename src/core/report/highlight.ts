// A highlight: one thing that is not green, in a title and a few sentences.
import { precedence } from "../precedence.ts";
import { cleanText, shorten, withoutMarks } from "../text/escape.ts";
import type { Subject } from "../text/labels.ts";

export type HighlightSeverity = "fail" | "error" | "inconclusive" | "warn" | "note";

/** Texts are clean, shortened and not escaped; backticks mark code in all but the title. */
export interface Highlight {
	severity: HighlightSeverity;
	topic: readonly [one: string, many: string];
	about?: Subject;
	title: string;
	count?: number;
	lines?: readonly string[];
	sentences: readonly string[];
	fix?: string;
	excerpt?: readonly string[];
	/** Keys (`gateKey`) of the gates, which get no highlight of their own. */
	explains?: readonly string[];
}

export const severityOrder: readonly string[] = [...precedence, "note"];

/** The first lines of a log show what broke, the last how it ended. */
export function excerptLines(lines: readonly string[]): string[] {
	const shown = lines.length <= 12 ? lines : [...lines.slice(0, 6), "…", ...lines.slice(-6)];
	return shown.map((line) => shorten(cleanText(shorten(line, 1000)), 240));
}

/** Signs such as `%` and `→` are not words. */
export function countWords(text: string): number {
	return text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
}

const mostTitleWords = 26;
/** A short first sentence is kept with the lines, however many there are. */
const mostOpeningWords = 8;
const mostFixWords = 24;
/** Kept free for `… and 3 more in report.html`. */
const moreWords = 5;

function cut(text: string, maxWords: number) {
	let left = maxWords;
	const words = text.split(" ");
	const end = words.findIndex((word) => {
		left -= countWords(word);
		return left < 0;
	});
	return end === -1 ? text : `${words.slice(0, end).join(" ")} …`;
}

export function briefTitle({ title }: Highlight): string {
	return cut(title, mostTitleWords);
}

export function brief({ lines, fix, ...highlight }: Highlight, maxWords: number): Highlight {
	const title = briefTitle(highlight);
	// The fix has a label of one word.
	let left = maxWords - countWords(title) - (fix === undefined ? 0 : 1);
	const take = (texts: readonly string[], reserved = 0) =>
		texts.filter((text) => {
			const words = countWords(withoutMarks(text));
			if (words > left - reserved) return false;
			left -= words;
			return true;
		});
	const takeCut = (text: string, reserved = 0) => {
		const shown = cut(text, left - reserved);
		left -= countWords(shown);
		return shown;
	};
	const forFix = fix === undefined ? 0 : Math.min(mostFixWords, countWords(fix));
	const [first, ...others] = highlight.sentences;
	const opening =
		lines === undefined && first !== undefined
			? (take([first], forFix)[0] ?? takeCut(withoutMarks(first), forFix))
			: null;
	const openingWords = lines === undefined || first === undefined ? 0 : countWords(withoutMarks(first));
	const forOpening = openingWords > mostOpeningWords ? 0 : openingWords;
	const failing = take(lines ?? [], forFix + moreWords + forOpening);
	const hidden = (lines?.length ?? 0) - failing.length;
	const more = hidden === 0 ? [] : take([`… and ${hidden} more in report.html`], forFix + forOpening);
	return {
		...highlight,
		title,
		lines: lines === undefined ? undefined : [...failing, ...more],
		fix: fix === undefined ? undefined : takeCut(fix),
		sentences: opening === null ? take(highlight.sentences) : [opening, ...take(others)],
	};
}
