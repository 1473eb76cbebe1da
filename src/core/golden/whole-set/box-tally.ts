// Sums over the detections of all cases of a golden.
import type { BoxComparatorKind, BoxComparatorSpec, Detections, Precision } from "../../schema/golden.ts";
import { type BoxSides, boxLimit, readSides } from "../boxes/check-boxes.ts";
import { precisionTally } from "../boxes/mean-average-precision.ts";

export interface BoxTally {
	/** false: the case's outputs hold no detections that can be compared. */
	add(sides: Omit<BoxSides, "base">): boolean;
	measure(): { value: number; elements: number; detail: string };
	allowed: number;
}

export function boxTally(group: Detections, spec: BoxComparatorSpec, precision: Precision): BoxTally {
	const sums = { matches: 0, missing: 0, extra: 0, images: 0, boxes: 0 };
	const tally = precisionTally();
	return {
		allowed: boxLimit(spec, precision),
		add(sides) {
			const read = readSides(group, sides, precision);
			if (typeof read === "string") return false;
			for (const [index, pair] of read.pairs.entries()) {
				const image = read.images[index];
				sums.images += 1;
				sums.boxes += pair.expected.length;
				if (spec.kind === "map") tally.add(pair);
				sums.matches += image?.matches.length ?? 0;
				sums.missing += image?.missing.length ?? 0;
				sums.extra += image?.extra.length ?? 0;
			}
			return true;
		},
		measure() {
			const { matches, missing, extra, images, boxes } = sums;
			const detail = `${images} images: ${matches} boxes match, ${missing} missing, ${extra} extra`;
			const value = images === 0 ? Number.NaN : measureSums(spec.kind, { ...sums, map: tally.value });
			return { value, elements: boxes, detail };
		},
	};
}

interface Sums {
	matches: number;
	missing: number;
	extra: number;
	map(): number;
}

function measureSums(kind: BoxComparatorKind, { matches, missing, extra, map }: Sums): number {
	if (kind === "map") return map();
	if (kind === "box-missing") return missing;
	if (kind === "box-extra") return extra;
	// Counts of all images together; two empty sets agree fully.
	const lone = missing + extra;
	return lone === 0 ? 1 : (2 * matches) / (2 * matches + lone);
}
