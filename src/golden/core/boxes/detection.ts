// Detections of one image, read from the outputs that hold them.
import type { Detections } from "../../../../generated/golden.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { valuesOf } from "../tensor/values.ts";

export interface Detection {
	x1: number;
	y1: number;
	x2: number;
	y2: number;
	score: number;
	class: number;
	at: number;
}

type Images = readonly (readonly Detection[])[] | string;

/** Limit per image, because matching takes cubic time. */
const maxBoxes = 1000;
const packedColumns = 6;

/** Each image's detections at or above the threshold, largest score first. */
export function readDetections(outputs: ReadonlyMap<string, Tensor>, spec: Detections): Images {
	const boxes = outputs.get(spec.boxes);
	if (boxes === undefined) return `no output ${JSON.stringify(spec.boxes)}`;
	const packed = spec.scores === undefined;
	const grid = gridOf(boxes.shape, packed ? packedColumns : 4);
	if (grid === null)
		return `boxes of shape [${boxes.shape.join(", ")}], where the last axis has ${packed ? packedColumns : 4}`;
	const each = grid.images * grid.rows;
	const column = (name: string | undefined): Float64Array | undefined => {
		const tensor = name === undefined ? undefined : outputs.get(name);
		return tensor && elementCount(tensor.shape) === each ? valuesOf(tensor) : undefined;
	};
	const [scores, classes] = [column(spec.scores), column(spec.classes)];
	if (!packed && (scores === undefined || (spec.classes !== undefined && classes === undefined)))
		return `scores or classes that are not ${grid.images} × ${grid.rows}`;
	const rows = { ...grid, coordinates: valuesOf(boxes), scores, classes };
	const counts = spec.count === undefined ? null : countsOf(outputs.get(spec.count), grid);
	if (typeof counts === "string") return counts;
	const images = Array.from({ length: grid.images }, (_, image) =>
		readImage(rows, { image, spec, count: counts?.[image] ?? null }),
	);
	const crowded = images.find((detections) => detections.length > maxBoxes);
	return crowded === undefined
		? images
		: `${crowded.length} boxes in one image, where ${maxBoxes} can be matched: raise scoreThreshold`;
}

interface Grid {
	images: number;
	rows: number;
	columns: number;
}

function gridOf(shape: readonly number[], columns: number): Grid | null {
	if (shape.at(-1) !== columns || shape.length < 2) return null;
	return { images: elementCount(shape.slice(0, -2)), rows: shape.at(-2) ?? 0, columns };
}

interface Rows extends Grid {
	coordinates: Float64Array;
	scores: Float64Array | undefined;
	classes: Float64Array | undefined;
}

function countsOf(tensor: Tensor | undefined, grid: Grid): readonly number[] | string {
	if (tensor === undefined || elementCount(tensor.shape) !== grid.images)
		return `no count for each of ${grid.images} images`;
	const counts = [...valuesOf(tensor)];
	const bad = counts.find((count) => !(Number.isInteger(count) && count >= 0 && count <= grid.rows));
	return bad === undefined ? counts : `a count of ${bad}, where there are ${grid.rows} boxes`;
}

/** Below this score, most detectors give noise. */
export const defaultScoreThreshold = 0.05;

function readImage(
	rows: Rows,
	{ image, spec, count }: { image: number; spec: Detections; count: number | null },
): Detection[] {
	const threshold = spec.scoreThreshold ?? defaultScoreThreshold;
	const detections: Detection[] = [];
	for (let row = 0; row < (count ?? rows.rows); row += 1) {
		const detection = readRow(rows, image * rows.rows + row, spec.format);
		// Detectors without a count pad with a negative class.
		if (detection.score < threshold || (count === null && detection.class < 0)) continue;
		detections.push(detection);
	}
	return detections.sort(
		(a, b) => b.score - a.score || a.class - b.class || a.x1 - b.x1 || a.y1 - b.y1 || a.at - b.at,
	);
}

function readRow(rows: Rows, row: number, format: Detections["format"]): Detection {
	const at = row * rows.columns;
	const value = (column: number): number => rows.coordinates[at + column] as number;
	const packed = rows.columns === packedColumns;
	const score = packed ? value(4) : (rows.scores?.[row] ?? Number.NaN);
	const label = packed ? value(5) : (rows.classes?.[row] ?? 0);
	return { ...cornersOf([value(0), value(1), value(2), value(3)], format), score, class: label, at };
}

function cornersOf(
	[a, b, c, d]: readonly [number, number, number, number],
	format: Detections["format"],
): Pick<Detection, "x1" | "y1" | "x2" | "y2"> {
	if (format === "xyxy") return { x1: a, y1: b, x2: c, y2: d };
	if (format === "xywh") return { x1: a, y1: b, x2: a + c, y2: b + d };
	return { x1: a - c / 2, y1: b - d / 2, x2: a + c / 2, y2: b + d / 2 };
}

/** Intersection over union; 0 if a box has no area. */
export function overlap(left: Detection, right: Detection): number {
	const area = (box: Detection): number => Math.max(0, box.x2 - box.x1) * Math.max(0, box.y2 - box.y1);
	const width = Math.min(left.x2, right.x2) - Math.max(left.x1, right.x1);
	const height = Math.min(left.y2, right.y2) - Math.max(left.y1, right.y1);
	const shared = Math.max(0, width) * Math.max(0, height);
	const union = area(left) + area(right) - shared;
	return shared > 0 ? shared / union : 0;
}
