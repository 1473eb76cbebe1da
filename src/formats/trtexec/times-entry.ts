// Reads one entry of --exportTimes: trtexec's own notation without creating strings, any other through JSON.

// The order in which every version from 8.6 to 11 writes them.
export const timesKeys = [
	"startEnqMs",
	"endEnqMs",
	"startH2dMs",
	"endH2dMs",
	"startComputeMs",
	"endComputeMs",
	"startD2hMs",
	"endD2hMs",
	"h2dMs",
	"computeMs",
	"d2hMs",
	"latencyMs",
] as const;

const encoder = new TextEncoder();
// The bytes before each value, and after the last.
const leads = timesKeys.map((key, index) => encoder.encode(`${index === 0 ? "{ " : ", "}"${key}" : `));
const tail = encoder.encode(" }");

// Powers of ten that a double represents exactly, so that digits ÷ power is rounded correctly.
const powers = Float64Array.from({ length: 16 }, (_, exponent) => Number(`1e${exponent}`));
const maxDigits = 15;

/** The offset after `expected`, or -1. */
function skipExpected(bytes: Uint8Array, from: number, expected: Uint8Array): number {
	const { length } = expected;
	for (let index = 0; index < length; index++) if (bytes[from + index] !== expected[index]) return -1;
	return from + length;
}

/** Reads a plain decimal into `values[index]`; returns the offset after it, or -1 for any other number. */
function readDecimal(bytes: Uint8Array, from: number, into: { values: Float64Array; index: number }): number {
	let at = from;
	let mantissa = 0;
	let decimals = 0;
	let byte = bytes[at] as number;
	while (byte >= 0x30 && byte <= 0x39) {
		mantissa = mantissa * 10 + (byte - 0x30);
		byte = bytes[++at] as number;
	}
	let digits = at - from;
	if (byte === 0x2e) {
		const point = at;
		byte = bytes[++at] as number;
		while (byte >= 0x30 && byte <= 0x39) {
			mantissa = mantissa * 10 + (byte - 0x30);
			byte = bytes[++at] as number;
		}
		decimals = at - point - 1;
		digits += decimals;
		// `1.` is not a JSON number.
		if (decimals === 0) return -1;
	}
	if (digits === 0 || digits > maxDigits || digits === decimals) return -1;
	into.values[into.index] = mantissa / (powers[decimals] as number);
	return at;
}

/** The offset after the entry at `from`, its numbers in `values`; -1 if it is not in trtexec's notation. */
export function readEntryFast(bytes: Uint8Array, from: number, values: Float64Array): number {
	const into = { values, index: 0 };
	let at = from;
	for (; into.index < leads.length; into.index++) {
		at = skipExpected(bytes, at, leads[into.index] as Uint8Array);
		if (at < 0) return -1;
		at = readDecimal(bytes, at, into);
		if (at < 0) return -1;
	}
	return skipExpected(bytes, at, tail);
}

/** Reads any flat entry that has the keys: other orders, exponents, minus signs. Null on success. */
export function readEntrySlow(text: string, values: Float64Array): "malformed" | "not-finite" | null {
	if (/[:,\s](?:-?nan|-?inf(?:inity)?)\b/i.test(text)) return "not-finite";
	let entry: unknown;
	try {
		entry = JSON.parse(text);
	} catch {
		return "malformed";
	}
	for (const [index, key] of timesKeys.entries()) {
		const value: unknown = (entry as Record<string, unknown>)[key];
		if (typeof value !== "number") return "malformed";
		values[index] = value;
	}
	return values.every(Number.isFinite) ? null : "not-finite";
}
