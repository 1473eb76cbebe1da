// The rules of a golden manifest that no schema can say: each finds the first problem, or null.
import { childPointer, formatName } from "../../config/pointer.ts";
import type { DType, GoldenCase, GoldenManifest, GoldenOutput, TensorFile } from "../../schema/golden.ts";
import { findBadDetections } from "../boxes/box-rules.ts";
import { elementCount, tensorBytes } from "../tensor/tensor.ts";
import { classAxisProblem, comparatorProblem } from "./comparator-rules.ts";
import { findBadLabels } from "./label-rules.ts";
import type { ManifestProblem } from "./schema-errors.ts";

type Rule = (manifest: GoldenManifest) => ManifestProblem | null;

export function findRuleProblem(manifest: GoldenManifest): ManifestProblem | null {
	const rules: readonly Rule[] = [
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

function firstOf<Item>(items: Iterable<Item>, find: (item: Item, index: number) => ManifestProblem | null): ManifestProblem | null {
	let index = 0;
	for (const item of items) {
		const problem = find(item, index);
		if (problem !== null) return problem;
		index += 1;
	}
	return null;
}

function findDuplicateCase({ cases }: GoldenManifest): ManifestProblem | null {
	const seen = new Map<string, number>();
	return firstOf(cases, ({ id }, index) => {
		const before = seen.get(id);
		if (before !== undefined) return { pointer: `/cases/${index}/id`, expected: "an id of its own", got: `that of /cases/${before}` };
		seen.set(id, index);
		return null;
	});
}

function findBadFile({ cases }: GoldenManifest): ManifestProblem | null {
	return firstOf(cases, (golden, index) =>
		firstOf(["inputs", "outputs"] as const, (side) =>
			firstOf(Object.entries(golden[side]), ([name, file]) => fileProblem(file, childPointer(`/cases/${index}/${side}`, name))),
		),
	);
}

/** More bytes than this in one tensor and no reader of ours takes it. */
const maxTensorBytes = 2 ** 32;

function fileProblem(file: TensorFile, pointer: string): ManifestProblem | null {
	if (escapes(file.path)) {
		return { pointer: `${pointer}/path`, expected: "a path inside the manifest's folder", got: formatName(file.path) };
	}
	const bytes = tensorBytes(file);
	if (bytes <= maxTensorBytes) return null;
	return { pointer: `${pointer}/shape`, expected: `a tensor of at most ${maxTensorBytes} bytes`, got: `${bytes} bytes` };
}

/** Absolute, by drive, upwards, or in a notation that another system would read as one of these. */
function escapes(path: string): boolean {
	return /^\/|^[A-Za-z]:|\\|\0/.test(path) || path.split("/").includes("..");
}

function findEmptyCase({ cases }: GoldenManifest): ManifestProblem | null {
	return firstOf(cases, ({ outputs }, index) => {
		const compared = Object.values(outputs).some((file) => elementCount(file.shape) > 0);
		if (compared) return null;
		return { pointer: `/cases/${index}/outputs`, expected: "an output with at least one element", got: "nothing that could be compared" };
	});
}

/** Comparators for an output that no case has would compare nothing: most likely the name is misspelt. */
function findUnusedOutput({ outputs, cases }: GoldenManifest): ManifestProblem | null {
	const named = new Set(cases.flatMap((golden) => Object.keys(golden.outputs)));
	return firstOf(Object.keys(outputs), (name) => {
		if (named.has(name)) return null;
		const names = [...named].map((known) => formatName(known)).join(", ");
		return { pointer: childPointer("/outputs", name), expected: `an output of the cases: ${names}`, got: formatName(name) };
	});
}

function findBadComparator({ outputs, cases }: GoldenManifest): ManifestProblem | null {
	const dtypesOf = (name: string): DType[] =>
		cases.flatMap((golden) => (Object.hasOwn(golden.outputs, name) ? [golden.outputs[name]?.dtype ?? []].flat() : []));
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(output.comparators ?? [], (spec, index) => {
			const problem = comparatorProblem(spec, output, dtypesOf(name));
			return problem === null ? null : { ...problem, pointer: `${childPointer("/outputs", name)}/comparators/${index}${problem.pointer}` };
		}),
	);
}

function findBadAxis({ outputs, cases }: GoldenManifest): ManifestProblem | null {
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(cases, (golden) => axisProblem(output, childPointer("/outputs", name), fileOf(golden, name))),
	);
}

function fileOf(golden: GoldenCase, name: string): TensorFile | undefined {
	return Object.hasOwn(golden.outputs, name) ? golden.outputs[name] : undefined;
}

function axisProblem(output: GoldenOutput, pointer: string, file: TensorFile | undefined): ManifestProblem | null {
	if (file === undefined) return null;
	const rank = file.shape.length;
	const batchAxis = output.batchAxis ?? null;
	if (batchAxis !== null && batchAxis >= rank) {
		return { pointer: `${pointer}/batchAxis`, expected: `an axis of the output, which has ${rank}`, got: String(batchAxis) };
	}
	return firstOf(output.comparators ?? [], (spec, index) => {
		const problem = classAxisProblem(spec, file, batchAxis);
		return problem === null ? null : { ...problem, pointer: `${pointer}/comparators/${index}${problem.pointer}` };
	});
}
