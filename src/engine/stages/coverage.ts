// Finds the precision coverage of a built engine from the layers that its build listed: the GPU is not needed.
import type { PrecisionCoverage } from "../../../generated/result.ts";
import { costsOf, sizesOf } from "../../core/onnx/cost/cost.ts";
import type { Backend, BuiltEngine } from "../../ports/backend.ts";
import type { WorkloadShapes } from "../../stages/workloads.ts";
import { type NodeTypes, nodeTypes, precisionCoverage } from "../core/coverage.ts";
import { engineModel } from "../core/model.ts";

interface Known {
	/** Of the engine's first workload, if one has sizes. */
	shaped: WorkloadShapes | undefined;
	/** Of the base's engine in the same precision. */
	before: NodeTypes | undefined;
}

/** @returns null if the build listed no layers; its coverage is null if the precision has none. */
export async function coverageOf(
	engine: BuiltEngine,
	{ shaped, before }: Known,
	{ layersOf }: Pick<Backend, "layersOf">,
): Promise<{ coverage: PrecisionCoverage | null; types: NodeTypes } | null> {
	const { model, spec, arm, record } = engine;
	const info = (await layersOf?.(engine)) ?? null;
	if (info === null) return null;
	const differs = arm === "base" ? shaped?.baseDiffers : shaped?.headDiffers;
	const sizes = shaped === undefined || differs !== undefined ? { shapes: {} } : sizesOf(shaped.inputs);
	const facts = {
		engine: engineModel({ info, profiles: [], graph: model.onnx.graph }),
		precision: spec.engine.precision,
		costs: costsOf(model.onnx)(sizes),
		warnings: record.warnings,
		isCalibrated: spec.engine.tensorrt.calibration !== undefined,
		before,
	};
	return { coverage: precisionCoverage(facts), types: nodeTypes(facts) };
}
