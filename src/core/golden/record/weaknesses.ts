// Finds what makes a golden weak whatever its limits are: few cases, one class, a saturated softmax, outputs that never change.

import type { GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import { quoteName } from "../../onnx/quote.ts";
import { makePair } from "../compare/difference.ts";
import { topIndices } from "../metrics/classification.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, type Tensor } from "../tensor/tensor.ts";
import { forEachValue, tensorStatistics } from "../tensor/values.ts";
import type { RunOutputs } from "./noise-floor.ts";
import type { Insensitive } from "./sensitivity.ts";

export interface Weakness extends Omit<Insensitive, "kind"> {
	kind:
		| Insensitive["kind"]
		| "saturated"
		| "one-class"
		| "one-case"
		| "unnoticed"
		| "unseen"
		| "hidden"
		| "unmeasured";
	/** refuse: the golden detects nothing. warn: it detects less than it could. */
	severity: "refuse" | "warn";
}

interface Recorded {
	manifest: GoldenManifest;
	cases: RunOutputs;
}

/** Warnings beyond findInsensitive: the trial decides how much they matter. */
export function findWeaknesses(recorded: Recorded): Weakness[] {
	return [...outputsOf(recorded).flatMap(findInOutput), ...findLonely(recorded)];
}

interface OutputOfCases {
	name: string;
	spec: GoldenOutput;
	/** Of all cases, with more than one element. */
	tensors: Tensor[];
	/** Of the classes. */
	axis: number;
}

function outputsOf({ manifest, cases }: Recorded): OutputOfCases[] {
	return Object.entries(manifest.outputs).map(([name, spec]) => {
		const tensors = cases
			.flatMap((outputs) => outputs[name] ?? [])
			.filter((tensor) => elementCount(tensor.shape) > 1);
		return {
			name,
			spec,
			tensors,
			axis: spec.comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1,
		};
	});
}

function findInOutput(output: OutputOfCases): Weakness[] {
	if (output.tensors.length === 0) return [];
	return [...findConstant(output), ...findSaturated(output), ...findOneClass(output)];
}

function findConstant({ name, tensors }: OutputOfCases): Weakness[] {
	const value = constantOf(tensors);
	if (value === null) return [];
	const message = `output ${quoteName(name)} is ${value} everywhere in every case: it is compared, but left out of what the golden has to notice`;
	return [
		{
			kind: "constant",
			severity: "warn",
			output: name,
			message,
			fix: "Give inputs on which it varies, and it counts.",
		},
	];
}

/** The one value of an output in all its elements and cases; null: it varies, or has one element. */
export function constantOf(tensors: readonly Tensor[]): number | null {
	const [value = null, ...others] = new Set(
		tensors.flatMap((tensor) => {
			const { min, max, nan, inf } = tensorStatistics(tensor);
			return nan + inf > 0 || elementCount(tensor.shape) < 2 ? [null, Number.NaN] : [min, max];
		}),
	);
	return others.length === 0 ? value : null;
}

/** So near to certainty that the other classes are lost to rounding of binary16. */
const certain = 1 - 2 ** -11;

/** Probabilities that are 0 and 1 throughout: the softmax hides errors of the layers before it. */
function findSaturated({ name, spec, tensors, axis }: OutputOfCases): Weakness[] {
	if (spec.semantic !== "probabilities" || !tensors.every((tensor) => isSaturated(tensor, axis))) return [];
	return [
		{
			kind: "saturated",
			severity: "warn",
			output: name,
			message: `output ${quoteName(name)} is a softmax that saturates in every row of every case, which hides errors of the layers before it`,
			fix: "Make the logits an output of the model and record those, or give inputs on which the model is less certain.",
		},
	];
}

function isSaturated(tensor: Tensor, axis: number): boolean {
	const { shape } = tensor;
	const classes = shape.at(axis) ?? 1;
	const rows = elementCount(shape) / classes;
	let sure = 0;
	forEachValue(tensor, (value) => {
		if (value >= certain) sure += 1;
	});
	return classes > 1 && sure >= rows;
}

/** Only of outputs that say they are logits or probabilities, and of at least two cases. */
function findOneClass({ name, spec, tensors, axis }: OutputOfCases): Weakness[] {
	if ((spec.semantic !== "logits" && spec.semantic !== "probabilities") || tensors.length < 2) return [];
	const chosen = new Set<number>();
	let choices = 0;
	for (const tensor of tensors) {
		if (chosen.size > 1) return [];
		forEachRow(makePair(tensor, tensor), axis, (row) => {
			choices = Math.max(choices, row.length);
			if (chosen.size < 2) chosen.add(topIndices(row, 1)[0] ?? 0);
		});
	}
	if (chosen.size !== 1 || choices < 2) return [];
	return [
		{
			kind: "one-class",
			severity: "warn",
			output: name,
			message: `output ${quoteName(name)} chooses class ${[...chosen][0]} in every row of every case`,
			fix: "Add cases of other classes, so that a network with a constant output fails.",
		},
	];
}

function findLonely({ manifest, cases }: Recorded): Weakness[] {
	if (cases.length !== 1) return [];
	const message = `there is only one case, ${quoteName(manifest.cases[0]?.id ?? "")}`;
	return [
		{ kind: "one-case", severity: "warn", message, fix: "Add cases: a fault may not affect every input." },
	];
}
