// Finds the elements that are furthest from the golden.
import { distanceAt, forEachDifference, type Sides } from "./walk.ts";

interface Found {
	at: number;
	size: number;
}

/** Flat indices, furthest first, the lower of equals before; what is not a number on one side alone is furthest. */
export function largestDifferences(sides: Sides, most: number): number[] {
	const found: Found[] = [];
	forEachDifference(sides, (chunk, start) => {
		for (let i = 0; i < chunk.difference.length; i += 1) {
			const size = distanceAt(chunk, i);
			if (size > (found[most - 1]?.size ?? 0)) insert(found, { at: start + i, size }, most);
		}
	});
	return found.map(({ at }) => at);
}

function insert(found: Found[], item: Found, most: number): void {
	const place = found.findIndex((other) => item.size > other.size);
	found.splice(place < 0 ? found.length : place, 0, item);
	found.length = Math.min(found.length, most);
}
