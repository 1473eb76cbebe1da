// Checks each model before any engine is built.
import type { BackendFacts, Finding } from "../../generated/result.ts";
import { formatPointer } from "../core/found.ts";
import { findingKey, preflight as findingsOf } from "../core/onnx/preflight.ts";
import { sparsityFindings } from "../core/onnx/sparsity.ts";
import type { EngineSpec } from "../core/plan/plan.ts";
import { counted } from "../core/text/labels.ts";
import type { PatternReader, Progress } from "../ports/world.ts";
import { type PreparedModel, type ReadyModel, sidesOf } from "./prepared.ts";

export interface PreflightInput {
	models: readonly PreparedModel[];
	backend: BackendFacts["kind"];
	tensorrt?: string | undefined;
	baseTensorrt?: string | undefined;
	gpuMemoryBytes?: number | undefined;
	computeCapability?: string | undefined;
}

/** Warnings that the base has too are not this change's. */
export function preflight(input: PreflightInput, ports: { progress: Progress }): Finding[] {
	ports.progress.stage("preflight", input.models.length);
	const found = input.models.flatMap((prepared) => {
		// A plan of another builder need not come from this file.
		const hasPlan = input.backend === "tensorrt" && prepared.spec.engine.build !== undefined;
		if (prepared.state !== "ready" || hasPlan) return [];
		const subject = { model: prepared.spec.model.name, engine: prepared.spec.engine.name, arm: prepared.arm };
		const { baseTensorrt = input.tensorrt } = input;
		const own =
			prepared.arm === "base" && baseTensorrt !== undefined ? { ...input, tensorrt: baseTensorrt } : input;
		return findingsFor(prepared, own).map((finding) => ({ ...finding, ...subject }));
	});
	const reported = markNew(found, input).filter(
		(finding) => finding.arm === "head" || finding.severity === "error",
	);
	ports.progress.done(reported.length === 0 ? "nothing found" : counted(reported.length, "finding"));
	return reported;
}

function markNew(found: readonly Finding[], { baseTensorrt, models }: PreflightInput): Finding[] {
	if (baseTensorrt === undefined) return [...found];
	const ready = models.filter((each) => each.state === "ready");
	const isSame = (id: string) => {
		const { base, head } = sidesOf(ready, ({ spec }) => spec.id === id);
		if (base === undefined || head === undefined) return false;
		return base.model.sha256 === head.model.sha256 || base.spec.engine.onnxByVersion !== undefined;
	};
	const known = new Set(found.filter(({ arm }) => arm === "base").map(findingKey));
	const isNew = (finding: Finding) =>
		finding.arm === "head" && isSame(`${finding.model}/${finding.engine}`) && !known.has(findingKey(finding));
	return found.map((finding) => (isNew(finding) ? { ...finding, isNew: true } : finding));
}

/** On ONNX Runtime, predictions for TensorRT are warnings. */
function findingsFor({ model, spec }: ReadyModel, input: PreflightInput): Finding[] {
	const own = findingsOf(model, contextOf(spec, input));
	if (input.backend === "tensorrt" || input.tensorrt === undefined) return own;
	const isSevere = (finding: Finding) => finding.severity !== "note";
	const known = new Set(own.filter(isSevere).map((finding) => finding.code));
	const onTensorRt = findingsOf(model, contextOf(spec, { ...input, backend: "tensorrt" }));
	const predicted = onTensorRt.filter((finding) => isSevere(finding) && !known.has(finding.code));
	const told = new Set(predicted.map((finding) => finding.code));
	return [
		...own.filter((finding) => isSevere(finding) || !told.has(finding.code)),
		...predicted.map(({ message, ...each }): Finding => {
			return { ...each, severity: "warning", message: `On TensorRT (not run here): ${message}` };
		}),
	];
}

function contextOf({ model, engine }: EngineSpec, input: PreflightInput) {
	const { models: _, baseTensorrt: __, ...machine } = input;
	return {
		...machine,
		precision: engine.precision,
		dims: engine.dims,
		shapes: model.inputs,
		onnxKey: `${formatPointer(engine.pointer)}.onnx`,
		loadsPlugins: engine.tensorrt.plugins.length > 0,
		isCalibrated: engine.tensorrt.calibration !== undefined,
		settings: engine.tensorrt,
		streamsWeights: engine.tensorrt.flags.some((flag) => flag.startsWith("--allowWeightStreaming")),
	};
}

export function isBlocked(prepared: PreparedModel, findings: readonly Finding[], strict: boolean): boolean {
	return findings.some(
		(finding) =>
			finding.model === prepared.spec.model.name &&
			finding.engine === prepared.spec.engine.name &&
			finding.arm === prepared.arm &&
			(finding.severity === "error" || (strict && finding.severity === "warning")),
	);
}

/** Only engines that ask for sparse kernels have their weights read. */
export async function checkSparsity(
	models: readonly PreparedModel[],
	{ patterns }: PatternReader,
): Promise<Finding[]> {
	const ready = models.filter((prepared) => prepared.state === "ready");
	const found: Finding[] = [];
	for (const { arm, spec, model } of ready) {
		const { tensorrt, build } = spec.engine;
		if (arm === "base" || build !== undefined || !tensorrt.flags.includes("--sparsity=enable")) continue;
		const { base } = sidesOf(ready, (other) => other.spec.id === spec.id);
		const before =
			base === undefined || base.model.sha256 === model.sha256 ? null : await patterns(base.model);
		const own = sparsityFindings(before, await patterns(model));
		found.push(...own.map((one) => ({ ...one, model: spec.model.name, engine: spec.engine.name, arm })));
	}
	return found;
}
