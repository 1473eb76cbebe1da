// The folders and models of both sides.

import type { Arm, ArmSource, ErrorRecord, InterfaceChange, InterfaceRow } from "../../generated/result.ts";
import type { ConfigError } from "../core/errors.ts";
import { interfaceRows } from "../core/onnx/describe.ts";
import type { EngineAssets, EngineSpec } from "../core/plan/plan.ts";
import { formatRange, type RecipeOf } from "../core/plan/recipe.ts";
import type { BuiltEngine } from "../ports/backend.ts";
import type { ModelOnDisk } from "../ports/world.ts";

export interface ArmFolder {
	arm: Arm;
	path: string;
	/** Of the commit's checkout; absent for a folder of the user's. */
	root?: string;
	source: ArmSource;
	/** Why files are still Git LFS pointers: a sentence, and a fix. */
	lfsProblem?: { reason: string; fix: string };
	/** Returns a clause; null if the side really has no such file. */
	whyAbsent?(path: string): Promise<string | null>;
}

export type PreparedModel =
	| { state: "ready"; spec: EngineSpec; arm: Arm; model: ModelOnDisk; assets?: EngineAssets }
	/** `isNew`: the base's config does not name it either. */
	| { state: "missing"; spec: EngineSpec; arm: Arm; isNew: boolean; reason: string }
	/** Nothing can be compared: an error of the run. */
	| { state: "broken"; spec: EngineSpec; arm: "base"; error: ErrorRecord }
	/** Fails only this engine's build; all others are checked. */
	| { state: "broken"; spec: EngineSpec; arm: "head"; fault: ConfigError };

export type ReadyModel = Extract<PreparedModel, { state: "ready" }>;

export function sidesOf<Entry extends { arm: Arm }>(
	entries: readonly Entry[],
	fits: (entry: Entry) => boolean,
): Partial<Record<Arm, Entry>> {
	return Object.fromEntries(entries.filter(fits).map((entry) => [entry.arm, entry]));
}

export function recipeOf({ spec, model, assets }: Pick<BuiltEngine, "spec" | "model" | "assets">): RecipeOf {
	return { spec, modelSha256: model.sha256, assets };
}

export type Interfaces = ReturnType<typeof compareInterfaces>;

export function compareInterfaces(models: readonly PreparedModel[]) {
	const changes = new Map<string, InterfaceChange>();
	const engines = new Set<string>();
	const ready = models.filter((prepared) => prepared.state === "ready");
	for (const { spec, model } of ready.filter(({ arm }) => arm === "head")) {
		const { base } = sidesOf(ready, (prepared) => prepared.spec.id === spec.id);
		if (base === undefined) continue;
		const { name: engine, onnx } = spec.engine;
		const { name } = spec.model;
		const [first, ...others] = interfaceRows(base.model.onnx, model.onnx);
		if (first !== undefined) {
			engines.add(spec.id);
			const variant = onnx === spec.model.onnx ? undefined : engine;
			changes.set(JSON.stringify([name, onnx]), { model: name, engine: variant, rows: [first, ...others] });
		}
		const [narrower, ...more] = narrowerRanges(base.spec, spec);
		if (narrower !== undefined)
			changes.set(JSON.stringify([spec.id]), { model: name, engine, rows: [narrower, ...more] });
	}
	return { changes: [...changes.values()], engines };
}

function narrowerRanges({ engine: base }: EngineSpec, { engine: head }: EngineSpec) {
	return Object.entries(base.dims).flatMap(([name, was]): InterfaceRow[] => {
		const is = head.dims[name];
		if (is === undefined || (is.min <= was.min && is.max >= was.max)) return [];
		const value = (range: typeof was) => ({ name, dtype: "sizes", shape: formatRange(range) });
		return [{ side: "size", base: value(was), head: value(is) }];
	});
}
