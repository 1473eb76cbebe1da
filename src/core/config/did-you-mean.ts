// Finds the known word that a misspelt one most likely meant.

const maxChars = 40;
const maxKnown = 200;

/** Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps cost 1. */
export function editDistance(left: string, right: string): number {
	let beforeLast: number[] = [];
	let last = Array.from({ length: right.length + 1 }, (_, column) => column);
	for (let row = 1; row <= left.length; row += 1) {
		const current = [row];
		for (let column = 1; column <= right.length; column += 1) {
			const same = left[row - 1] === right[column - 1];
			const swapped =
				row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
			current.push(
				Math.min(
					(last[column] ?? 0) + 1,
					(current[column - 1] ?? 0) + 1,
					(last[column - 1] ?? 0) + (same ? 0 : 1),
					swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
				),
			);
		}
		[beforeLast, last] = [last, current];
	}
	return last[right.length] ?? 0;
}

export function didYouMean(word: string, known: readonly string[]): string | undefined {
	if (word.length === 0 || word.length > maxChars) return undefined;
	const simplify = (text: string) => text.toLowerCase().replace(/[-_ .]/g, "");
	const wanted = simplify(word);
	let best: { candidate: string; distance: number } | undefined;
	for (const candidate of known.slice(0, maxKnown)) {
		if (candidate.length > maxChars || candidate === word) continue;
		const distance = editDistance(wanted, simplify(candidate));
		const allowed = Math.max(1, Math.floor(Math.max(wanted.length, candidate.length) / 3));
		if (distance <= allowed && distance < (best?.distance ?? Infinity)) best = { candidate, distance };
	}
	return best?.candidate;
}

export function suggest(
	word: string,
	known: readonly string[],
	fix: string,
): { fix: string; meant?: string } {
	const meant = didYouMean(word, known);
	return meant === undefined ? { fix } : { fix: `Write ${meant}.`, meant };
}
