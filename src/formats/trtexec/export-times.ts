// Reads the file of --exportTimes as a stream of bytes.

export interface ExportTimes {
	iterations: number;
	computeMs: Float64Array;
	latencyMs: Float64Array;
	/** CPU time to enqueue; only six digits, so coarse late in a run. */
	enqueueMs: Float64Array;
	/** From the start of the first transfer or kernel to the end of the last. */
	wallMs: number;
}

const messages = {
	truncated: "The times file is truncated.",
	"not-finite": "The times file contains a value that is not a finite number.",
	malformed: "The times file is not a list of entries with the keys that trtexec writes.",
	empty: "The times file has no iterations.",
	"too-many": "The times file has more than 50000000 iterations.",
};

type TimesFault = keyof typeof messages;

export type TimesResult =
	| { state: "ok"; times: ExportTimes }
	| { state: "broken"; fault: TimesFault; message: string };

/** Twenty minutes of 25 µs inferences. */
const maxIterations = 50_000_000;
/** An entry has about 290 bytes; a malicious file must not fill the memory. */
const longestEntry = 4096;
const keys = ["computeMs", "latencyMs", "startEnqMs", "endEnqMs", "startH2dMs", "endD2hMs"] as const;

/** Chunks may have any size. After a fault the remaining input is ignored. */
export function createTimesParser(): { push(chunk: Uint8Array): void; end(): TimesResult } {
	const decoder = new TextDecoder();
	const [compute, latency, enqueue]: [number[], number[], number[]] = [[], [], []];
	let [firstMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
	let pending = "";
	let broken: TimesFault | null = null;

	const faultOf = (entry: Partial<Record<string, unknown>>): TimesFault | null => {
		const values = keys.map((key) => entry[key]);
		if (!values.every((value) => typeof value === "number")) return "malformed";
		if (!values.every(Number.isFinite)) return "not-finite";
		const [computeMs = 0, latencyMs = 0, startEnqueue = 0, endEnqueue = 0, start = 0, end = 0] = values;
		if (computeMs < 0 || latencyMs < 0) return "malformed";
		compute.push(computeMs);
		latency.push(latencyMs);
		enqueue.push(endEnqueue - startEnqueue);
		firstMs = Math.min(firstMs, start);
		lastMs = Math.max(lastMs, end);
		return compute.length > maxIterations ? "too-many" : null;
	};
	const takeEntries = (text: string): void => {
		const [opening] = (compute.length === 0 ? /^\s*\[/ : /^\s*,/).exec(text) ?? [];
		try {
			if (opening === undefined) throw new SyntaxError();
			for (const entry of JSON.parse(`[${text.slice(opening.length)}]`)) broken ??= faultOf(entry);
		} catch {
			broken = /[:\s]-?(?:nan|inf)/i.test(text) ? "not-finite" : "malformed";
		}
	};
	return {
		push(chunk) {
			if (broken !== null) return;
			pending += decoder.decode(chunk, { stream: true });
			const complete = pending.lastIndexOf("}") + 1;
			if (complete > 0) takeEntries(pending.slice(0, complete));
			pending = pending.slice(complete);
			if (pending.length > longestEntry) broken ??= "malformed";
		},
		end() {
			const isFirst = compute.length === 0;
			const rest = pending.trim().replace(isFirst ? /^\[\s*/ : /^,\s*(?!\])/, "");
			if (rest === "" || rest.startsWith("{")) broken ??= "truncated";
			else if (rest !== "]") broken ??= "malformed";
			else if (isFirst) broken ??= "empty";
			if (broken !== null) return { state: "broken", fault: broken, message: messages[broken] };
			const columns = {
				computeMs: Float64Array.from(compute),
				latencyMs: Float64Array.from(latency),
				enqueueMs: Float64Array.from(enqueue),
			};
			return { state: "ok", times: { iterations: compute.length, ...columns, wallMs: lastMs - firstMs } };
		},
	};
}
