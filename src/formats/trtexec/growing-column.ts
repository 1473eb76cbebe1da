// A list of numbers that grows without boxing them.

export interface GrowingColumn {
	push(value: number): void;
	length(): number;
	/** A copy of exactly the values. */
	values(): Float64Array;
}

export function createColumn(): GrowingColumn {
	let buffer = new Float64Array(1024);
	let length = 0;
	return {
		push: (value) => {
			if (length === buffer.length) {
				const larger = new Float64Array(2 * buffer.length);
				larger.set(buffer);
				buffer = larger;
			}
			buffer[length++] = value;
		},
		length: () => length,
		values: () => buffer.slice(0, length),
	};
}
