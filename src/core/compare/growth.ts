// Judges whether the memory of a process grows from step to step.
import type { GrowthFigure, GrowthFigureName, GrowthPhase } from "../../../generated/result.ts";
import { median } from "../stats/quantile.ts";
import { theilSen } from "../stats/theil-sen.ts";
import { formatBytes, formatCount } from "../text/units.ts";

/** Bytes; blocks are counted. TensorRT's are null if they could not be counted. */
export type MemorySample = readonly [
	used: number | null,
	blocks: number | null,
	reserved: number,
	resident: number,
];

/**
 * Neighbouring samples depend on each other, blocks of them hardly. With twelve, two jumps of lazily loaded kernels do not
 * exclude a slope of zero.
 */
const blocks = 12;
const perSteps = 1000;

/** Growth in all that is no more than memory's grain: the driver hands out 2 MiB at a time, C's allocator moves as much. */
const grain: Readonly<Record<GrowthFigureName, number>> = { used: 0, reserved: 2 ** 22, resident: 2 ** 22 };
const columns = [
	["used", 0],
	["reserved", 2],
	["resident", 3],
] as const;

/** @param steps between two samples. @param limit bytes per 1,000 steps. null: too few samples. */
export function judgeGrowth(
	samples: readonly MemorySample[],
	{ steps, limit }: { steps: number; limit: number },
): Pick<GrowthPhase, "peakBytes" | "usedBytes" | "liveBlocks" | "figures"> | null {
	const last = samples.at(-1);
	const size = Math.floor(samples.length / blocks);
	if (last === undefined || size === 0) return null;
	// What does not fill a block is one more warm-up.
	const counted = samples.slice(samples.length - size * blocks);
	const figures = columns.flatMap(([figure, column]): GrowthFigure[] => {
		const values = counted.flatMap((sample) => sample[column] ?? []);
		if (values.length < counted.length) return [];
		const medians = Array.from({ length: blocks }, (_, at) =>
			median(values.slice(at * size, (at + 1) * size)),
		);
		const scale = perSteps / (size * steps);
		const { slope, low, high } = theilSen(medians);
		const grown = slope * (blocks - 1);
		const grows = low > 0 && slope * scale > limit && grown > grain[figure];
		return [{ figure, slope: slope * scale, interval: [low * scale, high * scale], grows }];
	});
	const peakBytes = Math.max(...samples.map(([, , reserved]) => reserved));
	return { peakBytes, usedBytes: last[0], liveBlocks: last[1], figures };
}

const figureLabels: Readonly<Record<GrowthFigureName, string>> = {
	used: "what TensorRT holds",
	reserved: "GPU memory",
	resident: "host memory",
};
export const phaseLabels: Readonly<Record<GrowthPhase["phase"], string>> = {
	"same-shape": "runs at one shape",
	"shape-changes": "changes of shape",
	reloads: "reloads",
};

/** `GPU memory grows by 62.5 MiB (99 % interval 62.4 MiB to 62.6 MiB) in 1,000 changes of shape; allowed 1 MiB.` */
export function growthText(phases: readonly GrowthPhase[], limit: number): string {
	const allowed = `; allowed ${formatBytes(limit)}.`;
	const found = phases.flatMap(({ phase, figures }) =>
		figures
			.filter(({ grows }) => grows)
			.map(({ figure, slope, interval }) => {
				const range = interval.map(formatBytes).join(" to ");
				const name = figureLabels[figure];
				return `${name} grows by ${formatBytes(slope)} (99 % interval ${range}) in 1,000 ${phaseLabels[phase]}`;
			}),
	);
	if (found.length > 0) return `${found.join("; ")}${allowed}`.replace(/^./, (first) => first.toUpperCase());
	const tried = phases.map(({ phase, steps }) => `${formatCount(steps)} ${phaseLabels[phase]}`).join(", ");
	return tried === "" ? "Too few runs in the time that was left." : `No growth in ${tried}${allowed}`;
}

/** By at least half as much as the head, so that the change is not the cause. */
export function growsAlike(base: readonly GrowthPhase[], head: readonly GrowthPhase[]): boolean {
	return head.every(({ phase, figures }) =>
		figures.every(({ figure, slope, grows }) => {
			const own = base.find((one) => one.phase === phase)?.figures.find((one) => one.figure === figure);
			return !grows || (own?.grows === true && own.slope >= slope / 2);
		}),
	);
}
