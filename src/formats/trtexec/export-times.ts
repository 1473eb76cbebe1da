// Reads the file of --exportTimes as a stream of bytes into columns of numbers; the text itself is not kept.

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
function readEntryFast(bytes: Uint8Array, from: number, values: Float64Array): number {
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
function readEntrySlow(text: string, values: Float64Array): "malformed" | "not-finite" | null {
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

interface GrowingColumn {
	push(value: number): void;
	length(): number;
	values(): Float64Array;
}

function createColumn(): GrowingColumn {
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

export interface ExportTimes {
	iterations: number;
	/** GPU time of each inference; the statistics use this sample. */
	computeMs: Float64Array;
	latencyMs: Float64Array;
	/** CPU time to enqueue. It has only six digits, so it is coarse late in a run. */
	enqueueMs: Float64Array;
	/** Time from the start of the first transfer or kernel to the end of the last. */
	wallMs: number;
}

type TimesFault = "truncated" | "not-finite" | "malformed" | "empty" | "too-many";

export type TimesResult =
	| { state: "ok"; times: ExportTimes }
	| { state: "broken"; fault: TimesFault; message: string };

interface TimesParser {
	push(chunk: Uint8Array): void;
	end(): TimesResult;
}

// An entry has about 290 bytes. The limit keeps a malicious file from filling the memory.
const longestEntry = 4096;
// 12 keys with punctuation take 194 bytes; 12 numbers of 15 digits and a decimal point take 192.
const longestPlainEntry = 512;
/** Twenty minutes of 25 µs inferences. */
const maxIterations = 50_000_000;

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

const messages: Readonly<Record<TimesFault, string>> = {
	truncated: "The times file is truncated.",
	"not-finite": "The times file contains a value that is not a finite number.",
	malformed: "The times file is not a list of entries with the keys that trtexec writes.",
	empty: "The times file has no iterations.",
	"too-many": `The times file has more than ${maxIterations} iterations.`,
};

// Indexes into an entry's values. They are constants because they are used for each of millions of entries.
const slot = {
	startEnqueue: timesKeys.indexOf("startEnqMs"),
	endEnqueue: timesKeys.indexOf("endEnqMs"),
	start: timesKeys.indexOf("startH2dMs"),
	end: timesKeys.indexOf("endD2hMs"),
	compute: timesKeys.indexOf("computeMs"),
	latency: timesKeys.indexOf("latencyMs"),
} as const;

interface Sink {
	count(): number;
	/** Adds one entry's values; false if they are impossible. */
	add(values: Float64Array): boolean;
	times(): ExportTimes;
}

function createSink(): Sink {
	const compute = createColumn();
	const latency = createColumn();
	const enqueue = createColumn();
	let firstMs = Number.POSITIVE_INFINITY;
	let lastMs = Number.NEGATIVE_INFINITY;
	return {
		count: compute.length,
		add: (values) => {
			const computeMs = values[slot.compute] as number;
			const latencyMs = values[slot.latency] as number;
			if (computeMs < 0 || latencyMs < 0) return false;
			compute.push(computeMs);
			latency.push(latencyMs);
			enqueue.push((values[slot.endEnqueue] as number) - (values[slot.startEnqueue] as number));
			firstMs = Math.min(firstMs, values[slot.start] as number);
			lastMs = Math.max(lastMs, values[slot.end] as number);
			return true;
		},
		times: () => ({
			iterations: compute.length(),
			computeMs: compute.values(),
			latencyMs: latency.values(),
			enqueueMs: enqueue.values(),
			wallMs: lastMs - firstMs,
		}),
	};
}

type ListState = "before" | "first" | "entry" | "separator" | "after";

function nextState(state: ListState, byte: number): ListState | null {
	if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return state;
	if (byte === openBracket && state === "before") return "first";
	if (byte === comma && state === "separator") return "entry";
	if (byte === closeBracket && (state === "separator" || state === "first")) return "after";
	return null;
}

/** Takes the file in chunks of any size. After a fault the remaining input is ignored; `end` returns the first fault. */
export function createTimesParser(): TimesParser {
	const decoder = new TextDecoder();
	const sink = createSink();
	const values = new Float64Array(timesKeys.length);
	let pending: Uint8Array = new Uint8Array(0);
	let state: ListState = "before";
	let broken: TimesFault | null = null;

	const fail = (fault: TimesFault) => {
		broken ??= fault;
	};
	/** An entry in another notation than trtexec's, or still incomplete: returns the offset after it, or -1. */
	const takeUnusualEntry = (bytes: Uint8Array, at: number) => {
		const next = bytes.indexOf(closeBrace, at) + 1;
		const length = (next === 0 ? bytes.length : next) - at;
		const fault =
			length > longestEntry
				? "malformed"
				: next === 0
					? null
					: readEntrySlow(decoder.decode(bytes.subarray(at, next)), values);
		if (fault) fail(fault);
		return next === 0 ? -1 : next;
	};
	const takeEntry = (bytes: Uint8Array, at: number) => {
		// A read past the end would permanently deoptimise the fast path.
		const fast = bytes.length - at > longestPlainEntry ? readEntryFast(bytes, at, values) : -1;
		const next = fast < 0 ? takeUnusualEntry(bytes, at) : fast;
		if (next < 0 || broken !== null) return next;
		if (sink.count() >= maxIterations) fail("too-many");
		else if (!sink.add(values)) fail("malformed");
		return next;
	};
	const skipPunctuation = (bytes: Uint8Array, from: number) => {
		for (let next = from; next < bytes.length; next++) {
			const byte = bytes[next] as number;
			if (byte === openBrace && (state === "first" || state === "entry")) return next;
			const after = nextState(state, byte);
			if (after === null) {
				fail("malformed");
				return next;
			}
			state = after;
		}
		return bytes.length;
	};
	/** Reads all complete entries; returns the offset where it stopped. */
	const scan = (bytes: Uint8Array) => {
		let next = skipPunctuation(bytes, 0);
		while (next < bytes.length && broken === null) {
			const end = takeEntry(bytes, next);
			if (end < 0) break;
			state = "separator";
			next = skipPunctuation(bytes, end);
		}
		return next;
	};
	const push = (chunk: Uint8Array) => {
		if (broken !== null) return;
		const bytes = pending.length === 0 ? chunk : joinBytes(pending, chunk);
		const next = scan(bytes);
		pending = bytes.slice(next);
	};
	const end = (): TimesResult => {
		if (state !== "after") fail("truncated");
		if (sink.count() === 0) fail("empty");
		return broken
			? { state: "broken", fault: broken, message: messages[broken] }
			: { state: "ok", times: sink.times() };
	};
	return { push, end };
}

function joinBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
	const joined = new Uint8Array(left.length + right.length);
	joined.set(left);
	joined.set(right, left.length);
	return joined;
}
