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
	const key = Object.keys(keysOf).find(
		(name) => Object.hasOwn(spec, name) && !keysOf[name]?.includes(spec.kind),
	);
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
	if ((spec.kind !== "kl" && spec.kind !== "js") || spec.input !== undefined || distribution) return null;
	return {
		pointer: "/input",
		expected: "logits or probabilities",
		got: "missing",
		fix: 'Add "input", or the output\'s "semantic".',
	};
}

/** Kinds that need the whole output: labels belong to the case, neighbours are in other samples. */
const wholeOnly: ReadonlySet<ComparatorKind> = new Set([
	"accuracy",
	"recall-at-k",
	"rank-agreement",
	"custom",
]);

function scopeProblem(spec: ComparatorSpec, output: GoldenOutput): SchemaProblem | null {
	if (spec.scope === "set" && !isSetKind(spec.kind)) {
		const fix = `Remove the key; the worst case decides. Kinds over the set: ${[...setKinds].join(", ")}.`;
		return { pointer: "/scope", expected: `per-sample or whole for ${spec.kind}`, got: "set", fix };
	}
	if (spec.scope !== "per-sample") return null;
	if (wholeOnly.has(spec.kind)) {
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

const idKinds: ReadonlySet<ComparatorKind> = new Set([...classMaps, "token-agreement", "accuracy"]);

const ofFloats: ReadonlySet<ComparatorKind> = new Set([
	"top-k",
	"kl",
	"js",
	"cosine",
	"recall-at-k",
	"rank-agreement",
]);

function dtypeProblem(spec: ComparatorSpec, dtypes: readonly DType[]): SchemaProblem | null {
	const integer = dtypes.find((dtype) => !isFloating(dtype));
	if (spec.kind === "ulp" && integer !== undefined) {
		return {
			pointer: "/kind",
			expected: "a comparator of integers, such as max-abs",
			got: `ulp of ${integer}`,
		};
	}
	const whole = ofFloats.has(spec.kind) && integer === "bool";
	return whole
		? { pointer: "/kind", expected: "a comparator of bools, such as allclose", got: `${spec.kind} of bool` }
		: null;
}

/** At-most kinds whose upper end, and at-least kinds whose 0, every output keeps. */
const keptAtUpper: ReadonlySet<ComparatorKind> = new Set(["allclose", "js", "pixel-disagreement"]);
const keptAtZero: ReadonlySet<ComparatorKind> = new Set([
	"top-k",
	"miou",
	"dice",
	"recall-at-k",
	"token-agreement",
	"accuracy",
]);

function limitProblem(spec: ComparatorSpec): SchemaProblem | null {
	const tolerances =
		typeof spec.tolerance === "number" ? [spec.tolerance] : Object.values(spec.tolerance ?? {});
	const upper = isMetricSpec(spec) ? metrics[spec.kind].range.most : Number.POSITIVE_INFINITY;
	if (upper === Number.POSITIVE_INFINITY) return null;
	const beyond = tolerances.find((tolerance) => tolerance > upper);
	if (beyond !== undefined) {
		return {
			pointer: "/tolerance",
			expected: `a limit from 0 to ${Number(upper.toPrecision(4))}`,
			got: String(beyond),
		};
	}
	const alwaysPasses =
		(keptAtUpper.has(spec.kind) && tolerances.includes(upper)) ||
		(keptAtZero.has(spec.kind) && tolerances.includes(0));
	if (!alwaysPasses) return null;
	return {
		pointer: "/tolerance",
		expected: "a limit that some output breaks",
		got: `one that ${spec.kind} always keeps`,
	};
}

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
	return spec.scope === "per-sample" || (spec.scope === undefined && !wholeByDefault.has(spec.kind));
}

/** What the class axis of a comparator must be, in an output of this kind. Bare integers are classes, and a mask by threshold has none. */
function classAxisProblem(
	spec: ComparatorSpec,
	file: Layout,
	batchAxis: number | null,
): SchemaProblem | null {
	if (keysOf["axis"]?.includes(spec.kind) !== true || spec.threshold !== undefined) return null;
	if (spec.axis === undefined && idKinds.has(spec.kind) && !isFloating(file.dtype)) return null;
	const rank = file.shape.length;
	const axisOfSpec = spec.axis ?? defaultAxis(spec.kind);
	const axis = axisFromStart(axisOfSpec, rank);
	if (axis < 0)
		return {
			pointer: "/axis",
			expected: `an axis of the output, which has ${rank}`,
			got: String(axisOfSpec),
		};
	if (axis === batchAxis && isPerSample(spec))
		return { pointer: "/axis", expected: "another axis than the batch axis", got: String(axisOfSpec) };
	return choiceProblem(spec, file.shape[axis] ?? 0);
}

/** Where k classes are all there are, every engine chooses the same. */
function choiceProblem(spec: ComparatorSpec, classes: number): SchemaProblem | null {
	if (spec.kind === "recall-at-k" || spec.kind === "rank-agreement" || classes === 0) return null;
	const chosen = spec.kind === "top-k" || spec.kind === "accuracy" ? (spec.k ?? 1) : 1;
	if (classes > chosen) return null;
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
