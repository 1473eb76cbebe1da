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

/** One after the other, kind by kind, so that those which a time limit leaves are of all outputs. */
export function* tryOutputDefects(trial: Trial): Generator<TriedOutput> {
	const names = [...new Set(trial.reference.flatMap((outputs) => Object.keys(outputs)))];
	const varying = names.filter((name) => constantOf(tensorsOf(trial, name)) === null);
	for (const kind of outputDefectKinds)
		for (const output of varying) {
			const tried = tryOne(trial, output, kind);
			if (tried !== null) yield tried;
		}
}

function tensorsOf({ reference }: Trial, output: string): Tensor[] {
	return reference.flatMap((outputs) => (Object.hasOwn(outputs, output) ? (outputs[output] as Tensor) : []));
}

function tryOne(trial: Trial, output: string, kind: OutputDefectKind): TriedOutput | null {
	const tensors = tensorsOf(trial, output);
	if (tensors.length < trial.reference.length) return null;
	const watch = watchDefect(trial);
	let isDamaged = false;
	for (const [index, outputs] of trial.reference.entries()) {
		const damaged = damageOutput(tensors, index, kind);
		isDamaged ||= damaged !== null;
		if (watch.see(index, damaged === null ? outputs : { ...outputs, [output]: damaged })) break;
	}
	return isDamaged ? { kind, output, verdict: watch.verdict() } : null;
}
