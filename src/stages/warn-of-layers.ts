// Warnings that the layers of a built engine give: fusions that its base had, fp32 islands, Q/DQ that came to nothing.
import { diffEngines } from "../core/engine/diff.ts";
import { type EngineModel, engineModel } from "../core/engine/model.ts";
import { criticalWarnings } from "../core/engine/warnings.ts";
import type { BuildRecord } from "../core/schema/result.ts";
import type { Backend, BuiltEngine } from "../ports/backend.ts";

/** Without a base they are counted; with one, only what is new in the head counts, and the gate warns of it. */
export async function warnOfLayers(
	{ base, head }: { base: BuiltEngine | undefined; head: BuiltEngine },
	backend: Pick<Backend, "layersOf">,
): Promise<BuildRecord["warnings"]> {
	const modelOf = async (engine: BuiltEngine | undefined): Promise<EngineModel | null> => {
		const info = engine === undefined ? null : ((await backend.layersOf?.(engine)) ?? null);
		return info === null ? null : engineModel({ info, profiles: [], graph: engine?.model.onnx.graph ?? null });
	};
	const engines = { base: await modelOf(base), head: await modelOf(head) };
	if (engines.head === null) return [];
	const both = engines.base === null ? null : { base: engines.base, head: engines.head };
	const rows = both === null ? [] : diffEngines(both, { gpu: null, enginesMs: null }).rows;
	const isNew = both === null ? {} : { isNew: true };
	return criticalWarnings({ base: engines.base, head: engines.head }, rows).map(({ class: kind, count, text }) => ({
		class: kind,
		count,
		example: text,
		...isNew,
	}));
}
