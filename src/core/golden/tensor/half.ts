// Decodes 16-bit floats: IEEE 754 binary16 by a table, bfloat16 by a shift.

let halfTable: Float32Array | null = null;

/** Value of one binary16 bit pattern (IEEE 754-2008, 3.4): sign 1, exponent 5 with bias 15, fraction 10. */
function halfValue(bits: number): number {
	const sign = bits & 0x8000 ? -1 : 1;
	const exponent = (bits >> 10) & 0x1f;
	const fraction = bits & 0x3ff;
	if (exponent === 0) return sign * fraction * 2 ** -24;
	if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
	return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** All 65,536 values; built when first asked for. */
function halfValues(): Float32Array {
	halfTable ??= Float32Array.from({ length: 65_536 }, (_, bits) => halfValue(bits));
	return halfTable;
}

/** Writes the values of binary16 patterns to `out`, which is at least as long. */
export function decodeHalf(bits: Uint16Array, out: Float32Array): void {
	const table = halfValues();
	for (let i = 0; i < bits.length; i += 1) out[i] = table[bits[i] as number] as number;
}

/** Writes the values of bfloat16 patterns to `out`: they are the upper halves of binary32. */
export function decodeBrainFloat(bits: Uint16Array, out: Float32Array): void {
	const words = new Uint32Array(out.buffer, out.byteOffset, out.length);
	for (let i = 0; i < bits.length; i += 1) words[i] = (bits[i] as number) << 16;
}
