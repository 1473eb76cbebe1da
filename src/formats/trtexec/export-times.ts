// Reads the file of --exportTimes as a stream of bytes into columns of numbers; the text itself is not kept.

/** The order in which every version from 8.6 to 11 writes them. */
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

type Entry = Readonly<Record<(typeof timesKeys)[number], number>>;

export interface ExportTimes {
	iterations: number;
	/** GPU time of each inference; the statistics use this sample. */
	computeMs: Float64Array;
	latencyMs: Float64Array;
	/** CPU time to enqueue. It has only six digits, so it is coarse late in a run. */
	enqueueMs: Float64Array;
	/** From the start of the first transfer or kernel to the end of the last. */
	wallMs: number;
}

const messages = {
	truncated: "The times file is truncated.",
	"not-finite": "The times file contains a value that is not a finite number.",
	malformed: "The times file is not a list of entries with the keys that trtexec writes.",
	empty: "The times file has no iterations.",
	"too-many": "The times file has more than 50 million iterations.",
};

type TimesFault = keyof typeof messages;

export type TimesResult =
	| { state: "ok"; times: ExportTimes }
	| { state: "broken"; fault: TimesFault; message: string };

export interface TimesParser {
	push(chunk: Uint8Array): void;
	end(): TimesResult;
}

/** An entry has about 290 bytes. The limit keeps a malicious file from filling the memory. */
const longestEntry = 4096;
/** Twenty minutes of 25 µs inferences. */
const maxIterations = 50_000_000;

function createColumn() {
	let buffer = new Float64Array(1024);
	let length = 0;
	return {
		push(value: number): void {
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

function createSink() {
	const [compute, latency, enqueue] = [createColumn(), createColumn(), createColumn()];
	let firstMs = Number.POSITIVE_INFINITY;
	let lastMs = Number.NEGATIVE_INFINITY;
	return {
		count: compute.length,
		add(entry: Entry): TimesFault | null {
			if (entry.computeMs < 0 || entry.latencyMs < 0) return "malformed";
			if (compute.length() >= maxIterations) return "too-many";
			compute.push(entry.computeMs);
			latency.push(entry.latencyMs);
			enqueue.push(entry.endEnqMs - entry.startEnqMs);
			firstMs = Math.min(firstMs, entry.startH2dMs);
			lastMs = Math.max(lastMs, entry.endD2hMs);
			return null;
		},
		times: (): ExportTimes => ({
			iterations: compute.length(),
			computeMs: compute.values(),
			latencyMs: latency.values(),
			enqueueMs: enqueue.values(),
			wallMs: lastMs - firstMs,
		}),
	};
}

function readEntry(text: string): Entry | TimesFault {
	if (/[:,\s](?:-?nan|-?inf(?:inity)?)\b/i.test(text)) return "not-finite";
	let entry: Entry;
	try {
		entry = JSON.parse(text);
	} catch {
		return "malformed";
	}
	const values = timesKeys.map((key) => entry[key]);
	if (values.some((value) => typeof value !== "number")) return "malformed";
	return values.every(Number.isFinite) ? entry : "not-finite";
}

const byteOf = (character: string): number => character.charCodeAt(0);
const blanks = new Set([..." \n\r\t"].map(byteOf));
const [openBrace, closeBrace] = [byteOf("{"), byteOf("}")];

type ListState = "before" | "first" | "entry" | "separator" | "after";

function nextState(state: ListState, byte: number): ListState | null {
	if (blanks.has(byte)) return state;
	if (byte === byteOf("[") && state === "before") return "first";
	if (byte === byteOf(",") && state === "separator") return "entry";
	return byte === byteOf("]") && (state === "separator" || state === "first") ? "after" : null;
}

/** Takes the file in chunks of any size. After a fault the remaining input is ignored; `end` returns the first fault. */
export function createTimesParser(): TimesParser {
	const decoder = new TextDecoder();
	const sink = createSink();
	let pending: Uint8Array = new Uint8Array(0);
	let state: ListState = "before";
	let broken: TimesFault | null = null;

	/** The offset of the next entry, or the end. */
	const skipPunctuation = (bytes: Uint8Array, from: number): number => {
		for (let at = from; at < bytes.length; at++) {
			const byte = bytes[at] as number;
			if (byte === openBrace && (state === "first" || state === "entry")) return at;
			const after = nextState(state, byte);
			if (after === null) {
				broken = "malformed";
				return at;
			}
			state = after;
		}
		return bytes.length;
	};
	/** The offset after the entry, or -1 where it is incomplete. */
	const takeEntry = (bytes: Uint8Array, at: number): number => {
		const end = bytes.indexOf(closeBrace, at) + 1;
		if ((end === 0 ? bytes.length : end) - at > longestEntry) broken = "malformed";
		if (end === 0 || broken !== null) return -1;
		const entry = readEntry(decoder.decode(bytes.subarray(at, end)));
		broken = typeof entry === "string" ? entry : sink.add(entry);
		state = "separator";
		return end;
	};
	const push = (chunk: Uint8Array): void => {
		if (broken !== null) return;
		const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
		let next = skipPunctuation(bytes, 0);
		while (next < bytes.length && broken === null) {
			const end = takeEntry(bytes, next);
			if (end < 0) break;
			next = skipPunctuation(bytes, end);
		}
		pending = bytes.slice(next);
	};
	const end = (): TimesResult => {
		const fault = broken ?? (state === "after" ? null : "truncated") ?? (sink.count() === 0 ? "empty" : null);
		return fault === null
			? { state: "ok", times: sink.times() }
			: { state: "broken", fault, message: messages[fault] };
	};
	return { push, end };
}
