// Finds goldens that cannot fail: not finite, constant, the same for every input, or of one class only.
import { ConfigError } from "../../errors.ts";
import { quoteName } from "../../onnx/quote.ts";
import type { GoldenManifest, GoldenOutput } from "../../schema/golden.ts";
import { counted } from "../../text/labels.ts";
import { makePair } from "../compare/difference.ts";
import { sameBytes } from "../compare/kernels.ts";
import { topIndices } from "../metrics/classification.ts";
import { forEachRow } from "../tensor/rows.ts";
import { elementCount, isFloating, type Tensor, type TensorSet, tensorMap } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk } from "../tensor/values.ts";

export interface Insensitive {
	/** non-finite: NaN or infinities where the golden allows none, or nothing else. */
	kind: "non-finite" | "constant" | "same-for-all" | "one-class";
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
 * A float output is refused where it has one value throughout all cases, such as the zeros of a dead layer; one constant case among
 * others is fine, and so is a constant integer or bool (a count, a flag) as long as some other output varies. Outputs that do not
 * depend on the input are refused only where none of the outputs does.
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
				const watch = outputs.get(name) ?? watchOutput(specOf(manifest, name));
				outputs.set(name, watch);
				watch.see(tensor);
			}
		},
		findings() {
			if (nonFinite.length > 0) return firstOfEach(nonFinite);
			const same = seen > 1 && sameness.same() ? [sameForAll(seen)] : [];
			return [...findConstant(outputs), ...same, ...[...outputs].flatMap(([name, watch]) => findOneClass(name, watch))];
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
	const more = others.length === 0 ? "" : ` (and ${others.length} more ${others.length === 1 ? "finding" : "findings"})`;
	throw new ConfigError({
		code: "golden-uninformative",
		message: `Golden ${goldenId} cannot fail: ${first.message}${more}.`,
		details: { fix: first.fix },
	});
}

/** @throws ConfigError golden-uninformative for the first finding of findUninformative. */
export function assertSensitive(manifest: GoldenManifest, cases: readonly TensorSet[]): void {
	refuseInsensitive(manifest, findInsensitive(manifest, cases));
}

function findNonFinite(manifest: GoldenManifest, id: string, outputs: ReadonlyMap<string, Tensor>): Insensitive[] {
	return [...outputs].flatMap(([name, tensor]) => {
		const { elements, nonFinite } = makePair(tensor, tensor).difference();
		if (nonFinite.expected === 0) return [];
		const mustMatch = specOf(manifest, name)?.nonFinite === "must-match";
		if (mustMatch && elements > 0) return [];
		const values = elements === 0 ? "nothing but NaN or infinite values" : `NaN or infinite values (${nonFinite.expected})`;
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
	const all = constant.length === filled.length;
	const refused = constant.filter(([, watch]) => all || watch.isFloating());
	return refused.map(([name, watch]) => ({
		kind: "constant",
		output: name,
		message: `output ${quoteName(name)} is ${watch.first()} everywhere in every case`,
		fix: recordAgain,
	}));
}

function sameForAll(cases: number): Insensitive {
	return { kind: "same-for-all", message: `all ${cases} cases have the same outputs, so the inputs have no effect`, fix: recordAgain };
}

function findOneClass(name: string, watch: OutputWatch): Insensitive[] {
	const only = watch.onlyClass();
	if (only === null) return [];
	return [
		{
			kind: "one-class",
			output: name,
			message: `output ${quoteName(name)} chooses class ${only} in every row of every case`,
			fix: "Add cases of other classes, so that a network with a constant answer fails.",
		},
	];
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
	isFloating(): boolean;
	/** The class that every row of all (at least two) tensors chooses; null where they differ or choose nothing. */
	onlyClass(): number | null;
}

function watchOutput(spec: GoldenOutput | undefined): OutputWatch {
	const state = { elements: 0, first: Number.NaN, constant: true, floating: false };
	const classes = watchClasses(spec);
	return {
		see(tensor) {
			const count = elementCount(tensor.shape);
			if (state.elements === 0 && count > 0) state.first = float64Reader(tensor)(0, 1)[0] ?? Number.NaN;
			state.elements += count;
			state.floating ||= isFloating(tensor.dtype);
			// What was not constant once will not become it.
			state.constant &&= isAll(tensor, state.first);
			classes.see(tensor);
		},
		elements: () => state.elements,
		first: () => state.first,
		isConstant: () => state.constant,
		isFloating: () => state.floating,
		onlyClass: classes.only,
	};
}

function isAll(tensor: Tensor, value: number): boolean {
	const read = float64Reader(tensor);
	let same = true;
	forEachChunk(elementCount(tensor.shape), (start, count) => {
		same &&= read(start, count).every((other) => other === value);
	});
	return same;
}

interface ClassWatch {
	see(tensor: Tensor): void;
	only(): number | null;
}

const noClasses: ClassWatch = { see() {}, only: () => null };

/** Only of outputs that say they are logits or probabilities. */
function watchClasses(spec: GoldenOutput | undefined): ClassWatch {
	if (spec?.semantic !== "logits" && spec?.semantic !== "probabilities") return noClasses;
	const axis = spec.comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1;
	const chosen = new Set<number>();
	let tensors = 0;
	let choices = 0;
	return {
		see(tensor) {
			tensors += 1;
			if (chosen.size > 1) return;
			forEachRow(makePair(tensor, tensor), axis, (row) => {
				choices = Math.max(choices, row.length);
				if (chosen.size < 2) chosen.add(topIndices(row, 1)[0] ?? 0);
			});
		},
		only: () => (tensors >= 2 && choices >= 2 && chosen.size === 1 ? ([...chosen][0] ?? null) : null),
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
			same = outputs.size === known.size && [...outputs].every(([name, tensor]) => isSame(tensor, known.get(name)));
			if (!same) first = null;
		},
		same: () => same,
	};
}

function isSame(left: Tensor, right: Tensor | undefined): boolean {
	return right !== undefined && sameBytes(left.data, right.data);
}
