// Comparator rules beyond the schema: keys by kind, output types, and limits that some output can break.
import type { ComparatorKind, ComparatorSpec, DType, GoldenOutput } from "../../../../generated/golden.ts";
import type { SchemaProblem } from "../../schema-errors.ts";
import { type Metric, metrics } from "../compare/registry.ts";
import { axisFromStart } from "../tensor/rows.ts";
import { slicedShape, sliceProblem } from "../tensor/slice.ts";
import { formatShape, isFloating } from "../tensor/tensor.ts";

/** undefined: a command, which measures for itself. */
function metricOf(kind: ComparatorKind): Metric | undefined {
	return kind === "custom" ? undefined : metrics[kind];
}

/** Keys that only some kinds read: an unread tolerance would look like a gate. */
const restrictedKeys = new Set<keyof ComparatorSpec>([
	"name",
	"axis",
	...Object.values(metrics).flatMap(({ keys }) => keys),
]);

function reads(kind: ComparatorKind, key: keyof ComparatorSpec): boolean {
	const metric = metricOf(kind);
	if (metric === undefined) return key === "name";
	return key === "axis" ? metric.axis !== undefined : metric.keys.includes(key);
}

export function comparatorProblem(
	spec: ComparatorSpec,
	output: GoldenOutput,
	dtypes: readonly DType[],
): SchemaProblem | null {
	return (
		unexpectedKey(spec) ??
		unnamedCommand(spec) ??
		missingInput(spec, output) ??
		scopeProblem(spec, output) ??
		dtypeProblem(spec, dtypes) ??
		limitProblem(spec)
	);
}

function unexpectedKey(spec: ComparatorSpec): SchemaProblem | null {
	if (spec.kind === "custom" && spec.slice !== undefined) return noSuchKey("slice", spec.kind);
	const key = [...restrictedKeys].find((name) => Object.hasOwn(spec, name) && !reads(spec.kind, name));
	if (key !== undefined) return noSuchKey(key, spec.kind);
	return spec.threshold !== undefined && spec.axis !== undefined
		? noSuchKey("axis", `${spec.kind} by threshold`)
		: null;
}

function noSuchKey(key: string, kind: string): SchemaProblem {
	return {
		pointer: `/${key}`,
		expected: `no such key for ${kind}`,
		got: `the key ${key}`,
		fix: "Remove the key.",
	};
}

function unnamedCommand(spec: ComparatorSpec): SchemaProblem | null {
	if (spec.kind !== "custom" || spec.name !== undefined) return null;
	return {
		pointer: "/name",
		expected: "the name of a command under `comparators` in trtgate.yml",
		got: "missing",
	};
}

function missingInput(spec: ComparatorSpec, output: GoldenOutput): SchemaProblem | null {
	const distribution = output.semantic === "logits" || output.semantic === "probabilities";
	if (!reads(spec.kind, "input") || spec.input !== undefined || distribution) return null;
	return {
		pointer: "/input",
		expected: "logits or probabilities",
		got: "missing",
		fix: 'Add "input", or the output\'s "semantic".',
	};
}

function scopeProblem(spec: ComparatorSpec, output: GoldenOutput): SchemaProblem | null {
	const metric = metricOf(spec.kind);
	if (spec.scope === "set" && metric?.set === undefined) {
		const setKinds = Object.entries(metrics).flatMap(([kind, { set }]) => (set === undefined ? [] : [kind]));
		const fix = `Remove the key; the worst case decides. Kinds over the set: ${setKinds.join(", ")}.`;
		return { pointer: "/scope", expected: `per-sample or whole for ${spec.kind}`, got: "set", fix };
	}
	if (spec.scope !== "per-sample") return null;
	// Labels belong to the case, and neighbours are in other samples.
	if (metric === undefined || metric.whole === "always") {
		return {
			pointer: "/scope",
			expected: `whole for ${spec.kind}`,
			got: "per-sample",
			fix: "Remove the key.",
		};
	}
	if (typeof output.batchAxis === "number") return null;
	return {
		pointer: "/scope",
		expected: "per-sample only with the output's batchAxis",
		got: "no batchAxis",
		fix: 'Add "batchAxis" to the output.',
	};
}

function dtypeProblem(spec: ComparatorSpec, dtypes: readonly DType[]): SchemaProblem | null {
	const integer = dtypes.find((dtype) => !isFloating(dtype));
	const refuses = metricOf(spec.kind)?.refuses;
	if (refuses === "integers" && integer !== undefined) {
		return {
			pointer: "/kind",
			expected: "a comparator of integers, such as max-abs",
			got: `${spec.kind} of ${integer}`,
		};
	}
	return refuses === "bool" && integer === "bool"
		? { pointer: "/kind", expected: "a comparator of bools, such as allclose", got: `${spec.kind} of bool` }
		: null;
}

function limitProblem(spec: ComparatorSpec): SchemaProblem | null {
	const tolerances =
		typeof spec.tolerance === "number" ? [spec.tolerance] : Object.values(spec.tolerance ?? {});
	const { range, emptyLimit } = metricOf(spec.kind) ?? {};
	const upper = range?.most ?? Number.POSITIVE_INFINITY;
	if (upper === Number.POSITIVE_INFINITY) return null;
	const beyond = tolerances.find((tolerance) => tolerance > upper);
	if (beyond !== undefined) {
		return {
			pointer: "/tolerance",
			expected: `a limit from 0 to ${Number(upper.toPrecision(4))}`,
			got: String(beyond),
		};
	}
	if (emptyLimit === undefined || !tolerances.includes(emptyLimit)) return null;
	return {
		pointer: "/tolerance",
		expected: "a limit that some output breaks",
		got: `one that ${spec.kind} always keeps`,
	};
}

/** What does not fit an output of this kind: the slice, or the axis of the classes in it. */
export function layoutProblem(
	spec: ComparatorSpec,
	file: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	if (spec.slice === undefined) return classAxisProblem(spec, file, batchAxis);
	const problem = sliceProblem(spec.slice, file.shape);
	if (problem !== null) {
		const fix = `The output has shape ${formatShape(file.shape)}; the end of a range is the index after its last element.`;
		return { ...problem, pointer: `/slice${problem.pointer}`, fix };
	}
	if (axisFromStart(spec.slice.axis, file.shape.length) === batchAxis && isPerSample(spec)) {
		return {
			pointer: "/slice/axis",
			expected: "another axis than the batch axis",
			got: String(spec.slice.axis),
		};
	}
	return classAxisProblem(spec, { ...file, shape: slicedShape(spec.slice, file.shape) }, batchAxis);
}

function isPerSample(spec: ComparatorSpec): boolean {
	return (
		spec.scope === "per-sample" || (spec.scope === undefined && metricOf(spec.kind)?.whole === undefined)
	);
}

/** What the class axis of a comparator must be, in an output of this kind. Bare integers are classes, and a mask by threshold has none. */
function classAxisProblem(
	spec: ComparatorSpec,
	file: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	const metric = metricOf(spec.kind);
	if (metric?.axis === undefined || spec.threshold !== undefined) return null;
	if (spec.axis === undefined && metric.readsIds === true && !isFloating(file.dtype)) return null;
	const rank = file.shape.length;
	const axisOfSpec = spec.axis ?? metric.axis.default;
	const axis = axisFromStart(axisOfSpec, rank);
	if (axis < 0)
		return {
			pointer: "/axis",
			expected: `an axis of the output, which has ${rank}`,
			got: String(axisOfSpec),
		};
	if (axis === batchAxis && isPerSample(spec))
		return { pointer: "/axis", expected: "another axis than the batch axis", got: String(axisOfSpec) };
	// Where k classes are all there are, every engine chooses the same.
	const classes = file.shape[axis] ?? 0;
	const chosen = spec.k ?? 1;
	if (metric.axis.holds === "vectors" || classes === 0 || classes > chosen) return null;
	const fix = "Name the axis of the classes; for a mask with one channel, set threshold.";
	return {
		pointer: "/axis",
		expected: `an axis of more than ${chosen} classes`,
		got: `one of ${classes}`,
		fix,
	};
}

interface Layout {
	dtype: DType;
	shape: readonly number[];
}
