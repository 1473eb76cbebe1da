// Tries every defect of every output that varies on the golden.
import type { Tensor } from "../../tensor/tensor.ts";
import { constantOf } from "../weaknesses.ts";
import { type DefectVerdict, type Trial, watchDefect } from "./judge.ts";
import { damageOutput, type OutputDefectKind, outputDefectKinds } from "./outputs.ts";

export interface TriedOutput {
	kind: OutputDefectKind;
	output: string;
	verdict: DefectVerdict;
}

export function tryOutputDefects(trial: Trial): TriedOutput[] {
	const names = [...new Set(trial.reference.flatMap((outputs) => Object.keys(outputs)))];
	const varying = names.filter((name) => constantOf(tensorsOf(trial, name)) === null);
	return varying.flatMap((output) => outputDefectKinds.flatMap((kind) => tryOne(trial, output, kind) ?? []));
}

function tensorsOf({ reference }: Trial, output: string): Tensor[] {
	return reference.flatMap((outputs) => (Object.hasOwn(outputs, output) ? (outputs[output] as Tensor) : []));
}

function tryOne(trial: Trial, output: string, kind: OutputDefectKind): TriedOutput | null {
	const tensors = tensorsOf(trial, output);
	const damaged = tensors.length === trial.reference.length ? damageOutput(tensors, kind) : null;
	if (damaged === null) return null;
	const watch = watchDefect(trial);
	for (const [index, outputs] of trial.reference.entries()) if (watch.see(index, { ...outputs, [output]: damaged[index] as Tensor })) break;
	return { kind, output, verdict: watch.verdict() };
}
