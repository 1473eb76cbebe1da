// One digest for all that an arm's engines are built from, so that a cache of exactly these can be found again.
import { createHash } from "node:crypto";
import type { Arm } from "../../core/schema/result.ts";
import type { PreparedModel } from "../../stages/prepared.ts";

const digestChars = 16;

/** null where the arm has no model. Machine and TensorRT are no part of it: they stand in the key before it. */
export function recipeDigest(models: readonly PreparedModel[], arm: Arm): string | null {
	const recipes = models.filter((prepared) => prepared.arm === arm).flatMap(recipeOf);
	if (recipes.length === 0) return null;
	return createHash("sha256").update(recipes.sort().join("\n")).digest("hex").slice(0, digestChars);
}

/** Files by their digests, wherever they lie. */
function recipeOf(prepared: PreparedModel): string[] {
	if (prepared.state !== "ready") return [];
	const { spec, model, assets } = prepared;
	const { precision, profiles, tensorrt } = spec.engine;
	const { workspaceBytes, optimizationLevel, dla, flags } = tensorrt;
	const plugins = assets?.plugins.map(({ sha256, dynamic }) => ({ sha256, dynamic }));
	const files = { model: model.sha256, plugins, calibration: assets?.calibration?.sha256 };
	return [JSON.stringify([spec.id, files, spec.model.inputs, precision, profiles, { workspaceBytes, optimizationLevel, dla, flags }])];
}
