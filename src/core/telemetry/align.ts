// Finds the readings that belong to a stretch of time.

interface Timed {
	atMs: number;
}

/** Those of `sorted` with fromMs ≤ atMs ≤ toMs. `sorted` ascends in time. */
export function between<Reading extends Timed>(sorted: readonly Reading[], fromMs: number, toMs: number): readonly Reading[] {
	return sorted.slice(
		firstFrom(sorted, (atMs) => atMs >= fromMs),
		firstFrom(sorted, (atMs) => atMs > toMs),
	);
}

/** Index of the first reading whose time passes; `passes` is false, then true, along the list. */
function firstFrom(sorted: readonly Timed[], passes: (atMs: number) => boolean): number {
	let low = 0;
	let high = sorted.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		const reading = sorted[middle];
		if (reading !== undefined && !passes(reading.atMs)) low = middle + 1;
		else high = middle;
	}
	return low;
}
