// Spearman's rank correlation of two lists.

/** Pearson's correlation of the ranks, equal values sharing the mean of theirs; 1 of two constant lists, 0 where only one is (scipy: NaN). */
export function rankCorrelation(left: Float64Array, right: Float64Array): number {
	const [a, b] = [ranksOf(left), ranksOf(right)];
	if (a === null || b === null) return Number.NaN;
	const mean = (left.length - 1) / 2;
	let both = 0;
	let ofA = 0;
	let ofB = 0;
	for (let i = 0; i < a.length; i += 1) {
		const x = (a[i] as number) - mean;
		const y = (b[i] as number) - mean;
		both += x * y;
		ofA += x * x;
		ofB += y * y;
	}
	if (ofA === 0 || ofB === 0) return ofA === ofB ? 1 : 0;
	return both / Math.sqrt(ofA * ofB);
}

/** From 0; null where a value is NaN. */
function ranksOf(values: Float64Array): Float64Array | null {
	const order = Float64Array.from(values, (_, index) => index);
	for (const value of values) if (Number.isNaN(value)) return null;
	order.sort((i, j) => compare(values[i] as number, values[j] as number));
	const ranks = new Float64Array(values.length);
	for (let from = 0; from < order.length; ) {
		let to = from + 1;
		while (to < order.length && values[order[to] as number] === values[order[from] as number]) to += 1;
		for (let at = from; at < to; at += 1) ranks[order[at] as number] = (from + to - 1) / 2;
		from = to;
	}
	return ranks;
}

function compare(left: number, right: number): number {
	return left === right ? 0 : left < right ? -1 : 1;
}
