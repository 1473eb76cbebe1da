// Where the time of a single engine goes.
import type { EnginePart, EngineSummary } from "../../../generated/result.ts";
import { componentsOf, groupLabel } from "./components.ts";
import { factsOf, partOf, summaryOf } from "./facts.ts";
import type { EngineModel } from "./model.ts";
import { criticalWarnings } from "./warnings.ts";

export interface EngineAlone {
	summary: EngineSummary;
	groups: readonly { label: string; part: EnginePart }[];
	warnings: readonly string[];
}

export function explainEngine(engine: EngineModel, gpu: string | null): EngineAlone {
	const nothing: EngineModel = { ...engine, io: [], layers: [], profiles: 0, graph: null };
	const groups = componentsOf({ base: nothing, head: engine }).map((component) => ({
		label: groupLabel(component),
		part: partOf([factsOf(component.head, engine.profiles, 0)], component.head, gpu),
	}));
	const size = ({ part }: { part: EnginePart }) => part.meanMs ?? (part.bytes ?? 0) / 1e12;
	return {
		summary: summaryOf(engine),
		groups: groups.filter(({ part }) => part.kernels + part.reformats > 0).sort((a, b) => size(b) - size(a)),
		warnings: criticalWarnings({ base: null, head: engine }, []).map(({ text }) => text),
	};
}
