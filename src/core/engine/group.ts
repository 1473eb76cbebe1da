// Groups entries by a key, in the order of their first.

export function groupBy<Key, Entry>(entries: Iterable<Entry>, keyOf: (entry: Entry) => Key): Map<Key, Entry[]> {
	const groups = new Map<Key, Entry[]>();
	for (const entry of entries) {
		const key = keyOf(entry);
		const own = groups.get(key);
		if (own === undefined) groups.set(key, [entry]);
		else own.push(entry);
	}
	return groups;
}
