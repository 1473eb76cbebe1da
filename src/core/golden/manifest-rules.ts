// The rules of a golden manifest that no schema can say: each finds the first problem, or null.
import { childPointer, formatName } from "../config/pointer.ts";
import type { ComparatorSpec, GoldenCase, GoldenManifest, GoldenOutput, TensorFile } from "../schema/golden.ts";
import type { ManifestProblem } from "./manifest-schema.ts";
import { axisFromStart } from "./rows.ts";
import { elementBytes, elementCount } from "./tensor.ts";

type Rule = (manifest: GoldenManifest) => ManifestProblem | null;

export function findRuleProblem(manifest: GoldenManifest): ManifestProblem | null {
	const rules: readonly Rule[] = [findDuplicateCase, findBadFile, findEmptyCase, findUnusedOutput, findBadComparator, findBadAxis];
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
	const bytes = elementCount(file.shape) * elementBytes[file.dtype];
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

function findBadComparator({ outputs }: GoldenManifest): ManifestProblem | null {
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(output.comparators ?? [], (spec, index) => {
			const problem = comparatorProblem(spec, output);
			return problem === null ? null : { ...problem, pointer: `${childPointer("/outputs", name)}/comparators/${index}${problem.pointer}` };
		}),
	);
}

/** Keys that only some kinds read: a tolerance that nothing reads would be a gate that is not there. */
const keysOf: Readonly<Record<string, readonly ComparatorSpec["kind"][]>> = {
	rtol: ["allclose"],
	atol: ["allclose"],
	k: ["top-k"],
	axis: ["top-k", "kl"],
	input: ["kl"],
};

function comparatorProblem(spec: ComparatorSpec, output: GoldenOutput): ManifestProblem | null {
	const stray = Object.keys(keysOf).find((key) => Object.hasOwn(spec, key) && !keysOf[key]?.includes(spec.kind));
	if (stray !== undefined)
		return { pointer: `/${stray}`, expected: `no such key for ${spec.kind}`, got: `the key ${stray}`, fix: "Remove the key." };
	const distribution = output.semantic === "logits" || output.semantic === "probabilities";
	if (spec.kind === "kl" && spec.input === undefined && !distribution) {
		return { pointer: "/input", expected: "logits or probabilities", got: "missing", fix: 'Add "input", or the output\'s "semantic".' };
	}
	if (spec.scope === "per-sample" && typeof output.batchAxis !== "number") {
		return {
			pointer: "/scope",
			expected: "per-sample only with the output's batchAxis",
			got: "no batchAxis",
			fix: 'Add "batchAxis" to the output.',
		};
	}
	return shareProblem(spec);
}

/** Limits that every output keeps. */
function shareProblem(spec: ComparatorSpec): ManifestProblem | null {
	const tolerances = typeof spec.tolerance === "number" ? [spec.tolerance] : Object.values(spec.tolerance ?? {});
	const share = spec.kind === "allclose" || spec.kind === "top-k" || spec.kind === "cosine";
	const beyond = share ? tolerances.find((tolerance) => tolerance > 1) : undefined;
	if (beyond !== undefined) return { pointer: "/tolerance", expected: "a limit from 0 to 1", got: String(beyond) };
	const empty = (spec.kind === "allclose" && tolerances.includes(1)) || (spec.kind === "top-k" && tolerances.includes(0));
	if (!empty) return null;
	return { pointer: "/tolerance", expected: "a limit that some output breaks", got: `one that ${spec.kind} always keeps` };
}

function findBadAxis({ outputs, cases }: GoldenManifest): ManifestProblem | null {
	return firstOf(Object.entries(outputs), ([name, output]) =>
		firstOf(cases, (golden) => axisProblem(output, childPointer("/outputs", name), rankOf(golden, name))),
	);
}

function rankOf(golden: GoldenCase, name: string): number | undefined {
	return Object.hasOwn(golden.outputs, name) ? golden.outputs[name]?.shape.length : undefined;
}

function axisProblem(output: GoldenOutput, pointer: string, rank: number | undefined): ManifestProblem | null {
	if (rank === undefined) return null;
	const batchAxis = output.batchAxis ?? null;
	if (batchAxis !== null && batchAxis >= rank) {
		return { pointer: `${pointer}/batchAxis`, expected: `an axis of the output, which has ${rank}`, got: String(batchAxis) };
	}
	return firstOf(output.comparators ?? [], (spec, index) => {
		if (spec.kind !== "top-k" && spec.kind !== "kl") return null;
		const axis = axisFromStart(spec.axis ?? -1, rank);
		const place = `${pointer}/comparators/${index}/axis`;
		if (axis < 0) return { pointer: place, expected: `an axis of the output, which has ${rank}`, got: String(spec.axis ?? -1) };
		const sliced = spec.scope === "per-sample" || (spec.scope === undefined && spec.kind === "kl");
		if (axis !== batchAxis || !sliced) return null;
		return { pointer: place, expected: "another axis than the batch axis", got: String(spec.axis ?? -1) };
	});
}
