// Finds goldens that could not fail: not finite, constant, the same for every input, or of one class only.
import { ConfigError } from "../errors.ts";
import { quoteName } from "../onnx/quote.ts";
import type { GoldenManifest, GoldenOutput } from "../schema/golden.ts";
import { makePair } from "./difference.ts";
import { sameBytes } from "./kernels.ts";
import { topIndices } from "./metrics/top-k.ts";
import { forEachRow } from "./rows.ts";
import { elementCount, isFloating, type Tensor, type TensorSet, tensorMap } from "./tensor.ts";
import { float64Reader, forEachChunk } from "./values.ts";

export interface Uninformative {
	/** non-finite: NaN or infinities where the golden allows none, or nothing else. */
	kind: "non-finite" | "constant" | "same-for-all" | "one-class";
	/** Absent: all outputs. */
	output?: string;
	/** Absent: all cases. */
	case?: string;
	message: string;
	fix: string;
}

const recordAgain = "Record the golden with other inputs, or mend the model that made it.";

/**
 * What makes the golden unable to tell a right engine from a wrong one. `cases` are the outputs in the order of the manifest's cases.
 *
 * A float output is refused where it has one value throughout all cases, such as the zeros of a dead layer; one constant case among
 * others is fine, and so is a constant integer or bool (a count, a flag) as long as some other output varies. Outputs that do not
 * depend on the input are refused only where none of the outputs does.
 */
export function findUninformative(manifest: GoldenManifest, cases: readonly TensorSet[]): Uninformative[] {
	const maps = cases.map(tensorMap);
	const names = [...new Set(maps.flatMap((outputs) => [...outputs.keys()]))];
	const nonFinite = maps.flatMap((outputs, index) => findNonFinite(manifest, manifest.cases[index]?.id ?? String(index), outputs));
	if (nonFinite.length > 0) return nonFinite;
	const byName = names.map((name) => ({ name, tensors: maps.flatMap((outputs) => outputs.get(name) ?? []) }));
	return [...findConstant(byName), ...findSameForAll(maps), ...byName.flatMap((output) => findOneClass(manifest, output))];
}

/** @throws ConfigError golden-uninformative for the first finding of findUninformative. */
export function assertInformative(manifest: GoldenManifest, cases: readonly TensorSet[]): void {
	const [first, ...others] = findUninformative(manifest, cases);
	if (first === undefined) return;
	const more = others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "finding" : "findings"})`;
	throw new ConfigError({
		code: "golden-uninformative",
		message: `Golden ${manifest.goldenId} cannot fail: ${first.message}${more}.`,
		details: { fix: first.fix },
	});
}

function findNonFinite(manifest: GoldenManifest, id: string, outputs: ReadonlyMap<string, Tensor>): Uninformative[] {
	return [...outputs].flatMap(([name, tensor]) => {
		const { elements, nonFinite } = makePair(tensor, tensor).difference();
		if (nonFinite.expected === 0) return [];
		const mustMatch = specOf(manifest, name)?.nonFinite === "must-match";
		if (mustMatch && elements > 0) return [];
		const values = elements === 0 ? "nothing but NaN or infinite values" : `NaN or infinite values (${nonFinite.expected})`;
		const message = `output ${quoteName(name)} of case ${quoteName(id)} holds ${values}`;
		const allow = elements === 0 ? "" : " Where such values are right, set nonFinite: must-match for the output.";
		return [{ kind: "non-finite" as const, output: name, case: id, message, fix: `${recordAgain}${allow}` }];
	});
}

interface NamedOutputs {
	name: string;
	/** One for each case that has the output. */
	tensors: readonly Tensor[];
}

function findConstant(outputs: readonly NamedOutputs[]): Uninformative[] {
	const filled = outputs.filter(({ tensors }) => elementsOf(tensors) > 0);
	const constant = filled.filter(({ tensors }) => elementsOf(tensors) > 1 && isConstant(tensors));
	const all = constant.length === filled.length;
	const refused = constant.filter(({ tensors }) => all || tensors.some((tensor) => isFloating(tensor.dtype)));
	return refused.map(({ name, tensors }) => ({
		kind: "constant",
		output: name,
		message: `output ${quoteName(name)} is ${firstValue(tensors)} everywhere in every case`,
		fix: recordAgain,
	}));
}

function elementsOf(tensors: readonly Tensor[]): number {
	return tensors.reduce((sum, tensor) => sum + elementCount(tensor.shape), 0);
}

function firstValue(tensors: readonly Tensor[]): number {
	const filled = tensors.find((tensor) => elementCount(tensor.shape) > 0);
	return filled === undefined ? Number.NaN : (float64Reader(filled)(0, 1)[0] ?? Number.NaN);
}

function isConstant(tensors: readonly Tensor[]): boolean {
	const first = firstValue(tensors);
	return tensors.every((tensor) => {
		const read = float64Reader(tensor);
		let constant = true;
		forEachChunk(elementCount(tensor.shape), (start, count) => {
			constant &&= read(start, count).every((value) => value === first);
		});
		return constant;
	});
}

function findSameForAll(cases: readonly ReadonlyMap<string, Tensor>[]): Uninformative[] {
	const [first, ...others] = cases;
	if (first === undefined || others.length === 0) return [];
	const same = others.every(
		(outputs) => outputs.size === first.size && [...outputs].every(([name, tensor]) => isSame(tensor, first.get(name))),
	);
	if (!same) return [];
	const message = `all ${cases.length} cases have the same outputs, so the inputs make no difference`;
	return [{ kind: "same-for-all", message, fix: recordAgain }];
}

function isSame(left: Tensor, right: Tensor | undefined): boolean {
	return right !== undefined && sameBytes(left.data, right.data);
}

/** Only of outputs that say they are logits or probabilities, over at least two cases. */
function findOneClass(manifest: GoldenManifest, { name, tensors }: NamedOutputs): Uninformative[] {
	const spec = specOf(manifest, name);
	if (tensors.length < 2 || (spec?.semantic !== "logits" && spec?.semantic !== "probabilities")) return [];
	const axis = spec.comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1;
	const classes = new Set<number>();
	let choices = 0;
	for (const tensor of tensors) {
		forEachRow(makePair(tensor, tensor), axis, (row) => {
			choices = Math.max(choices, row.length);
			classes.add(topIndices(row, 1)[0] ?? 0);
		});
	}
	if (choices < 2 || classes.size !== 1) return [];
	const message = `output ${quoteName(name)} chooses class ${[...classes][0]} in every row of every case`;
	return [
		{
			kind: "one-class",
			output: name,
			message,
			fix: "Add cases of other classes (real inputs, as `golden record --inputs` takes them), so that a network that always answers the same is found out.",
		},
	];
}

function specOf(manifest: GoldenManifest, name: string): GoldenOutput | undefined {
	return Object.hasOwn(manifest.outputs, name) ? manifest.outputs[name] : undefined;
}
