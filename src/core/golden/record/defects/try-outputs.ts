// Tries every defect of every output on the golden.
import type { Tensor } from "../../tensor/tensor.ts";
import { type DefectVerdict, type Trial, watchDefect } from "./judge.ts";
import { damageOutput, type OutputDefectKind, outputDefectKinds } from "./outputs.ts";

export interface TriedOutput {
	kind: OutputDefectKind;
	output: string;
	verdict: DefectVerdict;
}

export function tryOutputDefects(trial: Trial): TriedOutput[] {
	const names = [...new Set(trial.reference.flatMap((outputs) => Object.keys(outputs)))];
	return names.flatMap((output) => outputDefectKinds.flatMap((kind) => tryOne(trial, output, kind) ?? []));
}

function tryOne(trial: Trial, output: string, kind: OutputDefectKind): TriedOutput | null {
	const tensors = trial.reference.flatMap((outputs) => (Object.hasOwn(outputs, output) ? (outputs[output] as Tensor) : []));
	const damaged = tensors.length === trial.reference.length ? damageOutput(tensors, kind) : null;
	if (damaged === null) return null;
	const watch = watchDefect(trial);
	for (const [index, outputs] of trial.reference.entries()) if (watch.see(index, { ...outputs, [output]: damaged[index] as Tensor })) break;
	return { kind, output, verdict: watch.verdict() };
}
