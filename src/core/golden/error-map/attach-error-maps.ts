// Entry of error-map/: adds an error map and the worst elements to one failed check of each output.
import type { ComparatorSpec } from "../../../../generated/golden.ts";
import type { ErrorMap, GoldenCheck, GoldenElement, GoldenVerdict } from "../../../../generated/result.ts";
import { layoutCheck, type OutputPart, worstOf } from "../compare/checks.ts";
import { resolveComparators } from "../compare/comparators.ts";
import { type Closeness, makePair } from "../compare/difference.ts";
import type { CaseInput } from "../compare/judge.ts";
import { cutSlice, placeSlice } from "../tensor/slice.ts";
import { elementCount, sliceTensor, tensorMap } from "../tensor/tensor.ts";
import { errorMap, largestDifferences, planeOf, type TensorPair } from "./map.ts";

const maxElements = 5;
/** Of several checks of one output, one of these is drawn: it has a limit to show among the errors. */
const byElement: readonly string[] = ["allclose", "max-abs", "quantile"] satisfies ComparatorSpec["kind"][];

/** At most `most` checks are drawn: a picture takes some kilobytes and a pass over the output. */
export function attachErrorMaps(
	verdict: GoldenVerdict,
	input: CaseInput,
	most: number,
): { verdict: GoldenVerdict; drawn: number } {
	const chosen = new Map<string, GoldenCheck>();
	for (const check of verdict.checks) {
		if (check.pass || sidesOf(check.output, input) === null) continue;
		const known = chosen.get(check.output);
		if (known === undefined || rank(check) > rank(known)) chosen.set(check.output, check);
	}
	const drawn = [...chosen.values()].slice(0, most);
	const checks = verdict.checks.map((check) => (drawn.includes(check) ? draw(check, input) : check));
	return { verdict: drawn.length === 0 ? verdict : { ...verdict, checks }, drawn: drawn.length };
}

/** Checks of elements come first, then the one that is furthest from its limit. */
function rank({ metric, got, allowed, bound }: GoldenCheck): number {
	const isNumber = typeof got === "number" && allowed !== null;
	const excess = isNumber ? (bound === "at-most" ? got / allowed : allowed / got) : Number.POSITIVE_INFINITY;
	return (
		Number(byElement.includes(metric)) + (Number.isFinite(excess) ? 1 - 1 / (1 + Math.abs(excess)) : 1) / 2
	);
}

/** Both sides, where they can be laid over each other and hold anything. */
function sidesOf(output: string, input: CaseInput): TensorPair | null {
	const expected = tensorMap(input.expected).get(output);
	const got = tensorMap(input.got).get(output);
	if (expected === undefined || got === undefined || elementCount(expected.shape) === 0) return null;
	return layoutCheck(output, expected, got) === null ? { expected, got } : null;
}

function draw(check: GoldenCheck, input: CaseInput): GoldenCheck {
	const sides = sidesOf(check.output, input);
	if (sides === null) return check;
	const { outputs } = input.manifest;
	const spec = Object.hasOwn(outputs, check.output) ? outputs[check.output] : undefined;
	const { sample, slice } = check;
	const axis = spec?.batchAxis ?? null;
	const whole = { expected: cutSlice(sides.expected, slice), got: cutSlice(sides.got, slice) };
	const judged = sample === undefined || axis === null ? whole : cutSample(whole, axis, sample);
	const part: OutputPart = {
		pair: makePair(judged.expected, judged.got),
		sample: sample ?? null,
		slice: placeSlice(slice, sides.expected.shape),
	};
	const closeness = closenessOf(check, input, sides);
	const isImage = spec?.semantic === "image" || spec?.semantic === "mask";
	const largest = largestDifferences(judged, maxElements);
	return {
		...check,
		worst: check.worst && withAllowed(check.worst, closeness),
		errorMap: mapOf(judged, isImage, sample, axis) ?? undefined,
		largest: largest.map((flat) => withAllowed(worstOf(part, flat, axis), closeness)),
	};
}

/** Where the golden is not finite, the element only has to be the same. */
function withAllowed(element: GoldenElement, closeness: Closeness | null): GoldenElement {
	if (closeness === null || typeof element.expected !== "number") return element;
	const allowed = closeness.atol + closeness.rtol * Math.abs(element.expected);
	return Number.isFinite(allowed) ? { ...element, allowed } : element;
}

function cutSample({ expected, got }: TensorPair, axis: number, at: number): TensorPair {
	return { expected: sliceTensor(expected, axis, at), got: sliceTensor(got, axis, at) };
}

/** The tolerance of one element, for checks of elements. */
function closenessOf(check: GoldenCheck, input: CaseInput, { expected }: TensorPair): Closeness | null {
	if (!byElement.includes(check.metric) || check.allowed === null) return null;
	if (check.metric !== "allclose") return { rtol: 0, atol: check.allowed };
	const all = resolveComparators(input.manifest.outputs[check.output], { ...input, expected });
	const same = all.find(
		({ kind, allowed, slice }) =>
			kind === "allclose" &&
			allowed === check.allowed &&
			JSON.stringify(slice) === JSON.stringify(check.slice),
	);
	return same === undefined ? null : { rtol: same.rtol, atol: same.atol };
}

/** Where the whole was judged, the sample with the largest difference is shown. */
function mapOf(
	judged: TensorPair,
	isImage: boolean,
	sample: number | undefined,
	axis: number | null,
): ErrorMap | null {
	const { shape } = judged.expected;
	const plane = planeOf(shape, isImage);
	if (plane === null) return null;
	const samples = axis ?? (shape.length >= 4 ? 0 : null);
	const isSingle = samples === null || plane.axes.includes(samples) || (shape[samples] ?? 1) < 2;
	if (sample !== undefined || isSingle) return { ...errorMap(judged, plane), sample };
	const [flat = 0] = largestDifferences(judged, 1);
	const worst = Math.floor(flat / elementCount(shape.slice(samples + 1))) % (shape[samples] ?? 1);
	return { ...errorMap(cutSample(judged, samples, worst), plane), sample: worst };
}
