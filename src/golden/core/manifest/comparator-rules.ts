// Rules for comparators beyond the schema: keys by kind, output types, and limits that some output can break.
import type { ComparatorKind, ComparatorSpec, DType, GoldenOutput } from "../../../../generated/golden.ts";
import type { SchemaProblem } from "../../../core/found.ts";
import { metrics } from "../compare/registry.ts";
import { axisFromStart, formatShape, isFloating, slicedShape, sliceProblem } from "../tensor/tensor.ts";

function metricOf(kind: ComparatorKind) {
	return kind === "custom" ? undefined : metrics[kind];
}

/** Keys that only some kinds read; an unread tolerance would look like a gate. */
const restrictedKeys = new Set<keyof ComparatorSpec>([
	"name",
	"axis",
	...Object.values(metrics).flatMap(({ keys }) => keys),
]);

function reads(kind: ComparatorKind, key: keyof ComparatorSpec) {
	const metric = metricOf(kind);
	if (metric === undefined) return key === "name";
	return key === "axis" ? metric.axis !== undefined : metric.keys.includes(key);
}

export function problem(pointer: string, expected: string, got: string, fix?: string): SchemaProblem {
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

function keyProblem(spec: ComparatorSpec, { semantic }: GoldenOutput) {
	const { kind } = spec;
	const noSuchKey = (key: string, reader: string) =>
		problem(`/${key}`, `no such key for ${reader}`, `the key ${key}`, "Remove the key.");
	if (kind === "custom" && spec.slice !== undefined) return noSuchKey("slice", kind);
	const key = [...restrictedKeys].find((name) => Object.hasOwn(spec, name) && !reads(kind, name));
	if (key !== undefined) return noSuchKey(key, kind);
	if (spec.threshold !== undefined && spec.axis !== undefined)
		return noSuchKey("axis", `${kind} by threshold`);
	if (kind === "custom" && spec.name === undefined)
		return problem("/name", "the name of a command under `comparators` in trtgate.yml", "missing");
	const isDistribution = semantic === "logits" || semantic === "probabilities";
	if (!reads(kind, "input") || spec.input !== undefined || isDistribution) return null;
	const fix = 'Add "input", or the output\'s "semantic".';
	return problem("/input", "logits or probabilities", "missing", fix);
}

export function notOverSet(
	kinds: Readonly<Record<string, { set?: unknown }>>,
	pointer: string,
	expected: string,
): SchemaProblem {
	const setKinds = Object.keys(kinds).filter((kind) => kinds[kind]?.set !== undefined);
	const fix = `Remove the key; the worst case decides. Kinds over the set: ${setKinds.join(", ")}.`;
	return problem(pointer, expected, "set", fix);
}

export function limitsIn(tolerance: ComparatorSpec["tolerance"]): number[] {
	return typeof tolerance === "number" ? [tolerance] : Object.values(tolerance ?? {});
}

function scopeProblem({ kind, scope }: ComparatorSpec, { batchAxis }: GoldenOutput) {
	const metric = metricOf(kind);
	if (scope === "set" && metric?.set === undefined)
		return notOverSet(metrics, "/scope", `per-sample or whole for ${kind}`);
	if (scope !== "per-sample") return null;
	// Labels belong to the case, and neighbours are in other samples.
	if (metric === undefined || metric.whole === "always")
		return problem("/scope", `whole for ${kind}`, "per-sample", "Remove the key.");
	if (typeof batchAxis === "number") return null;
	const expected = "per-sample only with the output's batchAxis";
	return problem("/scope", expected, "no batchAxis", 'Add "batchAxis" to the output.');
}

function dtypeProblem({ kind }: ComparatorSpec, dtypes: readonly DType[]) {
	return metricOf(kind)?.refuses === "bool" && dtypes.includes("bool")
		? problem("/kind", "a comparator of bools, such as allclose", `${kind} of bool`)
		: null;
}

function limitProblem({ kind, tolerance }: ComparatorSpec) {
	const metric = metricOf(kind);
	if (metric === undefined || metric.range.most === Infinity) return null;
	const limits = limitsIn(tolerance);
	const beyond = limits.find((limit) => limit > metric.range.most);
	if (beyond !== undefined)
		return problem("/tolerance", `a limit from 0 to ${metric.range.most}`, String(beyond));
	return metric.emptyLimit !== undefined && limits.includes(metric.emptyLimit)
		? problem("/tolerance", "a limit that some output breaks", `one that ${kind} always keeps`)
		: null;
}

type Layout = { dtype: DType; shape: readonly number[] };

export function layoutProblem(
	spec: ComparatorSpec,
	file: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	const { slice } = spec;
	if (slice === undefined) return classAxisProblem(spec, file, batchAxis);
	const found = sliceProblem(slice, file.shape);
	if (found !== null) {
		const fix = `The output has shape ${formatShape(file.shape)}; the end of a range is the index after its last element.`;
		return { ...found, pointer: `/slice${found.pointer}`, fix };
	}
	if (axisFromStart(slice.axis, file.shape.length) === batchAxis && isPerSample(spec))
		return problem("/slice/axis", "another axis than the batch axis", String(slice.axis));
	return classAxisProblem(spec, { ...file, shape: slicedShape(slice, file.shape) }, batchAxis);
}

function isPerSample({ kind, scope }: ComparatorSpec) {
	return scope === "per-sample" || (scope === undefined && metricOf(kind)?.whole === undefined);
}

function classAxisProblem(spec: ComparatorSpec, { dtype, shape }: Layout, batchAxis: number | null) {
	const metric = metricOf(spec.kind);
	if (metric?.axis === undefined || spec.threshold !== undefined) return null;
	if (spec.axis === undefined && metric.readsIds === true && !isFloating(dtype)) return null;
	const given = spec.axis ?? metric.axis.default;
	const axis = axisFromStart(given, shape.length);
	if (axis < 0) return problem("/axis", `an axis of the output, which has ${shape.length}`, String(given));
	if (axis === batchAxis && isPerSample(spec))
		return problem("/axis", "another axis than the batch axis", String(given));
	// If there are only k classes, every engine chooses the same ones.
	const classes = shape[axis] ?? 0;
	const chosen = spec.k ?? 1;
	if (metric.axis.holds === "vectors" || classes === 0 || classes > chosen) return null;
	const fix = "Name the axis of the classes; for a mask with one channel, set threshold.";
	return problem("/axis", `an axis of more than ${chosen} classes`, `one of ${classes}`, fix);
}
