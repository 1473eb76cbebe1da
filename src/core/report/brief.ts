// Shortens a highlight for a comment; report.html has all of it.
import { type Highlight, type Phrase, plainPhrase } from "./highlight.ts";

/** Signs such as `%` and `→` are not words. */
export function countWords(text: string): number {
	return text.match(/\S*[\p{L}\p{N}]\S*/gu)?.length ?? 0;
}

const mostTitleWords = 26;
/** Kept free for the fix. */
const mostFixWords = 24;
/** Kept free for `… and 3 more in report.html`. */
const moreWords = 5;

function cut(text: string, maxWords: number): string {
	let left = maxWords;
	const words = text.split(" ");
	const end = words.findIndex((word) => {
		left -= countWords(word);
		return left < 0;
	});
	return end === -1 ? text : `${words.slice(0, end).join(" ")} …`;
}

/** The highlight in at most `maxWords` words: title, lines or first sentence, fix, and the other sentences that fit. */
export function brief({ lines, fix, ...highlight }: Highlight, maxWords: number): Highlight {
	const title = cut(highlight.title, mostTitleWords);
	let left = maxWords - countWords(title);
	const take = (phrases: readonly Phrase[], reserved = 0): Phrase[] =>
		phrases.filter((phrase) => {
			const words = countWords(plainPhrase(phrase));
			if (words > left - reserved) return false;
			left -= words;
			return true;
		});
	/** Cut where it does not fit. */
	const takeText = (text: string, reserved = 0): string => {
		const shown = cut(text, left - reserved);
		left -= countWords(shown);
		return shown;
	};
	const forFix = fix === undefined ? 0 : Math.min(mostFixWords, countWords(fix));
	const [first, ...others] = highlight.sentences;
	const opening = lines === undefined && first !== undefined ? (take([first], forFix)[0] ?? [takeText(plainPhrase(first), forFix)]) : null;
	const failing = take(lines ?? [], forFix + moreWords);
	const hidden = (lines?.length ?? 0) - failing.length;
	const more: Phrase[] = hidden === 0 ? [] : take([[`… and ${hidden} more in report.html`]], forFix);
	return {
		...highlight,
		title,
		...(lines === undefined ? {} : { lines: [...failing, ...more] }),
		...(fix === undefined ? {} : { fix: takeText(fix) }),
		sentences: opening === null ? take(highlight.sentences) : [opening, ...take(others)],
	};
}
