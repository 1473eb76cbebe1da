// Reads what trtexec reports of a timed run: a cross-check of the exported times.
import type { LogLine } from "./transcript.ts";

export interface PerfLogFacts {
	/** Iterations per second, not samples. */
	throughput: number | null;
	iterations: number | null;
	/** The mode that trtexec reports; a version's defaults can differ from what was requested. */
	mode: { cudaGraph: boolean | null; spinWait: boolean | null; transfers: boolean | null };
}

interface PerfLogReader {
	feed(line: LogLine): void;
	result(): PerfLogFacts;
}

/** `0.0279541`, `1e-05`; null for `inf` and `nan`. */
function numberAfter(text: string, label: string): number | null {
	const at = text.indexOf(label);
	if (at < 0) return null;
	const found = /^\s*(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)/.exec(text.slice(at + label.length))?.[1];
	return found === undefined ? null : Number(found);
}

function switchOf(text: string, label: string, known: boolean | null): boolean | null {
	if (!text.includes(`${label}: `)) return known;
	return text.endsWith("Enabled") ? true : text.endsWith("Disabled") ? false : known;
}

export function createPerfLog(): PerfLogReader {
	const facts: PerfLogFacts = { throughput: null, iterations: null, mode: { cudaGraph: null, spinWait: null, transfers: null } };
	return {
		feed: ({ level, text }) => {
			if (level !== "info") return;
			const { mode } = facts;
			facts.throughput = numberAfter(text, "] Throughput:") ?? facts.throughput;
			facts.iterations = numberAfter(text, "Timing trace has") ?? facts.iterations;
			facts.mode = {
				cudaGraph: switchOf(text, "CUDA Graph", mode.cudaGraph),
				spinWait: switchOf(text, "Spin-wait", mode.spinWait),
				transfers: switchOf(text, "Data transfers", mode.transfers),
			};
		},
		result: () => ({ ...facts }),
	};
}
