// Groups and numbers entries by a key. Map.groupBy is not in Node 20.

export type Group<Entry> = [Entry, ...Entry[]];

export function groupBy<Key, Entry>(
	entries: Iterable<Entry>,
	keyOf: (entry: Entry) => Key,
): Map<Key, Group<Entry>> {
	const groups = new Map<Key, Group<Entry>>();
	for (const entry of entries) {
		const key = keyOf(entry);
		const own = groups.get(key);
		if (own === undefined) groups.set(key, [entry]);
		else own.push(entry);
	}
	return groups;
}

export function numberRepeats<Entry>(
	entries: readonly Entry[],
	nameOf: (entry: Entry) => string,
): [key: string, entry: Entry][] {
	const seen = new Map<string, number>();
	return entries.map((entry) => {
		const name = nameOf(entry);
		const before = seen.get(name) ?? 0;
		seen.set(name, before + 1);
		return [`${before} ${name}`, entry];
	});
}
