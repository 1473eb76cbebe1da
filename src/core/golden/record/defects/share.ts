// How much of what moves an output the golden notices, and whether that is enough.
import type { Precision, SensitivityRecord } from "../../../../../generated/golden.ts";
import { outputDefectKinds } from "./outputs.ts";
import { type WeightDefectKind, weightDefectSizes } from "./weights.ts";

/** Smallest share of the defects that move an output which a golden has to notice, by precision. */
export type LeastShares = Readonly<Partial<Record<Precision, number>>>;

export const defaultLeastShares: LeastShares = { fp32: 1, fp16: 0.95 };

export interface Count {
	tried: number;
	moving: number;
	noticed: number;
}

export interface Shares {
	weights: Count;
	outputs: Count;
	/** Weight tensors, rows and channels that are at least this wrong are all noticed; null: not even zeroed ones. */
	from: number | null;
}

export function sharesAt({ precisions }: SensitivityRecord, precision: Precision): Shares {
	const kinds = precisions[precision]?.kinds ?? {};
	const ofOutputs = Object.entries(kinds).filter(([kind]) => outputDefectKinds.includes(kind as never));
	const ofWeights = Object.entries(kinds).filter(([kind]) => Object.hasOwn(weightDefectSizes, kind));
	const missedSizes = ofWeights
		.filter(([, { moving, noticed }]) => noticed < moving)
		.map(([kind]) => weightDefectSizes[kind as WeightDefectKind]);
	const largestMissed = Math.max(0, ...missedSizes);
	const sizes = ofWeights
		.map(([kind]) => weightDefectSizes[kind as WeightDefectKind])
		.filter((size) => size > largestMissed);
	return {
		weights: total(ofWeights),
		outputs: total(ofOutputs),
		from: sizes.length === 0 ? null : Math.min(...sizes),
	};
}

function total(kinds: readonly [string, Count][]): Count {
	const sum = { tried: 0, moving: 0, noticed: 0 };
	for (const [, { tried, moving, noticed }] of kinds) {
		sum.tried += tried;
		sum.moving += moving;
		sum.noticed += noticed;
	}
	return sum;
}

/** Precisions at which it notices too little. */
export function shortfalls(
	record: SensitivityRecord,
	least: LeastShares,
): { precision: Precision; share: number; least: number }[] {
	return (Object.entries(least) as [Precision, number][]).flatMap(([precision, wanted]) => {
		const { weights, outputs } = sharesAt(record, precision);
		const share = Math.min(shareOf(weights), shareOf(outputs));
		return share < wanted ? [{ precision, share, least: wanted }] : [];
	});
}

function shareOf({ moving, noticed }: Count): number {
	return moving === 0 ? 1 : noticed / moving;
}
