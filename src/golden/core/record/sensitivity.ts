// Finds goldens that cannot fail, and cases whose outputs are noise.
import type { GoldenManifest, OutputSlice } from "../../../../generated/golden.ts";
import { ConfigError } from "../../../core/errors.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { counted } from "../../../core/text/labels.ts";
import { twoDigits } from "../../../core/text/units.ts";
import { largestFinite, makePair } from "../compare/difference.ts";
import {
	cutSlice,
	elementCount,
	hasSameData,
	isFloating,
	own,
	type Tensor,
	type Tensors,
} from "../tensor/tensor.ts";
import { everyValue, float64Reader, tensorStatistics } from "../tensor/values.ts";
import { distance, type LabelledRun, type OutputParts, type RunOutputs, signalFloor } from "./noise-floor.ts";
import { proposeDetections } from "./propose-semantic.ts";

export interface Weakness {
	kind: "non-finite" | "constant" | "same-for-all" | "one-case" | "unnoticed" | "unseen" | "unmeasured";
	severity: "refuse" | "warn";
	output?: string;
	case?: string;
	message: string;
	fix: string;
}

const refuse = "refuse" as const;
const recordAgain = "Record the golden with other inputs, or fix the model that made it.";

/**
 * Takes the outputs case by case, in the order of the manifest, and keeps at most those of the first. Constant outputs, such as the
 * zeros of a dead layer, are refused only if all outputs are constant.
 */
export function watchSensitivity(manifest: GoldenManifest): {
	see(outputs: Tensors): void;
	findings(): Weakness[];
} {
	const watches = new Map<string, OutputWatch>();
	const nonFinite = new Map<string, Weakness>();
	let seen = 0;
	let first: Tensors | null = null;
	return {
		see(tensors) {
			const id = manifest.cases[seen]?.id ?? String(seen);
			if (seen === 0) first = tensors;
			else if (first !== null && !isSame(first, tensors)) first = null;
			seen += 1;
			for (const [name, tensor] of Object.entries(tensors)) {
				const finding = nonFinite.has(name) ? null : findNonFinite(manifest, id, { name, tensor });
				if (finding !== null) nonFinite.set(name, finding);
				const watch = watches.get(name) ?? { elements: 0, first: NaN, constant: true };
				watches.set(name, watch);
				watchTensor(watch, tensor);
			}
		},
		findings() {
			if (nonFinite.size > 0) return [...nonFinite.values()];
			const filled = [...watches].filter(([, { elements }]) => elements > 0);
			const constant = filled.filter(([, watch]) => watch.elements > 1 && watch.constant);
			const findings =
				constant.length < filled.length
					? []
					: constant.map(([output, watch]): Weakness => {
							const message = `output ${quoteName(output)} is ${watch.first} everywhere in every case`;
							return { kind: "constant", severity: refuse, output, message, fix: recordAgain };
						});
			if (seen > 1 && first !== null) {
				const message = `all ${seen} cases have the same outputs, so the inputs have no effect`;
				findings.push({ kind: "same-for-all", severity: refuse, message, fix: recordAgain });
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

function watchTensor(watch: OutputWatch, tensor: Tensor) {
	const count = elementCount(tensor.shape);
	if (watch.elements === 0 && count > 0) watch.first = float64Reader(tensor)(0, 1)[0] ?? NaN;
	watch.elements += count;
	watch.constant &&= everyValue(tensor, (value) => value === watch.first);
}

function isSame(left: Tensors, right: Tensors) {
	if (Object.keys(left).length !== Object.keys(right).length) return false;
	return Object.entries(right).every(([name, tensor]) => hasSameData(own(left, name), tensor));
}

export function findInsensitive(manifest: GoldenManifest, cases: RunOutputs): Weakness[] {
	const watch = watchSensitivity(manifest);
	for (const outputs of cases) watch.see(outputs);
	return watch.findings();
}

export function refuseInsensitive({ goldenId }: GoldenManifest, findings: readonly Weakness[]): void {
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
	{ name, tensor }: { name: string; tensor: Tensor },
): Weakness | null {
	const { elements, nonFinite } = makePair(tensor, tensor).difference();
	const isAllowed = own(outputs, name)?.nonFinite === "must-match";
	if (nonFinite.expected === 0 || (isAllowed && elements > 0)) return null;
	const isNothingElse = elements === 0;
	const values = isNothingElse
		? "nothing but NaN or infinite values"
		: `NaN or infinite values (${nonFinite.expected})`;
	const allow = ` If such values are correct, use \`--non-finite ${quoteName(name, "")}\` when recording, or \`"nonFinite": "must-match"\` for the output in golden.json.`;
	const message = `output ${quoteName(name)} of case ${quoteName(id)} holds ${values}`;
	const fix = isNothingElse ? recordAgain : `${recordAgain}${allow}`;
	return { kind: "non-finite", severity: refuse, output: name, case: id, message, fix };
}

export function findWeaknesses(manifest: GoldenManifest, cases: RunOutputs): Weakness[] {
	const found = Object.keys(manifest.outputs).flatMap((output): Weakness[] => {
		const value = constantOf(cases.flatMap((outputs) => outputs[output] ?? []));
		if (value === null) return [];
		const message = `output ${quoteName(output)} is ${value} everywhere in every case: it is compared, but left out of what the golden has to notice`;
		return [{ kind: "constant", severity: "warn", output, message, fix: "Give inputs on which it varies." }];
	});
	if (cases.length !== 1) return found;
	const message = `there is only one case, ${quoteName(manifest.cases[0]?.id ?? "")}`;
	const fix = "Add cases: a fault may not affect every input.";
	return [...found, { kind: "one-case", severity: "warn", message, fix }];
}

export function constantOf(tensors: readonly Tensor[]): number | null {
	const filled = tensors.filter(({ shape }) => elementCount(shape) > 1);
	const statistics = filled.map(tensorStatistics);
	const [first] = statistics;
	const isConstant = statistics.every(
		({ min, max, nan, inf }) => nan + inf === 0 && min === first?.min && max === first?.min,
	);
	return isConstant ? (first?.min ?? null) : null;
}

const mostScatter = 0.01;

/** @returns the reason by the case's index. Integers are never noise, nor are boxes, whose order may vary. */
export function findNoiseCases(
	reference: RunOutputs,
	runs: readonly LabelledRun[],
	parts: OutputParts,
): ReadonlyMap<number, string> {
	const boxes = proposeDetections(reference, {})?.outputs ?? [];
	const names = new Set(reference.flatMap((outputs) => Object.keys(outputs)));
	const judged = [...names].filter((name) => !boxes.includes(name));
	const byPart = judged.flatMap((name) => {
		const slices = Object.hasOwn(parts, name) && parts[name]?.length ? parts[name] : [undefined];
		return slices
			.map((slice) => noiseOfCases(name, slice, { reference, runs }))
			.filter((one) => one !== null);
	});
	const found = new Map<number, string>();
	for (const index of reference.keys()) {
		const reasons = byPart.map((reasonOf) => reasonOf[index] ?? null);
		const [first] = reasons;
		if (first && !reasons.includes(null)) found.set(index, first);
	}
	return found;
}

function noiseOfCases(
	name: string,
	slice: OutputSlice | undefined,
	{ reference, runs }: { reference: RunOutputs; runs: readonly LabelledRun[] },
) {
	const tensors = reference.map((outputs) => outputs[name]);
	const filled = tensors.filter((tensor) => tensor !== undefined && elementCount(tensor.shape) > 0);
	if (filled.length === 0) return null;
	if (!filled.every((tensor) => isFloating(tensor?.dtype ?? "bool"))) return tensors.map(() => null);
	const largest = tensors.map((tensor) => (tensor ? largestFinite(cutSlice(tensor, slice)) : 0));
	const scatter = tensors.map((expected, index) =>
		runs.flatMap(({ outputs }) => {
			const got = outputs[index]?.[name];
			return (expected && got && distance(expected, got, { slice })) || [];
		}),
	);
	const widest = (sizes: readonly number[]) => Math.max(0, ...sizes.filter(Number.isFinite));
	const peak = widest(largest);
	const floor = signalFloor(peak, widest(scatter.flat().map(({ maxAbs }) => maxAbs)));
	return largest.map((size, index) => {
		if (size < floor)
			return `the largest value of output ${quoteName(name)} is ${twoDigits(size)}, where other cases reach ${twoDigits(peak)}`;
		const share = widest((scatter[index] ?? []).map(({ relativeL2 }) => relativeL2));
		return share > mostScatter
			? `two runs of the same model differ by ${twoDigits(100 * share)} % in output ${quoteName(name)} (relative L2)`
			: null;
	});
}
