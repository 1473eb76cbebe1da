// A list that forgets its oldest entries.

export interface Ring<Entry> {
	push(entry: Entry): void;
	/** Oldest first. */
	entries(): readonly Entry[];
}

export function createRing<Entry>(capacity: number): Ring<Entry> {
	let kept: Entry[] = [];
	return {
		push(entry) {
			kept.push(entry);
			// In one cut for many entries, so that each costs the same whatever the capacity.
			if (kept.length >= capacity * 2) kept = kept.slice(-capacity);
		},
		entries: () => (kept.length > capacity ? kept.slice(-capacity) : kept),
	};
}
