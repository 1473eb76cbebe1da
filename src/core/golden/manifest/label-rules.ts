// The rules of labels: every case that is compared by accuracy has one for each row, and no labels lie unread.
import { childPointer, formatName } from "../../config/pointer.ts";
import type { ComparatorSpec, DType, GoldenCase, GoldenManifest, GoldenOutput } from "../../schema/golden.ts";
import { axisFromStart } from "../tensor/rows.ts";
import { elementCount, isFloating } from "../tensor/tensor.ts";
import type { ManifestProblem } from "./schema-errors.ts";

export function findBadLabels(manifest: GoldenManifest): ManifestProblem | null {
	for (const [index, golden] of manifest.cases.entries()) {
		const problem = badLabels(manifest, golden) ?? missingLabels(manifest, golden);
		if (problem !== null) return { ...problem, pointer: `/cases/${index}/labels${problem.pointer}` };
	}
	return null;
}

/** Labels that nothing reads are most likely misspelt. */
function badLabels({ outputs }: GoldenManifest, golden: GoldenCase): ManifestProblem | null {
	for (const [name, labels] of Object.entries(golden.labels ?? {})) {
		const specs = accuracyOf(Object.hasOwn(outputs, name) ? outputs[name] : undefined);
		const file = Object.hasOwn(golden.outputs, name) ? golden.outputs[name] : undefined;
		const pointer = childPointer("", name);
		if (specs.length === 0 || file === undefined) {
			return { pointer, expected: "an output of the case with the comparator accuracy", got: formatName(name) };
		}
		const rows = specs.map((spec) => rowsOf(file, spec)).find((count) => count !== labels.length);
		if (rows !== undefined) return { pointer, expected: `${rows} labels, one for each row`, got: String(labels.length) };
	}
	return null;
}

function missingLabels({ outputs }: GoldenManifest, golden: GoldenCase): ManifestProblem | null {
	const unlabelled = Object.entries(outputs).find(
		([name, output]) => accuracyOf(output).length > 0 && Object.hasOwn(golden.outputs, name) && !Object.hasOwn(golden.labels ?? {}, name),
	);
	if (unlabelled === undefined) return null;
	return { pointer: "", expected: `labels of ${formatName(unlabelled[0])}, which accuracy compares`, got: "none" };
}

function accuracyOf(output: GoldenOutput | undefined): ComparatorSpec[] {
	return (output?.comparators ?? []).filter((spec) => spec.kind === "accuracy");
}

/** Of integers every element is an answer. */
function rowsOf(file: { dtype: DType; shape: readonly number[] }, spec: ComparatorSpec): number {
	const elements = elementCount(file.shape);
	if (!isFloating(file.dtype) || elements === 0) return elements;
	return elements / (file.shape[axisFromStart(spec.axis ?? -1, file.shape.length)] ?? 1);
}
