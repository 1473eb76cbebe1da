// Manifest rules beyond the schema: each finds the first problem, or null.

import type {
	BoxComparatorKind,
	BoxComparatorSpec,
	ComparatorSpec,
	Detections,
	DType,
	GoldenCase,
	GoldenManifest,
	GoldenOutput,
	TensorFile,
} from "../../../../generated/golden.ts";
import { childPointer, formatName } from "../../config/pointer.ts";
import type { SchemaProblem } from "../../schema-errors.ts";
import { describeInvisible } from "../../text/invisible.ts";
import { boxKinds } from "../boxes/check-boxes.ts";
import { axisFromStart } from "../tensor/rows.ts";
import { slicedShape } from "../tensor/slice.ts";
import { elementCount, isFloating, tensorBytes } from "../tensor/tensor.ts";
import { comparatorProblem, layoutProblem } from "./comparator-rules.ts";

type Rule = (manifest: GoldenManifest) => SchemaProblem | null;

export function findRuleProblem(manifest: GoldenManifest): SchemaProblem | null {
	const rules: readonly Rule[] = [
		findInvisible,
		findDuplicateCase,
		findBadFile,
		findEmptyCase,
		findUnusedOutput,
		findBadComparator,
		findBadAxis,
		findBadLabels,
		findBadDetections,
	];
	return firstOf(rules, (rule) => rule(manifest));
}

function firstOf<Item>(
	items: Iterable<Item>,
	find: (item: Item, index: number) => SchemaProblem | null,
): SchemaProblem | null {
	let index = 0;
	for (const item of items) {
		const problem = find(item, index);
		if (problem !== null) return problem;
		index += 1;
	}
	return null;
}

function findInvisible({ goldenId, cases, detections }: GoldenManifest): SchemaProblem | null {
	const names: [pointer: string, name: string][] = [
		["/goldenId", goldenId],
		...cases.map(({ id }, index): [string, string] => [`/cases/${index}/id`, id]),
		...(detections ?? []).map(({ name }, index): [string, string] => [`/detections/${index}/name`, name]),
	];
	return firstOf(names, ([pointer, name]) => {
		const got = describeInvisible(name);
		return got === null
			? null
			: { pointer, expected: "visible characters only", got, fix: "Type the name again." };
	});
}

function findDuplicateCase({ cases }: GoldenManifest): SchemaProblem | null {
	const seen = new Map<string, number>();
	return firstOf(cases, ({ id }, index) => {
		const before = seen.get(id);
		if (before !== undefined)
			return { pointer: `/cases/${index}/id`, expected: "a unique id", got: `that of /cases/${before}` };
		seen.set(id, index);
		return null;
	});
}

function findBadFile({ cases }: GoldenManifest): SchemaProblem | null {
	return firstOf(cases, (golden, index) =>
		firstOf(["inputs", "outputs"] as const, (side) =>
			firstOf(Object.entries(golden[side]), ([name, file]) =>
				fileProblem(file, childPointer(`/cases/${index}/${side}`, name)),
			),
		),
	);
}

/** More bytes than this in one tensor and no reader of ours takes it. */
const maxTensorBytes = 2 ** 32;

function fileProblem(file: TensorFile, pointer: string): SchemaProblem | null {
	if (escapes(file.path)) {
		return {
			pointer: `${pointer}/path`,
			expected: "a path inside the manifest's folder",
			got: formatName(file.path),
		};
	}
	const bytes = tensorBytes(file);
	if (bytes <= maxTensorBytes) return null;
	return {
		pointer: `${pointer}/shape`,
		expected: `a tensor of at most ${maxTensorBytes} bytes`,
		got: `${bytes} bytes`,
	};
}

/** Absolute, by drive, upwards, or in a notation that another system would read as one of these. */
function escapes(path: string): boolean {
	return /^\/|^[A-Za-z]:|\\|\0/.test(path) || path.split("/").includes("..");
}

function findEmptyCase({ cases }: GoldenManifest): SchemaProblem | null {
	return firstOf(cases, ({ outputs }, index) => {
		const compared = Object.values(outputs).some((file) => elementCount(file.shape) > 0);
		if (compared) return null;
		return {
			pointer: `/cases/${index}/outputs`,
			expected: "an output with at least one element",
			got: "nothing that could be compared",
		};
	});
}

/** Comparators for an output that no case has would compare nothing: most likely the name is misspelt. */
function findUnusedOutput({ outputs, cases }: GoldenManifest): SchemaProblem | null {
	const named = new Set(cases.flatMap((golden) => Object.keys(golden.outputs)));
	return firstOf(Object.keys(outputs), (name) => {
		if (named.has(name)) return null;
		const names = [...named].map((known) => formatName(known)).join(", ");
		return {
			pointer: childPointer("/outputs", name),
			expected: `an output of the cases: ${names}`,
			got: formatName(name),
		};
	});
}

function findBadComparator({ outputs, cases }: GoldenManifest): SchemaProblem | null {
	const dtypesOf = (name: string): DType[] =>
		cases.flatMap((golden) =>
			Object.hasOwn(golden.outputs, name) ? [golden.outputs[name]?.dtype ?? []].flat() : [],
		);
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(output.comparators ?? [], (spec, index) => {
			const problem = comparatorProblem(spec, output, dtypesOf(name));
			return problem === null
				? null
				: { ...problem, pointer: `${childPointer("/outputs", name)}/comparators/${index}${problem.pointer}` };
		}),
	);
}

function findBadAxis({ outputs, cases }: GoldenManifest): SchemaProblem | null {
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(cases, (golden) => axisProblem(output, childPointer("/outputs", name), fileOf(golden, name))),
	);
}

function fileOf(golden: GoldenCase, name: string): TensorFile | undefined {
	return Object.hasOwn(golden.outputs, name) ? golden.outputs[name] : undefined;
}

function axisProblem(
	output: GoldenOutput,
	pointer: string,
	file: TensorFile | undefined,
): SchemaProblem | null {
	if (file === undefined) return null;
	const rank = file.shape.length;
	const batchAxis = output.batchAxis ?? null;
	if (batchAxis !== null && batchAxis >= rank) {
		return {
			pointer: `${pointer}/batchAxis`,
			expected: `an axis of the output, which has ${rank}`,
			got: String(batchAxis),
		};
	}
	return firstOf(output.comparators ?? [], (spec, index) => {
		const problem = layoutProblem(spec, file, batchAxis);
		return problem === null
			? null
			: { ...problem, pointer: `${pointer}/comparators/${index}${problem.pointer}` };
	});
}

function findBadLabels(manifest: GoldenManifest): SchemaProblem | null {
	for (const [index, golden] of manifest.cases.entries()) {
		const problem = badLabels(manifest, golden) ?? missingLabels(manifest, golden);
		if (problem !== null) return { ...problem, pointer: `/cases/${index}/labels${problem.pointer}` };
	}
	return null;
}

/** Unread labels are most likely misspelt. */
function badLabels({ outputs }: GoldenManifest, golden: GoldenCase): SchemaProblem | null {
	for (const [name, labels] of Object.entries(golden.labels ?? {})) {
		const specs = accuracyOf(Object.hasOwn(outputs, name) ? outputs[name] : undefined);
		const file = Object.hasOwn(golden.outputs, name) ? golden.outputs[name] : undefined;
		const pointer = childPointer("", name);
		if (specs.length === 0 || file === undefined) {
			return {
				pointer,
				expected: "an output of the case with the comparator accuracy",
				got: formatName(name),
			};
		}
		const rows = specs.map((spec) => rowsOf(file, spec)).find((count) => count !== labels.length);
		if (rows !== undefined)
			return { pointer, expected: `${rows} labels, one for each row`, got: String(labels.length) };
	}
	return null;
}

function missingLabels({ outputs }: GoldenManifest, golden: GoldenCase): SchemaProblem | null {
	const unlabelled = Object.entries(outputs).find(
		([name, output]) =>
			accuracyOf(output).length > 0 &&
			Object.hasOwn(golden.outputs, name) &&
			!Object.hasOwn(golden.labels ?? {}, name),
	);
	if (unlabelled === undefined) return null;
	return {
		pointer: "",
		expected: `labels of ${formatName(unlabelled[0])}, which accuracy compares`,
		got: "none",
	};
}

function accuracyOf(output: GoldenOutput | undefined): ComparatorSpec[] {
	return (output?.comparators ?? []).filter((spec) => spec.kind === "accuracy");
}

/** Of integers every element is an answer. */
function rowsOf(file: { dtype: DType; shape: readonly number[] }, spec: ComparatorSpec): number {
	const shape = slicedShape(spec.slice, file.shape);
	const elements = elementCount(shape);
	if (!isFloating(file.dtype) || elements === 0) return elements;
	return elements / (shape[axisFromStart(spec.axis ?? -1, shape.length)] ?? 1);
}

function findBadDetections({ detections, cases }: GoldenManifest): SchemaProblem | null {
	const names = new Set<string>();
	for (const [index, spec] of (detections ?? []).entries()) {
		const pointer = `/detections/${index}`;
		if (names.has(spec.name))
			return { pointer: `${pointer}/name`, expected: "a unique name", got: formatName(spec.name) };
		names.add(spec.name);
		const problem = groupProblem(spec, cases) ?? limitsProblem(spec);
		if (problem !== null) return { ...problem, pointer: `${pointer}${problem.pointer}` };
	}
	return null;
}

function groupProblem(spec: Detections, cases: readonly GoldenCase[]): SchemaProblem | null {
	if (spec.classes !== undefined && spec.scores === undefined) {
		return {
			pointer: "/classes",
			expected: "no classes, because boxes already hold score and class",
			got: formatName(spec.classes),
			fix: 'Add "scores", or remove "classes".',
		};
	}
	for (const key of ["boxes", "scores", "classes", "count"] as const) {
		const name = spec[key];
		const without =
			name === undefined ? undefined : cases.find((golden) => !Object.hasOwn(golden.outputs, name));
		if (without !== undefined)
			return {
				pointer: `/${key}`,
				expected: `an output of case ${formatName(without.id)}`,
				got: formatName(name ?? ""),
			};
	}
	const columns = spec.scores === undefined ? 6 : 4;
	const shape = cases
		.map((golden) => golden.outputs[spec.boxes]?.shape ?? [])
		.find((sizes) => sizes.length < 2 || sizes.at(-1) !== columns);
	return shape === undefined
		? null
		: {
				pointer: "/boxes",
				expected: `an output of [images, boxes, ${columns}]`,
				got: `[${shape.join(", ")}]`,
			};
}

const shares: ReadonlySet<BoxComparatorKind> = new Set(["box-f1", "box-iou", "map"]);

function limitsProblem({ comparators }: Detections): SchemaProblem | null {
	for (const [index, spec] of (comparators ?? []).entries()) {
		const problem = scopeProblem(spec) ?? limitProblem(spec);
		if (problem !== null)
			return { ...problem, pointer: childPointer("/comparators", String(index)) + problem.pointer };
	}
	return null;
}

function scopeProblem({ kind, scope }: BoxComparatorSpec): SchemaProblem | null {
	if (scope !== "set" || boxKinds[kind].set !== undefined) return null;
	const boxSetKinds = Object.entries(boxKinds).flatMap(([name, { set }]) =>
		set === undefined ? [] : [name],
	);
	const fix = `Remove the key; the worst case decides. Kinds over the set: ${boxSetKinds.join(", ")}.`;
	return { pointer: "/scope", expected: `whole for ${kind}`, got: "set", fix };
}

function limitProblem({ kind, tolerance }: BoxComparatorSpec): SchemaProblem | null {
	const limits = typeof tolerance === "number" ? [tolerance] : Object.values(tolerance ?? {});
	if (!shares.has(kind)) return null;
	const bad = limits.find((limit) => limit > 1 || limit === 0);
	return bad === undefined
		? null
		: { pointer: "/tolerance", expected: "a limit above 0 and up to 1", got: String(bad) };
}
