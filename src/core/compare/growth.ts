// Judges whether the memory of a process grows from step to step.
import type { GrowthFigure, GrowthFigureName, GrowthPhase } from "../../../generated/result.ts";
import { median } from "../stats/quantile.ts";
import { theilSen } from "../stats/theil-sen.ts";

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
		const medians = Array.from({ length: blocks }, (_, at) => median(values.slice(at * size, (at + 1) * size)));
		const scale = perSteps / (size * steps);
		const { slope, low, high } = theilSen(medians);
		const grown = slope * (blocks - 1);
		const grows = low > 0 && slope * scale > limit && grown > grain[figure];
		return [{ figure, slope: slope * scale, interval: [low * scale, high * scale], grows }];
	});
	const peakBytes = Math.max(...samples.map(([, , reserved]) => reserved));
	return { peakBytes, usedBytes: last[0], liveBlocks: last[1], figures };
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
