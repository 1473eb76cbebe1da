// Reads the file of --exportTimes as a stream of bytes into columns of numbers; the text itself is not kept.
import { readEntryFast, readEntrySlow, timesKeys } from "./times-entry.ts";

export interface GrowingColumn {
	push(value: number): void;
	length(): number;
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

export type TimesFault = "truncated" | "not-finite" | "malformed" | "empty" | "too-many";

export type TimesResult =
	| { state: "ok"; times: ExportTimes }
	| { state: "broken"; fault: TimesFault; message: string };

export interface TimesParser {
	push(chunk: Uint8Array): void;
	end(): TimesResult;
}

// An entry has about 290 bytes. The limit keeps a malicious file from filling the memory.
const longestEntry = 4096;
// 12 keys with punctuation take 194 bytes; 12 numbers of 15 digits and a decimal point take 192.
const longestPlainEntry = 512;
/** Twenty minutes of 25 µs inferences. */
export const maxIterations = 50_000_000;

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

	const fail = (fault: TimesFault): void => {
		broken ??= fault;
	};
	/** An entry in another notation than trtexec's, or still incomplete: returns the offset after it, or -1. */
	const takeUnusualEntry = (bytes: Uint8Array, at: number): number => {
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
	const takeEntry = (bytes: Uint8Array, at: number): number => {
		// A read past the end would permanently deoptimise the fast path.
		const fast = bytes.length - at > longestPlainEntry ? readEntryFast(bytes, at, values) : -1;
		const next = fast < 0 ? takeUnusualEntry(bytes, at) : fast;
		if (next < 0 || broken !== null) return next;
		if (sink.count() >= maxIterations) fail("too-many");
		else if (!sink.add(values)) fail("malformed");
		return next;
	};
	const skipPunctuation = (bytes: Uint8Array, from: number): number => {
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
	const scan = (bytes: Uint8Array): number => {
		let next = skipPunctuation(bytes, 0);
		while (next < bytes.length && broken === null) {
			const end = takeEntry(bytes, next);
			if (end < 0) break;
			state = "separator";
			next = skipPunctuation(bytes, end);
		}
		return next;
	};
	const push = (chunk: Uint8Array): void => {
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
