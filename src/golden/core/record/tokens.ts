// Fits the tokens of a text to a length: keeps the tokenizer's own tokens around the text, and pads the rest.

export interface TokenizedText {
	ids: readonly number[];
	types: readonly number[];
	contentIds: readonly number[];
}

export interface TokenRow {
	ids: number[];
	types: number[];
	mask: number[];
}

export interface TokenPadding {
	id: number;
	typeId: number;
	side: "left" | "right";
}

export function fitTokens(
	{ ids, types, contentIds }: TokenizedText,
	length: number | null,
	padding: TokenPadding,
): TokenRow {
	const size = length ?? ids.length;
	const kept = keptPlaces(ids, contentIds, size);
	const row = {
		ids: kept.map((at) => ids[at] ?? 0),
		types: kept.map((at) => types[at] ?? 0),
		mask: kept.map(() => 1),
	};
	const missing = size - kept.length;
	const pad = (values: number[], value: number) => {
		const filling = Array.from({ length: missing }, () => value);
		return padding.side === "left" ? [...filling, ...values] : [...values, ...filling];
	};
	return { ids: pad(row.ids, padding.id), types: pad(row.types, padding.typeId), mask: pad(row.mask, 0) };
}

function keptPlaces(ids: readonly number[], contentIds: readonly number[], size: number) {
	const places = ids.map((_, at) => at);
	const surplus = ids.length - size;
	if (surplus <= 0) return places;
	const start = startOf(ids, contentIds);
	const end = start + contentIds.length;
	const cut = Math.min(surplus, contentIds.length);
	return [...places.slice(0, end - cut), ...places.slice(end)].slice(0, size);
}

function startOf(ids: readonly number[], contentIds: readonly number[]) {
	const most = ids.length - contentIds.length;
	for (let start = 0; start <= most; start += 1)
		if (contentIds.every((id, at) => ids[start + at] === id)) return start;
	return 0;
}
