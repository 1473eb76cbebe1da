// Comparator rules beyond the schema: keys by kind, output types, and limits that some output can break.
import type { ComparatorKind, ComparatorSpec, DType, GoldenOutput } from "../../../../generated/golden.ts";
import type { SchemaProblem } from "../../schema-errors.ts";
import { defaultAxis, isMetricSpec, wholeByDefault } from "../compare/comparators.ts";
import { metrics } from "../compare/registry.ts";
import { axisFromStart } from "../tensor/rows.ts";
import { slicedShape, sliceProblem } from "../tensor/slice.ts";
import { formatShape, isFloating } from "../tensor/tensor.ts";
import { isSetKind, setKinds } from "../whole-set/tally.ts";

const classMaps = ["miou", "dice", "pixel-disagreement"] as const;

/** Keys that only some kinds read: an unread tolerance would look like a gate. */
const keysOf: Readonly<Record<string, readonly ComparatorKind[]>> = {
	rtol: ["allclose"],
	atol: ["allclose"],
	k: ["top-k", "recall-at-k", "accuracy"],
	axis: ["top-k", "kl", "js", "recall-at-k", "rank-agreement", "token-agreement", "accuracy", ...classMaps],
	input: ["kl", "js"],
	quantile: ["quantile"],
	dataRange: ["psnr", "ssim"],
	window: ["ssim"],
	channels: ["ssim"],
	threshold: classMaps,
	ignore: ["token-agreement", "accuracy", ...classMaps],
	name: ["custom"],
	minScore: ["top-k"],
	floor: ["relative-l2", "max-abs", "allclose", "quantile", "ulp", "cosine", "psnr"],
};

const isOf = (spec: ComparatorSpec, ...kinds: readonly ComparatorKind[]): boolean =>
	kinds.includes(spec.kind);

function problem(pointer: string, expected: string, got: string, fix?: string): SchemaProblem {
	return { pointer, expected, got, fix };
}

export function comparatorProblem(
	spec: ComparatorSpec,
	output: GoldenOutput,
	dtypes: readonly DType[],
): SchemaProblem | null {
	return (
		keyProblem(spec, output) ?? scopeProblem(spec, output) ?? dtypeProblem(spec, dtypes) ?? limitProblem(spec)
	);
}

function keyProblem(spec: ComparatorSpec, output: GoldenOutput): SchemaProblem | null {
	const { kind } = spec;
	const unexpected = (key: string, of: string = kind) =>
		problem(`/${key}`, `no such key for ${of}`, `the key ${key}`, "Remove the key.");
	if (kind === "custom" && spec.slice !== undefined) return unexpected("slice");
	const key = Object.keys(keysOf).find((name) => Object.hasOwn(spec, name) && !keysOf[name]?.includes(kind));
	if (key !== undefined) return unexpected(key);
	if (spec.threshold !== undefined && spec.axis !== undefined)
		return unexpected("axis", `${kind} by threshold`);
	if (kind === "custom" && spec.name === undefined)
		return problem("/name", "the name of a command under `comparators` in trtgate.yml", "missing");
	const isDistribution = output.semantic === "logits" || output.semantic === "probabilities";
	if (!isOf(spec, "kl", "js") || spec.input !== undefined || isDistribution) return null;
	const fix = 'Add "input", or the output\'s "semantic".';
	return problem("/input", "logits or probabilities", "missing", fix);
}

function scopeProblem(spec: ComparatorSpec, output: GoldenOutput): SchemaProblem | null {
	const { kind, scope } = spec;
	if (scope === "set" && !isSetKind(kind)) {
		const fix = `Remove the key; the worst case decides. Kinds over the set: ${[...setKinds].join(", ")}.`;
		return problem("/scope", `per-sample or whole for ${kind}`, "set", fix);
	}
	if (scope !== "per-sample") return null;
	// These need the whole output: labels belong to the case, neighbours are in other samples.
	if (isOf(spec, "accuracy", "recall-at-k", "rank-agreement", "custom"))
		return problem("/scope", `whole for ${kind}`, "per-sample", "Remove the key.");
	if (typeof output.batchAxis === "number") return null;
	const fix = 'Add "batchAxis" to the output.';
	return problem("/scope", "per-sample only with the output's batchAxis", "no batchAxis", fix);
}

function dtypeProblem(spec: ComparatorSpec, dtypes: readonly DType[]): SchemaProblem | null {
	const integer = dtypes.find((dtype) => !isFloating(dtype));
	if (spec.kind === "ulp" && integer !== undefined)
		return problem("/kind", "a comparator of integers, such as max-abs", `ulp of ${integer}`);
	const isOfFloats = isOf(spec, "top-k", "kl", "js", "cosine", "recall-at-k", "rank-agreement");
	return isOfFloats && integer === "bool"
		? problem("/kind", "a comparator of bools, such as allclose", `${spec.kind} of bool`)
		: null;
}

function limitProblem(spec: ComparatorSpec): SchemaProblem | null {
	const tolerances =
		typeof spec.tolerance === "number" ? [spec.tolerance] : Object.values(spec.tolerance ?? {});
	const upper = isMetricSpec(spec) ? metrics[spec.kind].range.most : Number.POSITIVE_INFINITY;
	if (upper === Number.POSITIVE_INFINITY) return null;
	const beyond = tolerances.find((tolerance) => tolerance > upper);
	if (beyond !== undefined)
		return problem("/tolerance", `a limit from 0 to ${Number(upper.toPrecision(4))}`, String(beyond));
	// Every output keeps the upper end of these errors, and a 0 of these agreements.
	const isKept =
		(isOf(spec, "allclose", "js", "pixel-disagreement") && tolerances.includes(upper)) ||
		(isOf(spec, "top-k", "miou", "dice", "recall-at-k", "token-agreement", "accuracy") &&
			tolerances.includes(0));
	return isKept
		? problem("/tolerance", "a limit that some output breaks", `one that ${spec.kind} always keeps`)
		: null;
}

interface Layout {
	dtype: DType;
	shape: readonly number[];
}

export function layoutProblem(
	spec: ComparatorSpec,
	file: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	if (spec.slice === undefined) return classAxisProblem(spec, file, batchAxis);
	const found = sliceProblem(spec.slice, file.shape);
	if (found !== null) {
		const fix = `The output has shape ${formatShape(file.shape)}; the end of a range is the index after its last element.`;
		return { ...found, pointer: `/slice${found.pointer}`, fix };
	}
	if (axisFromStart(spec.slice.axis, file.shape.length) === batchAxis && isPerSample(spec))
		return problem("/slice/axis", "another axis than the batch axis", String(spec.slice.axis));
	return classAxisProblem(spec, { ...file, shape: slicedShape(spec.slice, file.shape) }, batchAxis);
}

function isPerSample(spec: ComparatorSpec): boolean {
	return spec.scope === "per-sample" || (spec.scope === undefined && !wholeByDefault.has(spec.kind));
}

/** Bare integers are classes, and a mask by threshold has no class axis. */
function classAxisProblem(
	spec: ComparatorSpec,
	{ dtype, shape }: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	if (keysOf["axis"]?.includes(spec.kind) !== true || spec.threshold !== undefined) return null;
	const isOfIds = isOf(spec, ...classMaps, "token-agreement", "accuracy");
	if (spec.axis === undefined && isOfIds && !isFloating(dtype)) return null;
	const axisOfSpec = spec.axis ?? defaultAxis(spec.kind);
	const axis = axisFromStart(axisOfSpec, shape.length);
	if (axis < 0)
		return problem("/axis", `an axis of the output, which has ${shape.length}`, String(axisOfSpec));
	if (axis === batchAxis && isPerSample(spec))
		return problem("/axis", "another axis than the batch axis", String(axisOfSpec));
	const classes = shape[axis] ?? 0;
	if (isOf(spec, "recall-at-k", "rank-agreement") || classes === 0) return null;
	// Where k classes are all there are, every engine chooses the same.
	const chosen = isOf(spec, "top-k", "accuracy") ? (spec.k ?? 1) : 1;
	if (classes > chosen) return null;
	const fix = "Name the axis of the classes; for a mask with one channel, set threshold.";
	return problem("/axis", `an axis of more than ${chosen} classes`, `one of ${classes}`, fix);
}
