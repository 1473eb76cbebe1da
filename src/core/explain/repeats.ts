// Tells entries of one name apart by how often the name came before.

export function numberRepeats<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): [key: string, entry: Entry][] {
	const seen = new Map<string, number>();
	return entries.map((entry) => {
		const name = nameOf(entry);
		const before = seen.get(name) ?? 0;
		seen.set(name, before + 1);
		return [`${before} ${name}`, entry];
	});
}
