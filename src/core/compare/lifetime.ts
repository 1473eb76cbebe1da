// Judges the life of a process: how long it takes to the first inference, and whether its memory grows.
import type {
	Arm,
	Comparison,
	GrowthFigureName,
	GrowthPhase,
	GrowthState,
	PhaseName,
	StartUpStats,
} from "../../../generated/result.ts";
import type { LoadRun, TogetherRun } from "../load/measured.ts";
import { median, theilSen } from "../stats/quantile.ts";
import { formatBytes, formatCount } from "../text/units.ts";
import { type JudgeOptions, judgePairs } from "./verdict.ts";

/** `runs`: after the first, without pauses. `cold`: the plan was read from the disk. */
export interface Start {
	parts: StartUpStats["parts"];
	runs: readonly number[];
	cold: boolean;
}

/** `steps`: between two samples. */
export interface Soak {
	phase: PhaseName;
	steps: number;
	shapes: number;
	samples: readonly MemorySample[];
}

/** In bytes; what TensorRT holds, and in how many blocks, are missing where they cannot be counted. */
type MemorySample = readonly [reserved: number, resident: number, used?: number, blocks?: number];

export type SoakRequest = Pick<Soak, "phase" | "steps"> & { samples: number; budgetMs: number };

export type WorkerFigures = Start | Soak | LoadRun | TogetherRun;

function totalMs({ parts }: Start) {
	return Object.values(parts).reduce((sum, ms) => sum + ms);
}

/** Always allowed: as much as processes scatter by. */
const noticeableMs = 20;

/** Pairs of warm starts, in order. */
export function judgeStarts(
	{ base, head }: Record<Arm, readonly Start[]>,
	options: JudgeOptions,
): Comparison {
	const [bases, heads] = [warmMs(base), warmMs(head)];
	const pairs = bases.flatMap((ms, at) => (heads[at] === undefined ? [] : [{ base: ms, head: heads[at] }]));
	const noticeable = bases.length === 0 ? 0 : noticeableMs / median(bases);
	return judgePairs(pairs, { ...options, minimalEffect: Math.max(options.minimalEffect, noticeable) });
}

const warmMs = (starts: readonly Start[]) => starts.filter(({ cold }) => !cold).map(totalMs);

export function summarizeStarts(starts: readonly Start[]): StartUpStats | null {
	const [cold, warm] = [starts.filter((start) => start.cold), starts.filter((start) => !start.cold)];
	const [first] = warm;
	if (first === undefined) return null;
	const parts = Object.keys(first.parts).map((name) => [
		name,
		median(warm.map((one) => one.parts[name] ?? 0)),
	]);
	return {
		processes: warm.length,
		parts: Object.fromEntries(parts),
		totalMs: median(warm.map(totalMs)),
		coldMs: cold.length === 0 ? null : median(cold.map(totalMs)),
		steadyAfter: Math.round(median(warm.map(({ runs }) => 1 + steadyAfter(runs)))),
	};
}

export function steadyAfter(runs: readonly number[]): number {
	const limit = 1.1 * median(runs.slice(Math.floor(runs.length / 2)));
	const at = runs.findIndex((_, index) => runs.slice(index, index + 3).every((ms) => ms <= limit));
	return at < 0 ? runs.length : at;
}

/** Samples depend on their neighbours, blocks of them hardly; two jumps in twelve blocks are no slope. */
const blocks = 12;
/** No growth if this is all: the driver hands out 2 MiB at a time, and C's allocator moves as much. */
const grain = 2 ** 22;
const figures = ["reserved", "resident", "used"] as const;

/** @param limit bytes per 1,000 steps. null: too few samples. */
export function judgeGrowth({ phase, shapes, samples, steps }: Soak, limit: number): GrowthPhase | null {
	const [, , usedBytes = null, liveBlocks = null] = samples.at(-1) ?? [];
	const size = Math.floor(samples.length / blocks);
	if (size === 0) return null;
	const scale = 1000 / (size * steps);
	const judged = figures.slice(0, usedBytes === null ? 2 : 3).map((figure, column) => {
		// What does not fill a block is more warm-up.
		const values = samples.slice(samples.length % blocks).map((sample) => sample[column] ?? 0);
		const middles = Array.from({ length: blocks }, (_, at) =>
			median(values.slice(at * size, (at + 1) * size)),
		);
		const { slope, low, high } = theilSen(middles);
		const isGrain = figure !== "used" && slope * (blocks - 1) <= grain;
		const grows = low > 0 && slope * scale > limit && !isGrain;
		return { figure, slope: slope * scale, interval: [low * scale, high * scale] as [number, number], grows };
	});
	const peakBytes = Math.max(...samples.map(([reserved]) => reserved));
	const ran = { phase, shapes, steps: steps * samples.length };
	return { ...ran, peakBytes, usedBytes, liveBlocks, figures: judged };
}

export function growthState(phases: readonly GrowthPhase[]): GrowthState {
	if (phases.length === 0) return "unknown";
	return phases.some(({ figures }) => figures.some(({ grows }) => grows)) ? "grows" : "steady";
}

export const figureLabels: Readonly<Record<GrowthFigureName, string>> = {
	reserved: "GPU memory",
	resident: "host memory",
	used: "TensorRT's memory",
};
export const phaseLabels: Readonly<Record<GrowthPhase["phase"], string>> = {
	"same-shape": "runs at one shape",
	"shape-changes": "changes of shape",
	reloads: "reloads",
};

export function growthText(phases: readonly GrowthPhase[], limit: number): string {
	const allowed = `; allowed ${formatBytes(limit)}.`;
	const texts = phases.flatMap(({ phase, figures }) =>
		figures
			.filter(({ grows }) => grows)
			.map(({ figure, slope, interval: [low, high] }) => {
				const range = `(99 % interval ${formatBytes(low)} to ${formatBytes(high)})`;
				return `1,000 ${phaseLabels[phase]}: ${figureLabels[figure]} grows by ${formatBytes(slope)} ${range}`;
			}),
	);
	if (texts.length > 0) return texts.join("; ") + allowed;
	const tried = phases.map(({ phase, steps }) => `${formatCount(steps)} ${phaseLabels[phase]}`);
	return tried.length === 0
		? "Too few runs fit into the time."
		: `No growth in ${tried.join(", ")}${allowed}`;
}
