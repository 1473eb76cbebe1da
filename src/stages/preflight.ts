// Finds what can be known of each model before any engine is built.
import { preflight as findingsOf } from "../core/onnx/preflight.ts";
import type { BackendFacts, Finding } from "../core/schema/result.ts";
import type { Progress } from "../ports.ts";
import type { PreparedModel } from "./prepare.ts";

export interface PreflightInput {
	models: readonly PreparedModel[];
	backend: BackendFacts["kind"];
	tensorrt?: string;
}

/** Findings of the head's models, and the base's errors: the base's warnings are not this change's. */
export function preflight(input: PreflightInput, ports: { progress: Progress }): Finding[] {
	ports.progress.stage("preflight", input.models.length);
	const context = { backend: input.backend, ...(input.tensorrt === undefined ? {} : { tensorrt: input.tensorrt }) };
	const found = input.models.flatMap((prepared) => {
		if (prepared.state === "missing") return [];
		const place = { model: prepared.spec.model.name, engine: prepared.spec.engine.name, arm: prepared.arm };
		return findingsOf(prepared.model, context).map((finding) => ({ ...finding, ...place }));
	});
	const kept = found.filter((finding) => finding.arm === "head" || finding.severity === "error");
	ports.progress.done(kept.length === 0 ? "nothing found" : `${kept.length} findings`);
	return kept;
}

/** Whether preflight forbids building this model. */
export function isBlocked(prepared: PreparedModel, findings: readonly Finding[], strict: boolean): boolean {
	return findings.some(
		(finding) =>
			finding.model === prepared.spec.model.name &&
			finding.engine === prepared.spec.engine.name &&
			finding.arm === prepared.arm &&
			(finding.severity === "error" || (strict && finding.severity === "warning")),
	);
}
