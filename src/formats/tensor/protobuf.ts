// Reads one protobuf message in memory, with every length checked against the bytes left.

type WireType = 0 | 1 | 2 | 5;

export interface Field {
	number: number;
	type: WireType;
	/** The bytes of a varint, or the content of a length-delimited field. */
	bytes: Uint8Array;
	whole: Uint8Array;
}

export function readFields(bytes: Uint8Array, visit: (field: Field) => void): { got: string } | null {
	let at = 0;
	while (at < bytes.length) {
		const key = readVarint(bytes, at);
		if (key === null) return { got: `a broken field at byte ${at}` };
		const number = Number(key.value >> 3n);
		const type = Number(key.value & 7n);
		const span = spanOf(bytes, key.end, type);
		if (span === null || span.end > bytes.length || number === 0)
			return { got: `a field at byte ${at} that is invalid or ends beyond the file` };
		visit({
			number,
			type: type as WireType,
			bytes: bytes.subarray(span.start, span.end),
			whole: bytes.subarray(at, span.end),
		});
		at = span.end;
	}
	return null;
}

function spanOf(bytes: Uint8Array, at: number, type: number) {
	if (type === 1) return { start: at, end: at + 8 };
	if (type === 5) return { start: at, end: at + 4 };
	const varint = type === 0 || type === 2 ? readVarint(bytes, at) : null;
	if (varint === null) return null;
	if (type === 0) return { start: at, end: varint.end };
	return { start: varint.end, end: varint.end + Number(varint.value) };
}

/** An unsigned 64-bit varint; null if it does not end within ten bytes of the message. */
export function readVarint(bytes: Uint8Array, at: number): { value: bigint; end: number } | null {
	let value = 0n;
	for (let i = 0; i < 10; i += 1) {
		const byte = bytes[at + i];
		if (byte === undefined) return null;
		value |= BigInt(byte & 0x7f) << BigInt(7 * i);
		if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: at + i + 1 };
	}
	return null;
}
