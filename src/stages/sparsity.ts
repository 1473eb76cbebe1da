// Finds which weights have the pattern that --sparsity=enable needs, before anything is built.
import type { Finding } from "../../generated/result.ts";
import { sparsityFindings } from "../core/onnx/sparsity.ts";
import type { PatternReader } from "../ports/world.ts";
import { type PreparedModel, sidesOf } from "./prepared.ts";

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
