// Finds goldens with limits that are too wide, by judging outputs that are plainly wrong.
import { quoteName } from "../../onnx/quote.ts";
import type { GoldenManifest, Precision } from "../../schema/golden.ts";
import { judgeCase } from "../compare/judge.ts";
import { elementCount, isFloating, type Tensor } from "../tensor/tensor.ts";
import { float64Reader, forEachChunk, tensorStatistics } from "../tensor/values.ts";
import { judgeSet } from "../whole-set/judge-set.ts";
import { encodeTensor } from "./generators/encode.ts";
import { type RunOutputs, referencePrecision } from "./noise-floor.ts";
import type { Insensitive } from "./sensitivity.ts";

export interface Weakness extends Omit<Insensitive, "kind"> {
	kind: Insensitive["kind"] | "saturated" | "too-wide" | "alike" | "one-case" | "unnoticed" | "unmeasured";
	/** refuse: the golden detects nothing. warn: it detects less than it could. */
	severity: "refuse" | "warn";
}

export interface WeaknessContext {
	manifest: GoldenManifest;
	cases: RunOutputs;
	relativeL2: Readonly<Partial<Record<Precision, number>>>;
}

/** Weaknesses beyond findInsensitive: limits that are too wide, and values that vary too little. */
export function findWeaknesses(context: WeaknessContext): Weakness[] {
	return [...findSaturated(context), ...findTooWide(context), ...findAlike(context), ...findLonely(context)];
}

function verdictOf(context: WeaknessContext, at: { index: number; got: Readonly<Record<string, Tensor>>; precision: Precision }): string {
	const { manifest, cases, relativeL2 } = context;
	const golden = manifest.cases[at.index];
	const expected = cases[at.index];
	if (golden === undefined || expected === undefined) return "error";
	const place = { manifest, caseId: golden.id, model: "", engine: "", precision: at.precision, modelSha256: manifest.model.sha256 };
	return judgeCase({ ...place, expected, got: at.got, relativeL2 }).state;
}

/** Whether comparators of the whole set take these outputs, case by case. */
function setTakes(context: WeaknessContext, got: RunOutputs, precision: Precision): boolean {
	const { manifest, cases, relativeL2 } = context;
	const place = { manifest, model: "", engine: "", precision, modelSha256: manifest.model.sha256, relativeL2 };
	const seen = manifest.cases.map((golden, index) => ({ golden, sides: { expected: cases[index] ?? {}, got: got[index] ?? {} } }));
	const verdict = judgeSet(place, seen);
	return verdict === null || verdict.state === "match";
}

/** Precisions that the golden speaks of: the reference's own, and those of its limits. */
function precisionsOf({ outputs }: GoldenManifest): Precision[] {
	const named = Object.values(outputs).flatMap((output) =>
		(output.comparators ?? []).flatMap(({ tolerance }) => (typeof tolerance === "object" ? (Object.keys(tolerance) as Precision[]) : [])),
	);
	return [...new Set<Precision>([referencePrecision, ...named])];
}

/** Limits that accept an output replaced by its own mean are wider than the output's spread. */
function findTooWide(context: WeaknessContext): Weakness[] {
	const names = [...new Set(context.cases.flatMap((outputs) => Object.keys(outputs)))];
	return precisionsOf(context.manifest).flatMap((precision) => names.flatMap((name) => tooWideAt(context, name, precision)));
}

function tooWideAt(context: WeaknessContext, name: string, precision: Precision): Weakness[] {
	let judged = 0;
	for (const [index, expected] of context.cases.entries()) {
		const flat = expected[name] === undefined ? null : flattened(expected[name]);
		if (flat === null) continue;
		judged += 1;
		if (verdictOf(context, { index, got: { ...expected, [name]: flat }, precision }) !== "match") return [];
	}
	const flat = context.cases.map((expected) => ({ ...expected, ...flattenedOutput(expected, name) }));
	if (judged === 0 || !setTakes(context, flat, precision)) return [];
	return [
		{
			kind: "too-wide",
			severity: precision === referencePrecision ? "refuse" : "warn",
			output: name,
			message: `at ${precision} the limits of output ${quoteName(name)} are wider than its spread: its mean alone would pass in every case`,
			fix: "Set tighter limits, or add a comparator that detects such errors; `trtgate golden inspect` proposes some.",
		},
	];
}

function flattenedOutput(expected: Readonly<Record<string, Tensor>>, name: string): Record<string, Tensor> {
	const flat = expected[name] === undefined ? null : flattened(expected[name]);
	return flat === null ? {} : { [name]: flat };
}

/** null: a tensor that is constant by itself, too small, or of a type that no mean stands for. */
function flattened(tensor: Tensor): Tensor | null {
	if (!isFloating(tensor.dtype) || elementCount(tensor.shape) < 2) return null;
	const { mean, std } = tensorStatistics(tensor);
	return mean === null || std === 0 ? null : encodeTensor(tensor.dtype, tensor.shape, () => mean);
}

/** Compared by turns with the next: enough to see that none differ, in linear time. */
function findAlike(context: WeaknessContext): Weakness[] {
	const { cases } = context;
	if (cases.length < 2) return [];
	return precisionsOf(context.manifest).flatMap((precision) => {
		const alike = cases.every((_, index) => {
			const got = cases[(index + 1) % cases.length] ?? {};
			return verdictOf(context, { index, got, precision }) === "match";
		});
		const turned = cases.map((_, index) => cases[(index + 1) % cases.length] ?? {});
		if (!alike || !setTakes(context, turned, precision)) return [];
		return [
			{
				kind: "alike" as const,
				severity: precision === referencePrecision ? ("refuse" as const) : ("warn" as const),
				message: `at ${precision} every case would pass with the outputs of the next one, so the inputs make no relevant difference`,
				fix: "Give inputs that differ more, or set tighter limits.",
			},
		];
	});
}

function findLonely({ manifest, cases }: WeaknessContext): Weakness[] {
	if (cases.length !== 1) return [];
	const message = `there is only one case, ${quoteName(manifest.cases[0]?.id ?? "")}`;
	return [{ kind: "one-case", severity: "warn", message, fix: "Add cases: a fault may not affect every input." }];
}

/** So near to certainty that the other classes are lost to rounding of binary16. */
const certain = 1 - 2 ** -11;

/** Probabilities that are 0 and 1 throughout: the softmax hides errors of the layers before it. */
function findSaturated({ manifest, cases }: WeaknessContext): Weakness[] {
	return Object.entries(manifest.outputs).flatMap(([name, { semantic, comparators }]) => {
		const tensors = cases.flatMap((outputs) => outputs[name] ?? []).filter((tensor) => elementCount(tensor.shape) > 1);
		if (semantic !== "probabilities" || tensors.length === 0) return [];
		const axis = comparators?.find((comparator) => comparator.axis !== undefined)?.axis ?? -1;
		if (!tensors.every((tensor) => isSaturated(tensor, axis))) return [];
		return [
			{
				kind: "saturated" as const,
				severity: "refuse" as const,
				output: name,
				message: `output ${quoteName(name)} is a softmax that saturates in every row of every case, which hides errors of the layers before it`,
				fix: "Make the logits an output of the model and record those, or give inputs on which the model is less certain.",
			},
		];
	});
}

function isSaturated(tensor: Tensor, axis: number): boolean {
	const { shape } = tensor;
	const classes = shape.at(axis) ?? 1;
	const rows = elementCount(shape) / classes;
	const read = float64Reader(tensor);
	let sure = 0;
	forEachChunk(elementCount(shape), (start, count) => {
		for (const value of read(start, count)) if (value >= certain) sure += 1;
	});
	return classes > 1 && sure >= rows;
}
