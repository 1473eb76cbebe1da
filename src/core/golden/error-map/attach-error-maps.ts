// Entry of error-map/: adds an error map and the worst elements to failed checks.
import type { ComparatorSpec, GoldenOutput } from "../../../../generated/golden.ts";
import type { ErrorMap, GoldenCheck, GoldenElement, GoldenVerdict } from "../../../../generated/result.ts";
import { layoutCheck, type OutputPart, worstOf } from "../compare/checks.ts";
import { type Comparator, resolveComparators } from "../compare/comparators.ts";
import { type Closeness, makePair } from "../compare/difference.ts";
import type { CaseInput } from "../compare/judge.ts";
import { cutSlice, placeSlice } from "../tensor/slice.ts";
import { elementCount, sliceTensor, type Tensor, tensorMap } from "../tensor/tensor.ts";
import { errorMap, largestDifferences, planeOf, type TensorPair } from "./map.ts";

const maxElements = 5;
/** Of several checks of one output and sample, the first of these is drawn: it has a limit to show among the errors. */
const byElement: readonly string[] = ["allclose", "max-abs", "quantile"] satisfies ComparatorSpec["kind"][];

/** At most `most` checks are drawn: a picture takes some kilobytes and a pass over the output. */
export function attachErrorMaps(
	verdict: GoldenVerdict,
	input: CaseInput,
	most: number,
): { verdict: GoldenVerdict; drawn: number } {
	const chosen = choose(verdict.checks, input).slice(0, most);
	if (chosen.length === 0) return { verdict, drawn: 0 };
	const checks = verdict.checks.map((check) => (chosen.includes(check) ? drawn(check, input) : check));
	return { verdict: { ...verdict, checks }, drawn: chosen.length };
}

/** One check for each output and sample. */
function choose(checks: readonly GoldenCheck[], input: CaseInput): GoldenCheck[] {
	const chosen = new Map<string, GoldenCheck>();
	for (const check of checks) {
		if (check.pass || sidesOf(check.output, input) === null) continue;
		const key = JSON.stringify([check.output, check.slice ?? null, check.sample ?? null]);
		const known = chosen.get(key);
		if (known === undefined || (!byElement.includes(known.metric) && byElement.includes(check.metric)))
			chosen.set(key, check);
	}
	return [...chosen.values()];
}

/** Both sides, where they can be laid over each other and hold anything. */
function sidesOf(output: string, input: CaseInput): TensorPair | null {
	const expected = tensorMap(input.expected).get(output);
	const got = tensorMap(input.got).get(output);
	if (expected === undefined || got === undefined || elementCount(expected.shape) === 0) return null;
	return layoutCheck(output, expected, got) === null ? { expected, got } : null;
}

function drawn(check: GoldenCheck, input: CaseInput): GoldenCheck {
	const sides = sidesOf(check.output, input);
	if (sides === null) return check;
	const whole = { expected: cutSlice(sides.expected, check.slice), got: cutSlice(sides.got, check.slice) };
	const { outputs } = input.manifest;
	const spec = Object.hasOwn(outputs, check.output) ? outputs[check.output] : undefined;
	const axis = spec?.batchAxis ?? null;
	const judged = check.sample === undefined || axis === null ? whole : slice(whole, axis, check.sample);
	const part: OutputPart = {
		pair: makePair(judged.expected, judged.got),
		sample: check.sample ?? null,
		slice: placeSlice(check.slice, sides.expected.shape),
	};
	const map = mapOf(judged, { spec, check, axis });
	const closeness = closenessOf(check, { spec, input, expected: sides.expected });
	return {
		...check,
		worst: check.worst === undefined ? undefined : withAllowed(check.worst, closeness),
		...(map === null ? {} : { errorMap: map }),
		largest: largestDifferences(judged, maxElements).map((flat) =>
			withAllowed(worstOf(part, flat, axis), closeness),
		),
	};
}

/** Where the golden is not finite, the element only has to be the same. */
function withAllowed(element: GoldenElement, closeness: Closeness | null): GoldenElement {
	if (closeness === null || typeof element.expected !== "number") return element;
	const allowed = closeness.atol + closeness.rtol * Math.abs(element.expected);
	return Number.isFinite(allowed) ? { ...element, allowed } : element;
}

function slice({ expected, got }: TensorPair, axis: number, at: number): TensorPair {
	return { expected: sliceTensor(expected, axis, at), got: sliceTensor(got, axis, at) };
}

/** The tolerance of one element, for checks of elements. */
function closenessOf(
	check: GoldenCheck,
	from: { spec: GoldenOutput | undefined; input: CaseInput; expected: Tensor },
): Closeness | null {
	if (!byElement.includes(check.metric) || check.allowed === null) return null;
	if (check.metric !== "allclose") return { rtol: 0, atol: check.allowed };
	const all: readonly Comparator[] = resolveComparators(from.spec, {
		...from.input,
		expected: from.expected,
	});
	const part = JSON.stringify(check.slice);
	const same = all.find(
		({ kind, allowed, slice }) =>
			kind === "allclose" && allowed === check.allowed && JSON.stringify(slice) === part,
	);
	return same === undefined ? null : { rtol: same.rtol, atol: same.atol };
}

interface MapContext {
	spec: GoldenOutput | undefined;
	check: GoldenCheck;
	axis: number | null;
}

function mapOf(judged: TensorPair, { spec, check, axis }: MapContext): ErrorMap | null {
	const image = spec?.semantic === "image" || spec?.semantic === "mask";
	const plane = planeOf(judged.expected.shape, image);
	if (plane === null) return null;
	if (check.sample !== undefined) return { ...errorMap(judged, plane), sample: check.sample };
	// The whole was judged: of its samples the one with the largest difference is shown.
	const samples = axis ?? (judged.expected.shape.length >= 4 ? 0 : null);
	if (samples === null || plane.axes.includes(samples) || (judged.expected.shape[samples] ?? 1) < 2)
		return errorMap(judged, plane);
	const worst = sampleOfWorst(judged, samples);
	return { ...errorMap(slice(judged, samples, worst), plane), sample: worst };
}

function sampleOfWorst(sides: TensorPair, axis: number): number {
	const [flat = 0] = largestDifferences(sides, 1);
	const { shape } = sides.expected;
	return Math.floor(flat / elementCount(shape.slice(axis + 1))) % (shape[axis] ?? 1);
}
