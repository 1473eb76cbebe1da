// Finds outputs that together hold the boxes of a detector, and proposes to compare them box by box.
import type { BoxComparatorSpec, Detections, Spread } from "../../../../generated/golden.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { valuesOf } from "../tensor/values.ts";
import type { RunOutputs } from "./noise-floor.ts";

export interface GroupProposal {
	detections: Detections;
	outputs: string[];
	why: string;
}

/** null if the outputs hold no boxes, or boxes at fixed positions, which are better compared element by element. */
export function proposeDetections(
	cases: RunOutputs,
	noise: Readonly<Record<string, Spread>>,
): GroupProposal | null {
	const [first] = cases;
	if (first === undefined) return null;
	const names = Object.keys(first).filter((name) => cases.every((outputs) => Object.hasOwn(outputs, name)));
	for (const boxes of names) {
		const found = splitGroup(boxes, names, first) ?? packedGroup(boxes, cases);
		if (found !== null) return finish(found, cases, noise);
	}
	return null;
}

interface Found {
	boxes: string;
	scores?: string;
	classes?: string;
	count?: string;
	because: string;
}

/** Boxes, scores, and classes or a count in outputs of their own, as NMS plugins of TensorRT and exports with NMS inside give them. */
function splitGroup(
	boxes: string,
	names: readonly string[],
	outputs: Readonly<Record<string, Tensor>>,
): Found | null {
	const shape = outputs[boxes]?.shape ?? [];
	if (!/box/i.test(boxes) || shape.at(-1) !== 4 || shape.length < 2) return null;
	const each = elementCount(shape.slice(0, -1));
	const images = elementCount(shape.slice(0, -2));
	const find = (pattern: RegExp, elements: number): string | undefined =>
		names.find(
			(name) => name !== boxes && pattern.test(name) && elementCount(outputs[name]?.shape ?? []) === elements,
		);
	const scores = find(/score|conf/i, each);
	const classes = find(/class|label/i, each);
	const count = find(/num|count|valid/i, images);
	// Without classes or a count the boxes may be a raw head, where each box has a fixed position.
	if (scores === undefined || (classes === undefined && count === undefined)) return null;
	const named = [boxes, scores, classes, count].filter((name) => name !== undefined);
	const because = `${named.join(", ")} have the names and shapes of selected boxes`;
	return { boxes, scores, ...(classes ? { classes } : {}), ...(count ? { count } : {}), because };
}

const packedColumns = 6;

function packedGroup(boxes: string, cases: RunOutputs): Found | null {
	const tensors = cases.flatMap((outputs) => outputs[boxes] ?? []);
	if (
		tensors.length === 0 ||
		!tensors.every(({ shape }) => shape.length >= 2 && shape.at(-1) === packedColumns)
	)
		return null;
	const rows = tensors.flatMap((tensor) => rowsOf(tensor, packedColumns));
	const fits = rows.every(
		([, , , , score = -1, label = 0.5]) => score >= 0 && score <= 1 && Number.isInteger(label),
	);
	const varied = new Set(rows.map((row) => row[4])).size > 2;
	return fits && varied
		? { boxes, because: `each row of ${boxes} holds a box, a score from 0 to 1 and a whole number` }
		: null;
}

const mostRows = 2000;

function rowsOf(tensor: Tensor, columns: number): number[][] {
	const values = valuesOf(tensor, mostRows * columns);
	return Array.from({ length: values.length / columns }, (_, row) => [
		...values.subarray(row * columns, (row + 1) * columns),
	]);
}

function finish(found: Found, cases: RunOutputs, noise: Readonly<Record<string, Spread>>): GroupProposal {
	const { because, ...roles } = found;
	const { boxes, scores, classes, count } = roles;
	const images = cases.reduce(
		(sum, outputs) => sum + elementCount(outputs[boxes]?.shape.slice(0, -2) ?? []),
		0,
	);
	const format = formatOf(found, cases);
	return {
		detections: { name: "detections", ...roles, format, comparators: comparatorsOf(found, images, noise) },
		outputs: [boxes, scores, classes, count].filter((name) => name !== undefined),
		why: `Treated as ${format} boxes in any order, because ${because}.`,
	};
}

/** The boxes are corners if the second corner is never left of or above the first. */
function formatOf({ boxes, scores }: Found, cases: RunOutputs): Detections["format"] {
	const columns = scores === undefined ? packedColumns : 4;
	const rows = cases.flatMap((outputs) =>
		outputs[boxes] === undefined ? [] : rowsOf(outputs[boxes], columns),
	);
	if (rows.every(([a = 0, b = 0, c = 0, d = 0]) => c >= a && d >= b)) return "xyxy";
	return /xywh/i.test(boxes) && !/cxcywh/i.test(boxes) ? "xywh" : "cxcywh";
}

const imagesForMap = 4;
/** Room above the noise floor, and the least that two correct fp32 builds differ by in scores from 0 to 1. */
const noiseRoom = 10;
const leastScore = 1e-4;

function comparatorsOf(
	{ scores }: Found,
	images: number,
	noise: Readonly<Record<string, Spread>>,
): [BoxComparatorSpec, ...BoxComparatorSpec[]] {
	const floor = scores === undefined ? 0 : (noise[scores]?.maxAbs ?? 0);
	const score = Number(Math.min(0.01, Math.max(leastScore, noiseRoom * floor)).toPrecision(2));
	return [
		{ kind: "box-missing" },
		{ kind: "box-extra" },
		{ kind: "box-iou", tolerance: { fp32: 0.999 } },
		{ kind: "box-score", tolerance: { fp32: score } },
		...(images >= imagesForMap ? ([{ kind: "map", scope: "set" }] as const) : []),
	];
}
