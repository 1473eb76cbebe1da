// Reads what --exportTimes writes, as a stream of bytes, into columns of numbers; nothing else of the text is kept.
import { createColumn } from "./growing-column.ts";
import { readEntryFast, readEntrySlow, timesKeys } from "./times-entry.ts";

export interface ExportTimes {
	iterations: number;
	/** GPU time of each inference: the sample that statistics rest on. */
	computeMs: Float64Array;
	/** Transfers and compute. */
	latencyMs: Float64Array;
	h2dMs: Float64Array;
	d2hMs: Float64Array;
	/** Time that the CPU took to enqueue: of six digits only, so coarse late in a run. */
	enqueueMs: Float64Array;
	/** From the first transfer's or kernel's start to the last one's end. */
	wallMs: number;
}

export type TimesFault = "truncated" | "not-finite" | "malformed" | "empty" | "too-many";

export type TimesResult = { state: "ok"; times: ExportTimes } | { state: "broken"; fault: TimesFault; message: string; atByte: number };

export interface TimesParser {
	push(chunk: Uint8Array): void;
	end(): TimesResult;
}

// An entry has some 290 bytes. A longer one is no entry, and would let a hostile file fill the memory.
const longestEntry = 4096;
// 12 keys with their marks take 194 bytes, 12 numbers of 15 digits and a point 192.
const longestPlainEntry = 512;
/** Twenty minutes of 25 µs inferences. */
export const mostIterations = 50_000_000;

const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const comma = 0x2c;

const messages: Readonly<Record<TimesFault, string>> = {
	truncated: "The file of times ends in the middle.",
	"not-finite": "The file of times holds a value that is no finite number.",
	malformed: "The file of times is not a list of entries with the keys that trtexec writes.",
	empty: "The file of times holds no iteration.",
	"too-many": `The file of times holds more than ${mostIterations} iterations.`,
};

// Places in an entry's values, as constants: this is asked for each of millions of entries.
const slot = {
	startEnqueue: timesKeys.indexOf("startEnqMs"),
	endEnqueue: timesKeys.indexOf("endEnqMs"),
	start: timesKeys.indexOf("startH2dMs"),
	end: timesKeys.indexOf("endD2hMs"),
	h2d: timesKeys.indexOf("h2dMs"),
	compute: timesKeys.indexOf("computeMs"),
	d2h: timesKeys.indexOf("d2hMs"),
	latency: timesKeys.indexOf("latencyMs"),
} as const;

interface Sink {
	count(): number;
	/** Keeps one entry's values; false where they cannot be true. */
	keep(values: Float64Array): boolean;
	times(): ExportTimes;
}

function createSink(): Sink {
	const compute = createColumn();
	const latency = createColumn();
	const h2d = createColumn();
	const d2h = createColumn();
	const enqueue = createColumn();
	let firstMs = Number.POSITIVE_INFINITY;
	let lastMs = Number.NEGATIVE_INFINITY;
	return {
		count: compute.length,
		keep: (values) => {
			const computeMs = values[slot.compute] as number;
			const latencyMs = values[slot.latency] as number;
			if (computeMs < 0 || latencyMs < 0) return false;
			compute.push(computeMs);
			latency.push(latencyMs);
			h2d.push(values[slot.h2d] as number);
			d2h.push(values[slot.d2h] as number);
			enqueue.push((values[slot.endEnqueue] as number) - (values[slot.startEnqueue] as number));
			firstMs = Math.min(firstMs, values[slot.start] as number);
			lastMs = Math.max(lastMs, values[slot.end] as number);
			return true;
		},
		times: () => ({
			iterations: compute.length(),
			computeMs: compute.values(),
			latencyMs: latency.values(),
			h2dMs: h2d.values(),
			d2hMs: d2h.values(),
			enqueueMs: enqueue.values(),
			wallMs: lastMs - firstMs,
		}),
	};
}

/** What the list's own characters allow next. */
type Place = "before" | "first" | "entry" | "separator" | "after";

function placeAfter(place: Place, byte: number): Place | null {
	if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return place;
	if (byte === openBracket && place === "before") return "first";
	if (byte === comma && place === "separator") return "entry";
	if (byte === closeBracket && (place === "separator" || place === "first")) return "after";
	return null;
}

/** Takes the file in chunks of any size. After a fault the rest is ignored, and `end` names the first one. */
export function createTimesParser(): TimesParser {
	const decoder = new TextDecoder();
	const sink = createSink();
	const values = new Float64Array(timesKeys.length);
	let held: Uint8Array = new Uint8Array(0);
	let consumed = 0;
	let place: Place = "before";
	let broken: { fault: TimesFault; atByte: number } | null = null;

	const fail = (fault: TimesFault, at: number): void => {
		broken ??= { fault, atByte: consumed + at };
	};
	/** An entry that is not written as trtexec does, or not whole yet: the place behind it, or -1. */
	const takeOddEntry = (bytes: Uint8Array, at: number): number => {
		const next = bytes.indexOf(closeBrace, at) + 1;
		const length = (next === 0 ? bytes.length : next) - at;
		const fault = length > longestEntry ? "malformed" : next === 0 ? null : readEntrySlow(decoder.decode(bytes.subarray(at, next)), values);
		if (fault) fail(fault, at);
		return next === 0 ? -1 : next;
	};
	const takeEntry = (bytes: Uint8Array, at: number): number => {
		// A read behind the end would make the fast way slow for good.
		const fast = bytes.length - at > longestPlainEntry ? readEntryFast(bytes, at, values) : -1;
		const next = fast < 0 ? takeOddEntry(bytes, at) : fast;
		if (next < 0 || broken !== null) return next;
		if (sink.count() >= mostIterations) fail("too-many", at);
		else if (!sink.keep(values)) fail("malformed", at);
		return next;
	};
	/** Passes brackets, commas and blanks, up to where an entry begins. */
	const passMarks = (bytes: Uint8Array, from: number): number => {
		for (let next = from; next < bytes.length; next++) {
			const byte = bytes[next] as number;
			if (byte === openBrace && (place === "first" || place === "entry")) return next;
			const after = placeAfter(place, byte);
			if (after === null) fail("malformed", next);
			if (after === null) return next;
			place = after;
		}
		return bytes.length;
	};
	/** Reads all that is whole; gives the place where it stopped. */
	const scan = (bytes: Uint8Array): number => {
		let next = passMarks(bytes, 0);
		while (next < bytes.length && broken === null) {
			const behind = takeEntry(bytes, next);
			if (behind < 0) break;
			place = "separator";
			next = passMarks(bytes, behind);
		}
		return next;
	};
	const push = (chunk: Uint8Array): void => {
		if (broken !== null) return;
		const bytes = held.length === 0 ? chunk : joinBytes(held, chunk);
		const next = scan(bytes);
		held = bytes.slice(next);
		consumed += next;
	};
	const end = (): TimesResult => {
		if (place !== "after") fail("truncated", held.length);
		if (sink.count() === 0) fail("empty", 0);
		return broken ? { state: "broken", ...broken, message: messages[broken.fault] } : { state: "ok", times: sink.times() };
	};
	return { push, end };
}

function joinBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
	const joined = new Uint8Array(left.length + right.length);
	joined.set(left);
	joined.set(right, left.length);
	return joined;
}
