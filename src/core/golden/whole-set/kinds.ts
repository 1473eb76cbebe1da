// The comparator kinds that one number over all cases of a golden can be made of.
import type { BoxComparatorKind, ComparatorKind } from "../../schema/golden.ts";

/** Means and shares over rows, pixels, elements or vectors. Of largest errors the worst case decides anyway. */
export const setKinds = [
	"accuracy",
	"top-k",
	"token-agreement",
	"recall-at-k",
	"rank-agreement",
	"miou",
	"dice",
	"pixel-disagreement",
	"kl",
	"js",
	"allclose",
	"relative-l2",
] as const satisfies readonly ComparatorKind[];

export type SetKind = (typeof setKinds)[number];

export function isSetKind(kind: ComparatorKind): kind is SetKind {
	return (setKinds as readonly ComparatorKind[]).includes(kind);
}

export const boxSetKinds: readonly BoxComparatorKind[] = ["box-missing", "box-extra", "box-f1", "map"];

/** The verdict on the whole set has this in place of a case id. */
export const wholeSet = "whole set";
