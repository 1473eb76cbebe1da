// Mean average precision in COCO's rule, with the golden's boxes as ground truth: agreement, not accuracy.
import { type Detection, overlap } from "./detection.ts";

/** IoU from 0.50 to 0.95 by 0.05, 101 recall levels, 100 boxes an image (cocoeval.py, Params). */
const thresholds = spread(0.5, 0.95, 10);
const recallLevels = spread(0, 1, 101);
const mostBoxes = 100;
/** np.spacing(1). */
const spacing = 2 ** -52;

/** As numpy's linspace rounds them, or boxes at a threshold fall on its other side. */
function spread(from: number, to: number, count: number): number[] {
	return Array.from({ length: count }, (_, i) => (i === count - 1 ? to : from + i * ((to - from) / (count - 1))));
}

export interface ImagePair {
	expected: readonly Detection[];
	/** Largest score first. */
	got: readonly Detection[];
}

/** Mean over thresholds and over classes that the golden has; where it has none, 1 if the engine has none either, else 0. */
export function meanAveragePrecision(images: readonly ImagePair[]): number {
	const classes = [...new Set(images.flatMap(({ expected }) => expected.map((box) => box.class)))];
	if (classes.length === 0) return images.every(({ got }) => got.length === 0) ? 1 : 0;
	const precisions = classes.flatMap((label) => {
		const ofClass = images.map(({ expected, got }) => ({
			expected: expected.filter((box) => box.class === label),
			got: got.filter((box) => box.class === label).slice(0, mostBoxes),
		}));
		return thresholds.map((threshold) => averagePrecision(ofClass, threshold));
	});
	return precisions.reduce((sum, precision) => sum + precision, 0) / precisions.length;
}

/** Precision at each recall level, made to fall monotonically, averaged. */
function averagePrecision(images: readonly ImagePair[], threshold: number): number {
	const wanted = images.reduce((sum, { expected }) => sum + expected.length, 0);
	const answers = images.flatMap((image) => judgeBoxes(image, threshold));
	// Stable, as COCO's merge sort is.
	answers.sort((a, b) => b.score - a.score);
	const curve: { recall: number; precision: number }[] = [];
	let right = 0;
	for (const [index, answer] of answers.entries()) {
		if (answer.right) right += 1;
		curve.push({ recall: right / wanted, precision: right / (index + 1 + spacing) });
	}
	for (let i = curve.length - 2; i >= 0; i -= 1) {
		const [here, after] = [curve[i], curve[i + 1]];
		if (here && after && after.precision > here.precision) here.precision = after.precision;
	}
	let sum = 0;
	let at = 0;
	for (const level of recallLevels) {
		while (at < curve.length && (curve[at]?.recall ?? 0) < level) at += 1;
		sum += curve[at]?.precision ?? 0;
	}
	return sum / recallLevels.length;
}

/** By score, each box takes the free golden box that it overlaps most; of equals the last, as COCO's loop does. */
function judgeBoxes({ expected, got }: ImagePair, threshold: number): { score: number; right: boolean }[] {
	const free = new Set(expected);
	return got.map((box) => {
		let best = Math.min(threshold, 1 - 1e-10);
		let match: Detection | null = null;
		for (const wanted of free) {
			const iou = overlap(wanted, box);
			if (iou < best) continue;
			best = iou;
			match = wanted;
		}
		if (match !== null) free.delete(match);
		return { score: box.score, right: match !== null };
	});
}
