// The longest common sequence of two lists.

const maxCells = 16_000_000;

export function commonSequence(
	base: readonly string[],
	head: readonly string[],
): (readonly [base: number, head: number])[] {
	const width = head.length + 1;
	if ((base.length + 1) * width > maxCells) return [];
	const longest = fillTable(base, head, width);
	const found: (readonly [number, number])[] = [];
	let [row, column] = [0, 0];
	while (row < base.length && column < head.length) {
		const here = row * width + column;
		if (base[row] === head[column]) found.push([row++, column++]);
		else if ((longest[here + width] ?? 0) >= (longest[here + 1] ?? 0)) row += 1;
		else column += 1;
	}
	return found;
}

function fillTable(base: readonly string[], head: readonly string[], width: number): Uint16Array {
	const longest = new Uint16Array((base.length + 1) * width);
	for (let row = base.length - 1; row >= 0; row -= 1) {
		for (let column = head.length - 1; column >= 0; column -= 1) {
			const here = row * width + column;
			longest[here] =
				base[row] === head[column]
					? (longest[here + width + 1] ?? 0) + 1
					: Math.max(longest[here + width] ?? 0, longest[here + 1] ?? 0);
		}
	}
	return longest;
}
