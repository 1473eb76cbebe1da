// Finds the precision coverage of a built engine from the layers that its build listed: the GPU is not needed.
import type { PrecisionCoverage } from "../../../generated/result.ts";
import { costsOf, sizesOf } from "../../core/onnx/cost/cost.ts";
import type { Backend, BuiltEngine } from "../../ports/backend.ts";
import type { WorkloadShapes } from "../../stages/workloads.ts";
import { precisionCoverage } from "../core/coverage.ts";
import { engineModel } from "../core/model.ts";

/**
 * @param shaped of the engine's first workload, if one has sizes.
 * @returns null if the precision has no coverage, or the build listed no layers.
 */
export async function coverageOf(
	engine: BuiltEngine,
	shaped: WorkloadShapes | undefined,
	{ layersOf }: Pick<Backend, "layersOf">,
): Promise<PrecisionCoverage | null> {
	const { model, spec, arm, record } = engine;
	const info = (await layersOf?.(engine)) ?? null;
	if (info === null) return null;
	const differs = arm === "base" ? shaped?.baseDiffers : shaped?.headDiffers;
	const sizes = shaped === undefined || differs !== undefined ? { shapes: {} } : sizesOf(shaped.inputs);
	return precisionCoverage({
		engine: engineModel({ info, profiles: [], graph: model.onnx.graph }),
		precision: spec.engine.precision,
		costs: costsOf(model.onnx)(sizes),
		warnings: record.warnings,
		isCalibrated: spec.engine.tensorrt.calibration !== undefined,
	});
}
