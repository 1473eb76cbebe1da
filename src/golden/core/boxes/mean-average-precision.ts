// COCO's mean average precision with the golden's boxes as ground truth: agreement, not accuracy.
import { type Detection, overlap } from "./match.ts";

const thresholds = spread(0.5, 0.95, 10);
const recallLevels = spread(0, 1, 101);
const maxBoxes = 100;

/** Rounds as numpy's linspace, so that boxes at a threshold fall on the same side. */
function spread(from: number, to: number, count: number) {
	const step = (to - from) / (count - 1);
	return Array.from({ length: count }, (_, i) => (i === count - 1 ? to : from + i * step));
}

export interface ImagePair {
	expected: readonly Detection[];
	got: readonly Detection[];
}

/** Mean over thresholds and the golden's classes; if it has none, 1 if the engine has none either, else 0. */
export function meanAveragePrecision(images: readonly ImagePair[]): number {
	const tally = precisionTally();
	for (const image of images) tally.add(image);
	return tally.value();
}

interface ClassAnswers {
	wanted: number;
	scores: number[];
	right: number[];
}

const maxAnswers = 4_000_000;

export function precisionTally(): { add(image: ImagePair): void; value(): number } {
	const classes = new Map<number, ClassAnswers>();
	let answers = 0;
	return {
		add({ expected, got }) {
			for (const label of new Set([...expected, ...got].map((box) => box.class))) {
				const known = classes.get(label) ?? { wanted: 0, scores: [], right: [] };
				classes.set(label, known);
				const ofClass = (box: Detection) => box.class === label;
				const image = { expected: expected.filter(ofClass), got: got.filter(ofClass).slice(0, maxBoxes) };
				known.wanted += image.expected.length;
				answers += image.got.length;
				if (answers > maxAnswers) return;
				const verdicts = thresholds.map((threshold) => judgeBoxes(image, threshold));
				for (const [index, { score }] of image.got.entries()) {
					known.scores.push(score);
					known.right.push(verdicts.reduce((bits, right, bit) => bits | (Number(right[index]) << bit), 0));
				}
			}
		},
		value: () => (answers > maxAnswers ? NaN : meanOf([...classes.values()])),
	};
}

function meanOf(classes: readonly ClassAnswers[]) {
	const wanted = classes.filter((one) => one.wanted > 0);
	if (wanted.length === 0) return classes.some(({ scores }) => scores.length > 0) ? 0 : 1;
	const precisions = wanted.flatMap((answers) => {
		const { scores } = answers;
		const order = Uint32Array.from(scores, (_, index) => index);
		order.sort((a, b) => (scores[b] as number) - (scores[a] as number) || a - b);
		return thresholds.map((_, bit) => averagePrecision(answers, order, bit));
	});
	return precisions.reduce((sum, precision) => sum + precision, 0) / precisions.length;
}

function averagePrecision({ wanted, right }: ClassAnswers, order: Uint32Array, bit: number) {
	const recalls = new Float64Array(order.length);
	const precisions = new Float64Array(order.length);
	let found = 0;
	for (const [rank, at] of order.entries()) {
		if (((right[at] as number) >> bit) & 1) found += 1;
		recalls[rank] = found / wanted;
		precisions[rank] = found / (rank + 1);
	}
	for (let i = precisions.length - 2; i >= 0; i -= 1)
		precisions[i] = Math.max(precisions[i] as number, precisions[i + 1] as number);
	let sum = 0;
	let at = 0;
	for (const level of recallLevels) {
		while (at < recalls.length && (recalls[at] as number) < level) at += 1;
		sum += precisions[at] ?? 0;
	}
	return sum / recallLevels.length;
}

/** Each box takes the free golden box that it overlaps most; of equals, the last, as in COCO's loop. */
function judgeBoxes({ expected, got }: ImagePair, threshold: number) {
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
		return match !== null;
	});
}
