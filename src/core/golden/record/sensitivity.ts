// Finds goldens that cannot fail: not finite, constant, or the same for every input.

import type { GoldenManifest, GoldenOutput } from "../../../../generated/golden.ts";
import { ConfigError } from "../../errors.ts";
import { quoteName } from "../../onnx/quote.ts";
import { counted } from "../../text/labels.ts";
import { makePair } from "../compare/difference.ts";
import { elementCount, type Tensor, type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { everyValue, float64Reader } from "../tensor/values.ts";

export interface Insensitive {
	/** non-finite: NaN or infinities where the golden allows none, or nothing else. */
	kind: "non-finite" | "constant" | "same-for-all";
	/** Absent: all outputs. */
	output?: string;
	/** Absent: all cases. */
	case?: string;
	message: string;
	fix: string;
}

const recordAgain = "Record the golden with other inputs, or fix the model that made it.";

/** Takes the outputs case by case, in the order of the manifest, and keeps at most those of the first. */
interface SensitivityWatch {
	see(outputs: TensorSet): void;
	findings(): Insensitive[];
}

/**
 * Finds why the golden cannot tell a correct engine from a wrong one.
 *
 * Outputs that have one value throughout all cases, such as the zeros of a dead layer, are refused only where all of them do, and so
 * are outputs that do not depend on the input. What a golden notices beyond that, the recorder finds out by trial.
 */
export function watchSensitivity(manifest: GoldenManifest): SensitivityWatch {
	const outputs = new Map<string, OutputWatch>();
	const sameness = watchSameness();
	const nonFinite: Insensitive[] = [];
	let seen = 0;
	return {
		see(set) {
			const tensors = tensorMap(set);
			nonFinite.push(...findNonFinite(manifest, manifest.cases[seen]?.id ?? String(seen), tensors));
			seen += 1;
			sameness.see(tensors);
			for (const [name, tensor] of tensors) {
				const watch = outputs.get(name) ?? watchOutput();
				outputs.set(name, watch);
				watch.see(tensor);
			}
		},
		findings() {
			if (nonFinite.length > 0) return firstOfEach(nonFinite);
			const same = seen > 1 && sameness.same() ? [sameForAll(seen)] : [];
			return [...findConstant(outputs), ...same];
		},
	};
}

/** Of each output the first case, with how many are like it. */
function firstOfEach(findings: readonly Insensitive[]): Insensitive[] {
	const outputs = [...new Set(findings.map(({ output }) => output))];
	return outputs.flatMap((output) => {
		const [first, ...others] = findings.filter((finding) => finding.output === output);
		if (first === undefined) return [];
		const more = others.length === 0 ? "" : `, and so do ${counted(others.length, "more case")}`;
		return [{ ...first, message: `${first.message}${more}` }];
	});
}

/** `cases` are the outputs in the order of the manifest's cases. */
export function findInsensitive(manifest: GoldenManifest, cases: readonly TensorSet[]): Insensitive[] {
	const watch = watchSensitivity(manifest);
	for (const outputs of cases) watch.see(outputs);
	return watch.findings();
}

/** @throws ConfigError golden-uninformative for the first of the findings. */
export function refuseInsensitive({ goldenId }: GoldenManifest, findings: readonly Insensitive[]): void {
	const [first, ...others] = findings;
	if (first === undefined) return;
	const more =
		others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "finding" : "findings"})`;
	throw new ConfigError({
		code: "golden-uninformative",
		message: `Golden ${goldenId} cannot fail: ${first.message}${more}.`,
		fix: first.fix,
	});
}

function findNonFinite(
	manifest: GoldenManifest,
	id: string,
	outputs: ReadonlyMap<string, Tensor>,
): Insensitive[] {
	return [...outputs].flatMap(([name, tensor]) => {
		const { elements, nonFinite } = makePair(tensor, tensor).difference();
		if (nonFinite.expected === 0) return [];
		const mustMatch = specOf(manifest, name)?.nonFinite === "must-match";
		if (mustMatch && elements > 0) return [];
		const values =
			elements === 0
				? "nothing but NaN or infinite values"
				: `NaN or infinite values (${nonFinite.expected})`;
		const message = `output ${quoteName(name)} of case ${quoteName(id)} holds ${values}`;
		const allow =
			elements === 0
				? ""
				: ` If such values are correct, use \`--non-finite ${quoteName(name, "")}\` when recording, or \`"nonFinite": "must-match"\` for the output in golden.json.`;
		return [{ kind: "non-finite" as const, output: name, case: id, message, fix: `${recordAgain}${allow}` }];
	});
}

function findConstant(outputs: ReadonlyMap<string, OutputWatch>): Insensitive[] {
	const filled = [...outputs].filter(([, watch]) => watch.elements() > 0);
	const constant = filled.filter(([, watch]) => watch.elements() > 1 && watch.isConstant());
	if (constant.length < filled.length) return [];
	return constant.map(([name, watch]) => ({
		kind: "constant",
		output: name,
		message: `output ${quoteName(name)} is ${watch.first()} everywhere in every case`,
		fix: recordAgain,
	}));
}

function sameForAll(cases: number): Insensitive {
	return {
		kind: "same-for-all",
		message: `all ${cases} cases have the same outputs, so the inputs have no effect`,
		fix: recordAgain,
	};
}

function specOf(manifest: GoldenManifest, name: string): GoldenOutput | undefined {
	return Object.hasOwn(manifest.outputs, name) ? manifest.outputs[name] : undefined;
}

interface OutputWatch {
	see(tensor: Tensor): void;
	/** Of all tensors together. */
	elements(): number;
	/** The first value; NaN where there is none. */
	first(): number;
	/** Every value so far is the first. */
	isConstant(): boolean;
}

function watchOutput(): OutputWatch {
	const state = { elements: 0, first: Number.NaN, constant: true };
	return {
		see(tensor) {
			const count = elementCount(tensor.shape);
			if (state.elements === 0 && count > 0) state.first = float64Reader(tensor)(0, 1)[0] ?? Number.NaN;
			state.elements += count;
			// What was not constant once will not become it.
			state.constant &&= everyValue(tensor, (value) => value === state.first);
		},
		elements: () => state.elements,
		first: () => state.first,
		isConstant: () => state.constant,
	};
}

/** Whether all cases have the same outputs; keeps those of the first, and only for as long as nothing differed. */
function watchSameness(): { see(outputs: ReadonlyMap<string, Tensor>): void; same(): boolean } {
	let first: ReadonlyMap<string, Tensor> | null = null;
	let same = true;
	return {
		see(outputs) {
			if (!same) return;
			const known = first ?? outputs;
			first = known;
			same =
				outputs.size === known.size &&
				[...outputs].every(([name, tensor]) => isSame(tensor, known.get(name)));
			if (!same) first = null;
		},
		same: () => same,
	};
}

function isSame(left: Tensor, right: Tensor | undefined): boolean {
	return right !== undefined && Buffer.compare(left.data, right.data) === 0;
}
