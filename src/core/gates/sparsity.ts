// The gate on layers that can run, and that run, sparse kernels.
import type { BuildRecord, GateResult } from "../../../generated/result.ts";
import type { Config } from "../config/config.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { placeVerdict } from "./figures.ts";

/** Judges engines whose base was built with --sparsity. */
export function judgeSparsity(
	{ spec, base, head }: { spec: EngineSpec; base?: BuildRecord | undefined; head: BuildRecord },
	config: Config,
): GateResult[] {
	const { gates, name: engine } = spec.engine;
	const before = base?.sparsity;
	if (before === undefined || head.state !== "built" || gates.sparsity === "off") return [];
	const changes = (["eligible", "picked"] as const).flatMap((key) => {
		const [was, is] = [before[key], head.sparsity?.[key] ?? null];
		if (was === null) return [];
		return [{ isLost: is === null ? was > 0 : is < was, text: `${was} → ${is ?? "unknown"} ${key}` }];
	});
	const status = changes.some(({ isLost }) => isLost) ? gates.sparsity : "pass";
	const why = head.sparsity === undefined ? " The head is not built with --sparsity." : "";
	const message = `Layers for sparse kernels: ${changes.map(({ text }) => text).join(", ")}.${why}`;
	const verdict = ["sparsity", changes.length === 0 ? null : status, message] as const;
	return placeVerdict(verdict, { model: spec.model.name, engine }, { config, ...spec.engine });
}
