// Which output of the second runner Polygraphy holds an output of the first against.

/** Of the same name; else of a name that holds the other whatever its case; else at the same place. null: none. */
export function matchingOutput(name: string, first: readonly string[], second: readonly string[]): string | null {
	const found = findName(name, second, first.indexOf(name));
	if (found === null || found === name) return found;
	// An output that the first runner has by its very name is compared with that one alone.
	return findName(found, first, -1) === found ? null : found;
}

function findName(name: string, names: readonly string[], place: number): string | null {
	if (names.includes(name)) return name;
	const lower = name.toLowerCase();
	const alike = names.find((other) => lower.includes(other.toLowerCase()) || other.toLowerCase().includes(lower));
	return alike ?? names[place] ?? null;
}
