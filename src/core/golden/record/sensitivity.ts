// Finds goldens that cannot fail (not finite, constant, or the same for every input), and what makes a golden weak whatever its limits are.

import type { GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import { ConfigError } from "../../errors.ts";
import { groupBy } from "../../group.ts";
import { quoteName } from "../../onnx/quote.ts";
import { counted } from "../../text/labels.ts";
import { makePair } from "../compare/difference.ts";
import { topIndices } from "../metrics/classification.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, type Tensor, type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { everyValue, float64Reader, forEachValue, tensorStatistics } from "../tensor/values.ts";
import type { RunOutputs } from "./noise-floor.ts";

export interface Insensitive {
	kind: "non-finite" | "constant" | "same-for-all";
	/** Absent: all outputs. */
	output?: string;
	/** Absent: all cases. */
	case?: string;
	message: string;
	fix: string;
}

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
	severity: "refuse" | "warn";
}

const recordAgain = "Record the golden with other inputs, or fix the model that made it.";

/**
 * Finds why the golden cannot tell a correct engine from a wrong one. It takes the outputs case by case, in the order of the
 * manifest, and keeps at most those of the first.
 *
 * Outputs that have one value throughout all cases, such as the zeros of a dead layer, are refused only where all of them do.
 * What a golden notices beyond that, the recorder finds out by trial.
 */
export function watchSensitivity(manifest: GoldenManifest): {
	see(outputs: TensorSet): void;
	findings(): Insensitive[];
} {
	const watches = new Map<string, OutputWatch>();
	const nonFinite: Insensitive[] = [];
	let seen = 0;
	/** Outputs of the first case; null once a case differs. */
	let first: ReadonlyMap<string, Tensor> | null = null;
	return {
		see(set) {
			const tensors = tensorMap(set);
			nonFinite.push(...findNonFinite(manifest, manifest.cases[seen]?.id ?? String(seen), tensors));
			if (seen === 0) first = tensors;
			else if (first !== null && !isSame(first, tensors)) first = null;
			seen += 1;
			for (const [name, tensor] of tensors) {
				const watch = watches.get(name) ?? { elements: 0, first: Number.NaN, constant: true };
				watches.set(name, watch);
				watchTensor(watch, tensor);
			}
		},
		findings() {
			if (nonFinite.length > 0) return firstOfEach(nonFinite);
			const filled = [...watches].filter(([, { elements }]) => elements > 0);
			const constant = filled.filter(([, watch]) => watch.elements > 1 && watch.constant);
			const findings =
				constant.length < filled.length
					? []
					: constant.map(([output, watch]): Insensitive => {
							const message = `output ${quoteName(output)} is ${watch.first} everywhere in every case`;
							return { kind: "constant", output, message, fix: recordAgain };
						});
			if (seen > 1 && first !== null) {
				const message = `all ${seen} cases have the same outputs, so the inputs have no effect`;
				findings.push({ kind: "same-for-all", message, fix: recordAgain });
			}
			return findings;
		},
	};
}

interface OutputWatch {
	elements: number;
	first: number;
	constant: boolean;
}

function watchTensor(watch: OutputWatch, tensor: Tensor): void {
	const count = elementCount(tensor.shape);
	if (watch.elements === 0 && count > 0) watch.first = float64Reader(tensor)(0, 1)[0] ?? Number.NaN;
	watch.elements += count;
	watch.constant &&= everyValue(tensor, (value) => value === watch.first);
}

function isSame(left: ReadonlyMap<string, Tensor>, right: ReadonlyMap<string, Tensor>): boolean {
	if (left.size !== right.size) return false;
	return [...right].every(([name, { data }]) => {
		const other = left.get(name);
		return other !== undefined && Buffer.compare(data, other.data) === 0;
	});
}

function firstOfEach(findings: readonly Insensitive[]): Insensitive[] {
	return [...groupBy(findings, ({ output }) => output).values()].flatMap(([first, ...others]) => {
		if (first === undefined) return [];
		const more = others.length === 0 ? "" : `, and so do ${counted(others.length, "more case")}`;
		return [{ ...first, message: `${first.message}${more}` }];
	});
}

export function findInsensitive(manifest: GoldenManifest, cases: readonly TensorSet[]): Insensitive[] {
	const watch = watchSensitivity(manifest);
	for (const outputs of cases) watch.see(outputs);
	return watch.findings();
}

/** @throws ConfigError golden-uninformative for the first of the findings. */
export function refuseInsensitive({ goldenId }: GoldenManifest, findings: readonly Insensitive[]): void {
	const [first, ...others] = findings;
	if (first === undefined) return;
	const more = others.length === 0 ? "" : ` (and ${counted(others.length, "more finding")})`;
	throw new ConfigError({
		code: "golden-uninformative",
		message: `Golden ${goldenId} cannot fail: ${first.message}${more}.`,
		fix: first.fix,
	});
}

function findNonFinite(
	{ outputs }: GoldenManifest,
	id: string,
	tensors: ReadonlyMap<string, Tensor>,
): Insensitive[] {
	return [...tensors].flatMap(([name, tensor]): Insensitive[] => {
		const { elements, nonFinite } = makePair(tensor, tensor).difference();
		if (nonFinite.expected === 0) return [];
		const isAllowed = Object.hasOwn(outputs, name) && outputs[name]?.nonFinite === "must-match";
		if (isAllowed && elements > 0) return [];
		const [values, allow] =
			elements === 0
				? ["nothing but NaN or infinite values", ""]
				: [
						`NaN or infinite values (${nonFinite.expected})`,
						` If such values are correct, use \`--non-finite ${quoteName(name, "")}\` when recording, or \`"nonFinite": "must-match"\` for the output in golden.json.`,
					];
		const message = `output ${quoteName(name)} of case ${quoteName(id)} holds ${values}`;
		return [{ kind: "non-finite", output: name, case: id, message, fix: `${recordAgain}${allow}` }];
	});
}

/** Warnings beyond findInsensitive: few cases, one class, a saturated softmax, outputs that never change. */
export function findWeaknesses(manifest: GoldenManifest, cases: RunOutputs): Weakness[] {
	const found = Object.entries(manifest.outputs).flatMap(([name, spec]) => {
		const tensors = cases.flatMap((outputs) => outputs[name] ?? []);
		const filled = tensors.filter((tensor) => elementCount(tensor.shape) > 1);
		return filled.length === 0 ? [] : findInOutput(name, spec, filled);
	});
	if (cases.length !== 1) return found;
	const message = `there is only one case, ${quoteName(manifest.cases[0]?.id ?? "")}`;
	const fix = "Add cases: a fault may not affect every input.";
	return [...found, { kind: "one-case", severity: "warn", message, fix }];
}

function findInOutput(output: string, spec: GoldenOutput, tensors: readonly Tensor[]): Weakness[] {
	const axis = spec.comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1;
	const found: Weakness[] = [];
	const warn = (kind: Weakness["kind"], message: string, fix: string): void => {
		found.push({
			kind,
			severity: "warn",
			output,
			message: `output ${quoteName(output)} ${message}`,
			fix,
		});
	};
	const value = constantOf(tensors);
	if (value !== null)
		warn(
			"constant",
			`is ${value} everywhere in every case: it is compared, but left out of what the golden has to notice`,
			"Give inputs on which it varies, and it counts.",
		);
	if (spec.semantic === "probabilities" && tensors.every((tensor) => isSaturated(tensor, axis)))
		warn(
			"saturated",
			"is a softmax that saturates in every row of every case, which hides errors of the layers before it",
			"Make the logits an output of the model and record those, or give inputs on which the model is less certain.",
		);
	const isClasses = spec.semantic === "logits" || spec.semantic === "probabilities";
	const only = isClasses && tensors.length > 1 ? onlyClass(tensors, axis) : null;
	if (only !== null)
		warn(
			"one-class",
			`chooses class ${only} in every row of every case`,
			"Add cases of other classes, so that a network with a constant output fails.",
		);
	return found;
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

const certain = 1 - 2 ** -11;

function isSaturated(tensor: Tensor, axis: number): boolean {
	const classes = tensor.shape.at(axis) ?? 1;
	let sure = 0;
	forEachValue(tensor, (value) => {
		if (value >= certain) sure += 1;
	});
	return classes > 1 && sure >= elementCount(tensor.shape) / classes;
}

/** The class that all rows choose; null where they choose several. */
function onlyClass(tensors: readonly Tensor[], axis: number): number | null {
	const chosen = new Set<number>();
	let choices = 0;
	for (const tensor of tensors) {
		if (chosen.size > 1) return null;
		forEachRow(makePair(tensor, tensor), axis, (row) => {
			choices = Math.max(choices, row.length);
			if (chosen.size < 2) chosen.add(topIndices(row, 1)[0] ?? 0);
		});
	}
	const [only = null] = chosen;
	return chosen.size === 1 && choices > 1 ? only : null;
}
