// Reads what a golden worker measured.
import type { WorkerFigures } from "../../../core/compare/lifetime.ts";
import { isObject } from "../../../core/found.ts";

/** null if they cannot be read. */
export function readFigures(
	header: Readonly<Record<string, unknown>>,
	payload: Uint8Array,
): WorkerFigures | null {
	const { parts, runs, steps, samples, requests, counts } = header;
	if (typeof requests === "number") {
		const [latencyMs, latenessMs] = columnsOf([requests, requests], payload) ?? [];
		return latencyMs && latenessMs ? { latencyMs, latenessMs } : null;
	}
	if (isNumbers(counts)) {
		const [own, ownBeside, other, otherBeside] = columnsOf(counts, payload) ?? [];
		if (!own || !ownBeside || !other || !otherBeside) return null;
		return { aloneMs: [own, other], togetherMs: [ownBeside, otherBeside] };
	}
	const isStart = isObject(parts) && isNumbers(Object.values(parts)) && isNumbers(runs);
	const isSoak = isNumbers([steps]) && Array.isArray(samples) && samples.every(isNumbers);
	return isStart || isSoak ? (header as unknown as WorkerFigures) : null;
}

function isNumbers(value: unknown): value is number[] {
	return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");
}

/** Little-endian binary64, so many of each; null unless the payload has exactly these. */
function columnsOf(counts: readonly number[], payload: Uint8Array): Float64Array[] | null {
	const total = counts.reduce((sum, count) => sum + count, 0);
	if (!counts.every((count) => Number.isSafeInteger(count) && count >= 0)) return null;
	if (payload.length !== 8 * total) return null;
	const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
	let at = 0;
	return counts.map((count) => Float64Array.from({ length: count }, () => view.getFloat64(8 * at++, true)));
}
