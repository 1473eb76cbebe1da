// Random access to the bytes of a file, or of memory.

/** Bytes that can be read at any offset; a file, or memory. */
export interface ByteSource {
	size: number;
	/** The bytes from `offset`; fewer than `length` only where the source ends. */
	read(offset: number, length: number): Uint8Array;
}

export function memorySource(bytes: Uint8Array): ByteSource {
	return { size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) };
}
