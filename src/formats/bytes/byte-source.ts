// Random access to the bytes of a file, or of memory.

export interface ByteSource {
	size: number;
	/** The bytes from `offset`; fewer than `length` only if the source ends. */
	read(offset: number, length: number): Uint8Array;
}

export function memorySource(bytes: Uint8Array): ByteSource {
	return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}

/** Little-endian binary64, the format of sample files. */
export function float64Bytes(values: ArrayLike<number>): Uint8Array {
	const view = new DataView(new ArrayBuffer(values.length * 8));
	for (let index = 0; index < values.length; index += 1) view.setFloat64(index * 8, values[index] ?? 0, true);
	return new Uint8Array(view.buffer);
}
