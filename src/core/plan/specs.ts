// The engine specs that a config asks for, in its order.
import type { Config } from "../config/config.ts";
import type { EngineSpec } from "./plan.ts";

export function engineSpecs(config: Pick<Config, "models">): EngineSpec[] {
	return config.models.flatMap((model) =>
		model.engines.map((engine) => ({ id: `${model.name}/${engine.name}`, model, engine, dims: engine.dims })),
	);
}
