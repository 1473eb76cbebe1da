// The effect of a changed weight on detections, and the limits that would detect it.
import type { Detections, GoldenManifest } from "../../schema/golden.ts";
import { checkBoxes } from "../boxes/check-boxes.ts";
import { type Detection, readDetections } from "../boxes/detection.ts";
import { type RunOutputs, referencePrecision } from "./noise-floor.ts";

/** Boxes come in any order, so their change is measured by pairs, not by elements. */
export interface BoxChange {
	/** Name of the group. */
	group: string;
	/** Largest score difference of a pair, and what noise alone may make of it. */
	score: number;
	scoreFloor: number;
	/** Largest share of overlap that a pair lost (1 − IoU), and what noise alone may take. */
	lost: number;
	lostFloor: number;
}

/** Limits that would detect the change; null where no limit does so safely. */
interface BoxLimits {
	score: number | null;
	iou: number | null;
}

export function groupOf({ detections }: Pick<GoldenManifest, "detections">, output: string | null): Detections | undefined {
	return detections?.find(({ boxes, scores, classes, count }) => [boxes, scores, classes, count].includes(output ?? ""));
}

/** Two correct fp32 builds differ by about ten roundings, even if the runs on this machine did not. */
const leastNoise = 1e-6;

export function measureBoxChange(spec: Detections, got: RunOutputs, of: { manifest: GoldenManifest; reference: RunOutputs }): BoxChange {
	const change = { score: 0, lost: 0, lostFloor: 0 };
	const noise = of.manifest.noiseFloor?.outputs;
	const shift = noise?.[spec.boxes]?.maxAbs ?? 0;
	const measured: Detections = { ...spec, comparators: [{ kind: "box-score" }, { kind: "box-iou" }] };
	for (const [index, expected] of of.reference.entries()) {
		const sides = { expected: new Map(Object.entries(expected)), got: new Map(Object.entries(got[index] ?? {})), base: undefined };
		const [score, iou] = checkBoxes(measured, sides, referencePrecision).checks.map(({ got: value }) => value);
		if (typeof score === "number") change.score = Math.max(change.score, score);
		if (typeof iou === "number") change.lost = Math.max(change.lost, 1 - iou);
		const boxes = readDetections(sides.expected, spec);
		if (typeof boxes !== "string") change.lostFloor = Math.max(change.lostFloor, ...boxes.flat().map((box) => lostBy(shift, box)));
	}
	return { group: spec.name, ...change, scoreFloor: Math.max(leastNoise, noise?.[spec.scores ?? spec.boxes]?.maxAbs ?? 0) };
}

/** Where each edge of a box of w by h moves by e, 1 − IoU is at most 2e/w + 2e/h to the first order. */
function lostBy(measured: number, { x1, y1, x2, y2 }: Detection): number {
	const [width, height] = [x2 - x1, y2 - y1];
	const shift = Math.max(measured, leastNoise * Math.max(Math.abs(x1), Math.abs(y1), Math.abs(x2), Math.abs(y2)));
	return width > 0 && height > 0 ? Math.min(1, 2 * shift * (1 / width + 1 / height)) : 0;
}

export function noticingBoxes({ score, scoreFloor, lost, lostFloor }: BoxChange): BoxLimits {
	const gap = limitBetween(lost, lostFloor);
	return { score: limitBetween(score, scoreFloor), iou: gap === null ? null : Number((1 - gap).toPrecision(12)) };
}

/** A proposed group with limits low enough to detect every change that can be detected safely. */
export function tightenDetections(detections: GoldenManifest["detections"], changes: readonly BoxChange[]): GoldenManifest["detections"] {
	return detections?.map((spec) => {
		const limits = changes.filter(({ group }) => group === spec.name).map(noticingBoxes);
		return limits.reduce(tightenGroup, spec);
	}) as GoldenManifest["detections"];
}

function tightenGroup(spec: Detections, { score, iou }: BoxLimits): Detections {
	const comparators = spec.comparators?.map((comparator) => {
		const limit = comparator.kind === "box-score" ? score : comparator.kind === "box-iou" ? iou : null;
		if (limit === null) return comparator;
		const tolerances = typeof comparator.tolerance === "object" ? comparator.tolerance : {};
		const known = tolerances[referencePrecision] ?? limit;
		const tighter = comparator.kind === "box-iou" ? Math.max(known, limit) : Math.min(known, limit);
		return { ...comparator, tolerance: { ...tolerances, [referencePrecision]: tighter } };
	});
	return comparators === undefined ? spec : { ...spec, comparators: comparators as NonNullable<Detections["comparators"]> };
}

/** What to do about given limits that let the change through. */
export function boxFix(change: BoxChange): string {
	const { score, iou } = noticingBoxes(change);
	const limits = [
		...(score === null ? [] : [`\`{ "kind": "box-score", "tolerance": { "fp32": ${score} } }\``]),
		...(iou === null ? [] : [`\`{ "kind": "box-iou", "tolerance": { "fp32": ${iou} } }\``]),
	];
	if (limits.length === 0)
		return "Add cases whose boxes depend more on this weight; the effect on the present cases is too close to the noise.";
	return `Set ${limits.join(" or ")} in "detections", or add cases whose boxes depend more on this weight.`;
}

/** Limits closer to the noise than this would make goldens fail at random. */
const leastRoom = 1.5;

/** Half of the change, unless that is too close to the noise. null: no limit detects it safely. */
export function limitBetween(change: number, floor: number): number | null {
	const limit = Math.max(change / 2, leastRoom * floor);
	return limit < change ? roundDown(limit) : null;
}

/** Two digits. */
function roundDown(value: number): number {
	if (!(value > 0) || !Number.isFinite(value)) return 0;
	const step = 10 ** (Math.floor(Math.log10(value)) - 1);
	return Number((Math.floor(value / step + 1e-9) * step).toPrecision(2));
}
