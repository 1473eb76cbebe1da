// Reads trtexec's performance summary: a six-digit cross-check of the exported times.
import type { LogLine } from "./transcript.ts";

export interface Spread {
	minMs: number;
	maxMs: number;
	meanMs: number;
	medianMs: number;
	/** Percent to milliseconds, by nearest rank. */
	percentilesMs: ReadonlyMap<number, number>;
}

export interface PerfLogFacts {
	/** Iterations per second, not samples. */
	throughput: number | null;
	latency: Spread | null;
	enqueue: Spread | null;
	h2d: Spread | null;
	compute: Spread | null;
	d2h: Spread | null;
	wallSeconds: number | null;
	computeSeconds: number | null;
	iterations: number | null;
	warmUpIterations: number | null;
	/** The mode that trtexec reports; a version's defaults can differ from what was requested. */
	mode: { cudaGraph: boolean | null; spinWait: boolean | null; transfers: boolean | null; streams: number | null };
	/** null: no graph was requested. */
	graphCaptured: boolean | null;
	/** From trtexec's warning about unstable times, in percent. */
	unstablePercent: number | null;
}

export interface PerfLogReader {
	feed(line: LogLine): void;
	result(): PerfLogFacts;
}

type SpreadKey = "latency" | "enqueue" | "h2d" | "compute" | "d2h";

const rows: readonly (readonly [key: SpreadKey, title: string])[] = [
	["latency", "Latency"],
	["enqueue", "Enqueue Time"],
	["h2d", "H2D Latency"],
	["compute", "GPU Compute Time"],
	["d2h", "D2H Latency"],
];
const rowLine = /\] (Latency|Enqueue Time|H2D Latency|GPU Compute Time|D2H Latency): (min = .*)$/;

/** `0.0279541`, `1e-05`; null for `inf` and `nan`. */
function numberAfter(text: string, label: string): number | null {
	const at = text.indexOf(label);
	if (at < 0) return null;
	const found = /^\s*(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)/.exec(text.slice(at + label.length))?.[1];
	return found === undefined ? null : Number(found);
}

function parseSpread(text: string): Spread | null {
	const values = ["min =", "max =", "mean =", "median ="].map((label) => numberAfter(text, label));
	const [minMs, maxMs, meanMs, medianMs] = values;
	if (minMs == null || maxMs == null || meanMs == null || medianMs == null) return null;
	const percentilesMs = new Map<number, number>();
	for (const [, percent, value] of text.matchAll(/percentile\((\d+(?:\.\d+)?)%\) = (\d+(?:\.\d+)?(?:e[-+]?\d+)?) ms/g)) {
		percentilesMs.set(Number(percent), Number(value));
	}
	return { minMs, maxMs, meanMs, medianMs, percentilesMs };
}

function switchOf(text: string, label: string, known: boolean | null): boolean | null {
	if (!text.includes(`${label}: `)) return known;
	return text.endsWith("Enabled") ? true : text.endsWith("Disabled") ? false : known;
}

function readMode(facts: PerfLogFacts, text: string): void {
	const { mode } = facts;
	facts.mode = {
		cudaGraph: switchOf(text, "CUDA Graph", mode.cudaGraph),
		spinWait: switchOf(text, "Spin-wait", mode.spinWait),
		transfers: switchOf(text, "Data transfers", mode.transfers),
		streams: numberAfter(text, "Inference Streams:") ?? mode.streams,
	};
	if (text.includes("Successfully captured CUDA graph")) facts.graphCaptured = true;
}

function readFigures(facts: PerfLogFacts, text: string): void {
	const row = rowLine.exec(text);
	const key = rows.find(([, title]) => title === row?.[1])?.[0];
	if (key && row?.[2] !== undefined) facts[key] = parseSpread(row[2]);
	facts.throughput = numberAfter(text, "] Throughput:") ?? facts.throughput;
	facts.wallSeconds = numberAfter(text, "Total Host Walltime:") ?? facts.wallSeconds;
	facts.computeSeconds = numberAfter(text, "Total GPU Compute Time:") ?? facts.computeSeconds;
	facts.iterations = numberAfter(text, "Timing trace has") ?? facts.iterations;
	facts.warmUpIterations = numberAfter(text, "Warmup completed") ?? facts.warmUpIterations;
}

export function createPerfLog(): PerfLogReader {
	const facts: PerfLogFacts = {
		throughput: null,
		latency: null,
		enqueue: null,
		h2d: null,
		compute: null,
		d2h: null,
		wallSeconds: null,
		computeSeconds: null,
		iterations: null,
		warmUpIterations: null,
		mode: { cudaGraph: null, spinWait: null, transfers: null, streams: null },
		graphCaptured: null,
		unstablePercent: null,
	};
	return {
		feed: ({ level, text }) => {
			if (level === "info") {
				readMode(facts, text);
				readFigures(facts, text);
			} else if (level === "warning") {
				if (text.includes("CUDA graph capture")) facts.graphCaptured = false;
				facts.unstablePercent = numberAfter(text, "coefficient of variance =") ?? facts.unstablePercent;
			}
		},
		result: () => ({ ...facts }),
	};
}
