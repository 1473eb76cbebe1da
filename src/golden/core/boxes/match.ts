// Reads the detections of an image from its outputs, and pairs an engine's boxes with the golden's within each class.
import type { Detections } from "../../../../generated/golden.ts";
import { elementCount, own, type Tensors } from "../tensor/tensor.ts";
import { valuesOf } from "../tensor/values.ts";

export interface Match {
	expected: Detection;
	got: Detection;
	iou: number;
}

export interface Matching {
	matches: readonly Match[];
	missing: readonly Detection[];
	extra: readonly Detection[];
}

export function matchBoxes(
	expected: readonly Detection[],
	got: readonly Detection[],
	rule: { matching: "hungarian" | "greedy"; iou: number },
): Matching {
	const classes = new Set([...expected, ...got].map((box) => box.class));
	const pair = rule.matching === "greedy" ? pairGreedily : pairBest;
	const matches = [...classes].flatMap((label) => {
		const ofClass = (boxes: readonly Detection[]) =>
			boxes.filter((box) => Object.is(box.class, label) || box.class === label);
		return pair(ofClass(expected), ofClass(got), rule.iou);
	});
	const wanted = new Set(matches.map((match) => match.expected));
	const found = new Set(matches.map((match) => match.got));
	return {
		matches,
		missing: expected.filter((box) => !wanted.has(box)),
		extra: got.filter((box) => !found.has(box)),
	};
}

function pairGreedily(expected: readonly Detection[], got: readonly Detection[], least: number) {
	const free = new Set(expected);
	const matches: Match[] = [];
	for (const box of got) {
		let best: Match | null = null;
		for (const wanted of free) {
			const iou = overlap(wanted, box);
			if (iou >= least && iou > (best?.iou ?? 0)) best = { expected: wanted, got: box, iou };
		}
		if (best === null) continue;
		free.delete(best.expected);
		matches.push(best);
	}
	return matches;
}

function pairBest(expected: readonly Detection[], got: readonly Detection[], least: number) {
	const columns = Math.max(expected.length, got.length);
	const gains = expected.map((wanted) =>
		Float64Array.from({ length: columns }, (_, column) => {
			const box = got[column];
			const iou = box === undefined ? 0 : overlap(wanted, box);
			return iou >= least ? iou : 0;
		}),
	);
	return assignColumns(gains).flatMap((column, row) => {
		const [wanted, box, iou] = [expected[row], got[column], gains[row]?.[column] ?? 0];
		return wanted === undefined || box === undefined || iou === 0
			? []
			: [{ expected: wanted, got: box, iou }];
	});
}

/**
 * The column of each row that gives the largest sum of gains: the Hungarian method by shortest augmenting paths (Kuhn 1955,
 * Jonker and Volgenant 1987; scipy: `linear_sum_assignment`). Needs at least as many columns as rows.
 */
export function assignColumns(gains: readonly Float64Array[]): number[] {
	const columns = gains[0]?.length ?? 0;
	// Rows and columns count from 1; row 0 means unassigned, column 0 is the start of a path.
	const rowOf = new Int32Array(columns + 1);
	const rowPotential = new Float64Array(gains.length + 1);
	const columnPotential = new Float64Array(columns + 1);
	for (let row = 1; row <= gains.length; row += 1) {
		const path: Path = {
			least: new Float64Array(columns + 1).fill(Infinity),
			before: new Int32Array(columns + 1),
			used: new Uint8Array(columns + 1),
		};
		rowOf[0] = row;
		let column = 0;
		while (rowOf[column] !== 0)
			column = advance(column, gains, { rowOf, rowPotential, columnPotential, ...path });
		while (column !== 0) {
			const before = path.before[column] as number;
			rowOf[column] = rowOf[before] as number;
			column = before;
		}
	}
	return gains.map((_, row) => rowOf.indexOf(row + 1, 1) - 1);
}

interface Path {
	least: Float64Array;
	before: Int32Array;
	used: Uint8Array;
}

function advance(
	column: number,
	gains: readonly Float64Array[],
	state: Path & Record<"rowPotential" | "columnPotential", Float64Array> & { rowOf: Int32Array },
) {
	const { rowPotential, columnPotential, rowOf, least, before, used } = state;
	used[column] = 1;
	const row = rowOf[column] as number;
	const own = gains[row - 1] ?? new Float64Array(0);
	let delta = Infinity;
	let next = 0;
	for (let j = 1; j < rowOf.length; j += 1) {
		if (used[j] === 1) continue;
		const distance = -(own[j - 1] as number) - (rowPotential[row] as number) - (columnPotential[j] as number);
		if (distance < (least[j] as number)) {
			least[j] = distance;
			before[j] = column;
		}
		if ((least[j] as number) < delta) {
			delta = least[j] as number;
			next = j;
		}
	}
	for (let j = 0; j < rowOf.length; j += 1) {
		if (used[j] === 1) {
			const of = rowOf[j] as number;
			rowPotential[of] = (rowPotential[of] as number) + delta;
			columnPotential[j] = (columnPotential[j] as number) - delta;
		} else least[j] = (least[j] as number) - delta;
	}
	return next;
}

export interface Detection {
	x1: number;
	y1: number;
	x2: number;
	y2: number;
	score: number;
	class: number;
	at: number;
}

/** Limit per image, because matching takes cubic time. */
const maxBoxes = 1000;
const packedColumns = 6;
/** Below this score, most detectors give noise. */
export const defaultScoreThreshold = 0.05;

export function readDetections(outputs: Tensors, spec: Detections): Detection[][] | string {
	const boxes = own(outputs, spec.boxes);
	if (boxes === undefined) return `no output ${JSON.stringify(spec.boxes)}`;
	const { shape } = boxes;
	const packed = spec.scores === undefined;
	const columns = packed ? packedColumns : 4;
	if (shape.at(-1) !== columns || shape.length < 2)
		return `boxes of shape [${shape.join(", ")}], where the last axis has ${columns}`;
	const [imageCount, rows] = [elementCount(shape.slice(0, -2)), shape.at(-2) ?? 0];
	const read = (name: string | undefined, elements: number) => {
		const tensor = name === undefined ? undefined : own(outputs, name);
		return tensor && elementCount(tensor.shape) === elements ? valuesOf(tensor) : undefined;
	};
	const [scores, classes] = [spec.scores, spec.classes].map((name) => read(name, imageCount * rows));
	if (!packed && (scores === undefined || (spec.classes !== undefined && classes === undefined)))
		return `scores or classes that are not ${imageCount} × ${rows}`;
	const counts = read(spec.count, imageCount);
	if (spec.count !== undefined && counts === undefined) return `no count for each of ${imageCount} images`;
	const bad = counts?.find((count) => !(Number.isInteger(count) && count >= 0 && count <= rows));
	if (bad !== undefined) return `a count of ${bad}, where there are ${rows} boxes`;
	const all = { values: valuesOf(boxes), columns, scores, classes };
	const threshold = spec.scoreThreshold ?? defaultScoreThreshold;
	const images = Array.from({ length: imageCount }, (_, image) => {
		const detections = Array.from({ length: counts?.[image] ?? rows }, (_row, row) =>
			readRow(all, image * rows + row, spec.format),
		);
		// Detectors without a count pad with a negative class.
		return detections
			.filter(({ score, class: label }) => !(score < threshold || (counts === undefined && label < 0)))
			.sort((a, b) => b.score - a.score || a.class - b.class || a.x1 - b.x1 || a.y1 - b.y1 || a.at - b.at);
	});
	const crowded = images.find((detections) => detections.length > maxBoxes);
	return crowded === undefined
		? images
		: `${crowded.length} boxes in one image, where ${maxBoxes} can be matched: raise scoreThreshold`;
}

interface Rows {
	values: Float64Array;
	columns: number;
	scores: Float64Array | undefined;
	classes: Float64Array | undefined;
}

function readRow({ values, columns, scores, classes }: Rows, row: number, format: Detections["format"]) {
	const at = row * columns;
	const [a = 0, b = 0, c = 0, d = 0, score = scores?.[row] ?? NaN, label = classes?.[row] ?? 0] =
		values.subarray(at, at + columns);
	return { ...cornersOf([a, b, c, d], format), score, class: label, at };
}

function cornersOf([a, b, c, d]: readonly [number, number, number, number], format: Detections["format"]) {
	if (format === "xyxy") return { x1: a, y1: b, x2: c, y2: d };
	if (format === "xywh") return { x1: a, y1: b, x2: a + c, y2: b + d };
	return { x1: a - c / 2, y1: b - d / 2, x2: a + c / 2, y2: b + d / 2 };
}

export function overlap(left: Detection, right: Detection): number {
	const area = (box: Detection) => Math.max(0, box.x2 - box.x1) * Math.max(0, box.y2 - box.y1);
	const width = Math.min(left.x2, right.x2) - Math.max(left.x1, right.x1);
	const height = Math.min(left.y2, right.y2) - Math.max(left.y1, right.y1);
	const shared = Math.max(0, width) * Math.max(0, height);
	const union = area(left) + area(right) - shared;
	return shared > 0 ? shared / union : 0;
}
