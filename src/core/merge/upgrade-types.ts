// What an upgrade of TensorRT changes in the types that an engine runs in.
import type { BuildRecord } from "../../../generated/result.ts";
import { typeChanges } from "../../engine/core/uncovered.ts";
import { quoted } from "../text/escape.ts";

interface TypeFact {
	kind: "lostType" | "otherTypes" | "otherFile";
	says: string;
}

/** Of an engine that builds on both. Where the builder chose the kernels, their times decide. */
export function typeFacts(id: string, was: BuildRecord, is: BuildRecord): TypeFact[] {
	const facts: TypeFact[] = [];
	if (was.modelSha256 !== is.modelSha256)
		facts.push({ kind: "otherFile", says: `${quoted(id)} is built from another ONNX file.` });
	if (is.precisionCoverage === undefined) return facts;
	const { lost, gained, isOfFile } = typeChanges(is.precisionCoverage);
	if (lost !== null)
		facts.push({ kind: isOfFile ? "lostType" : "otherTypes", says: `${quoted(id)}: ${lost}` });
	if (gained !== null) facts.push({ kind: "otherTypes", says: `${quoted(id)}: ${gained}` });
	return facts;
}
