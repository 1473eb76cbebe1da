// What each comparator's number is, for people.
import type { BoxComparatorKind, ComparatorKind } from "../schema/golden.ts";

export const metricNames: Readonly<Record<ComparatorKind | BoxComparatorKind, string>> = {
	"relative-l2": "relative L2",
	"max-abs": "largest absolute difference",
	allclose: "share of elements outside tolerance",
	cosine: "cosine similarity",
	"top-k": "share of rows whose top classes agree",
	kl: "mean KL divergence",
	js: "mean Jensen-Shannon divergence",
	ulp: "largest distance in ULP",
	quantile: "quantile of the absolute error",
	psnr: "PSNR in dB",
	ssim: "mean SSIM",
	miou: "mean IoU of the classes",
	dice: "mean Dice of the classes",
	"pixel-disagreement": "share of pixels of another class",
	"recall-at-k": "share of nearest neighbours kept",
	"token-agreement": "share of tokens that agree",
	accuracy: "share of rows that are right by their labels",
	"box-missing": "boxes of the golden that are missing",
	"box-extra": "boxes that the golden does not have",
	"box-f1": "F1 of the boxes",
	"box-iou": "smallest overlap of matched boxes",
	"box-score": "largest score difference of matched boxes",
	map: "mAP against the golden's boxes",
};
