// Matches the head's engines with the base's: by name, else by content.
import type { Counterparts } from "../config/rules.ts";
import type { EngineSpec } from "./plan.ts";

export function findCounterparts(
	base: readonly EngineSpec[],
	head: readonly EngineSpec[],
	isSameContent: (base: EngineSpec, head: EngineSpec) => boolean,
): Counterparts {
	const ids = new Set(base.map(({ id }) => id));
	const found = new Map(head.flatMap(({ id }) => (ids.has(id) ? [[id, id] as const] : [])));
	const left = new Set(base.filter(({ id }) => !found.has(id)));
	const pairs = head
		.filter(({ id }) => !found.has(id))
		.flatMap((spec) =>
			[...left]
				.filter((other) => isSameContent(other, spec))
				.map((other) => ({ spec, other, score: likeness(other, spec) })),
		);
	for (const { spec, other } of pairs.sort((one, two) => two.score - one.score)) {
		if (found.has(spec.id) || !left.has(other)) continue;
		found.set(spec.id, other.id);
		left.delete(other);
	}
	return found;
}

function likeness(base: EngineSpec, head: EngineSpec): number {
	const points = [
		[8, base.engine.name === head.engine.name],
		[4, base.engine.precision === head.engine.precision],
		[2, base.model.name === head.model.name],
		[1, base.engine.onnx === head.engine.onnx],
	] as const;
	return points.reduce((sum, [score, holds]) => sum + (holds ? score : 0), 0);
}

/** The base's engine under the head's id. */
export function underNameOf(head: EngineSpec, base: EngineSpec): EngineSpec {
	if (base.id === head.id) return base;
	return {
		...base,
		id: head.id,
		was: base.id,
		model: { ...base.model, name: head.model.name },
		engine: { ...base.engine, name: head.engine.name },
	};
}
