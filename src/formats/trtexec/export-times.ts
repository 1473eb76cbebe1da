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

export interface ExportTimes {
	iterations: number;
	/** GPU time of each inference; the statistics use this sample. */
	computeMs: Float64Array;
	latencyMs: Float64Array;
	/** CPU time to enqueue. It has only six digits, so it is coarse late in a run. */
	enqueueMs: Float64Array;
	/** When each started to compute, from the start of the first. */
	startMs: Float64Array;
	/** Time from the start of the first transfer or kernel to the end of the last. */
	wallMs: number;
}

type TimesFault = "truncated" | "not-finite" | "malformed" | "empty" | "too-many";

export type TimesResult =
	| { state: "ok"; times: ExportTimes }
	| { state: "broken"; fault: TimesFault; message: string };

// An entry has about 290 characters. The limit keeps a malicious file from filling the memory.
const longestEntry = 4096;
/** Twenty minutes of 25 µs inferences. */
const maxIterations = 50_000_000;

const messages: Readonly<Record<TimesFault, string>> = {
	truncated: "The times file is truncated.",
	"not-finite": "The times file contains a value that is not a finite number.",
	malformed: "The times file is not a list of entries with the keys that trtexec writes.",
	empty: "The times file has no iterations.",
	"too-many": `The times file has more than ${maxIterations} iterations.`,
};

function readEntry(text: string) {
	let entry: Readonly<Record<(typeof timesKeys)[number], number>>;
	try {
		entry = JSON.parse(text);
	} catch {
		return /[:,\s](?:-?nan|-?inf(?:inity)?)\b/i.test(text) ? "not-finite" : "malformed";
	}
	if (timesKeys.some((key) => typeof entry[key] !== "number")) return "malformed";
	if (entry.computeMs < 0 || entry.latencyMs < 0) return "malformed";
	return timesKeys.every((key) => Number.isFinite(entry[key])) ? entry : "not-finite";
}

function createColumns() {
	const [compute, latency, enqueue, start]: [number[], number[], number[], number[]] = [[], [], [], []];
	let [firstMs, lastMs] = [Infinity, -Infinity];
	return {
		add(text: string): TimesFault | null {
			const entry = readEntry(text);
			if (typeof entry === "string") return entry;
			if (compute.length >= maxIterations) return "too-many";
			compute.push(entry.computeMs);
			latency.push(entry.latencyMs);
			enqueue.push(entry.endEnqMs - entry.startEnqMs);
			start.push(entry.startComputeMs);
			firstMs = Math.min(firstMs, entry.startH2dMs);
			lastMs = Math.max(lastMs, entry.endD2hMs);
			return null;
		},
		times: (): ExportTimes => ({
			iterations: compute.length,
			computeMs: Float64Array.from(compute),
			latencyMs: Float64Array.from(latency),
			enqueueMs: Float64Array.from(enqueue),
			startMs: Float64Array.from(start, (ms) => ms - (start[0] ?? 0)),
			wallMs: lastMs - firstMs,
		}),
	};
}

type ListState = "before" | "first" | "entry" | "separator" | "after";

function nextState(state: ListState, char: string) {
	if (/\s/.test(char)) return state;
	if (char === "[" && state === "before") return "first";
	if (char === "," && state === "separator") return "entry";
	if (char === "]" && (state === "separator" || state === "first")) return "after";
	return null;
}

/** Takes the file in chunks of any size. After a fault the remaining input is ignored; `end` returns the first fault. */
export function createTimesParser() {
	const decoder = new TextDecoder();
	const columns = createColumns();
	let pending = "";
	let state: ListState = "before";
	let broken: TimesFault | null = null;

	/** The offset after the entry; -1 if it is incomplete. */
	const takeEntry = (at: number) => {
		const end = pending.indexOf("}", at) + 1;
		if ((end === 0 ? pending.length : end) - at > longestEntry) broken = "malformed";
		if (end === 0) return -1;
		broken ??= columns.add(pending.slice(at, end));
		state = "separator";
		return end;
	};
	const take = (at: number) => {
		const char = pending[at] ?? "";
		if (char === "{" && (state === "first" || state === "entry")) return takeEntry(at);
		const after = nextState(state, char);
		if (after === null) broken = "malformed";
		else state = after;
		return at + 1;
	};
	const push = (chunk: Uint8Array) => {
		if (broken !== null) return;
		pending += decoder.decode(chunk, { stream: true });
		let at = 0;
		for (let next = 0; next >= 0 && next < pending.length && broken === null; ) {
			next = take(at);
			if (next >= 0) at = next;
		}
		pending = pending.slice(at);
	};
	const end = (): TimesResult => {
		if (state !== "after") broken ??= "truncated";
		const times = columns.times();
		if (times.iterations === 0) broken ??= "empty";
		return broken === null
			? { state: "ok", times }
			: { state: "broken", fault: broken, message: messages[broken] };
	};
	return { push, end };
}
