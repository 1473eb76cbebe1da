// Compares the inputs and outputs of every model between base and head.
import { interfaceRows } from "../core/onnx/describe.ts";
import type { InterfaceChange } from "../core/schema/result.ts";
import type { PreparedModel } from "./prepared.ts";

export interface Interfaces {
	/** One for each file that differs. */
	changes: readonly InterfaceChange[];
	/** Ids of the engines whose files differ. */
	engines: ReadonlySet<string>;
}

export function compareInterfaces(models: readonly PreparedModel[]): Interfaces {
	const changes = new Map<string, InterfaceChange>();
	const engines = new Set<string>();
	const ready = models.filter((prepared) => prepared.state === "ready");
	for (const { spec, model } of ready.filter(({ arm }) => arm === "head")) {
		const base = ready.find((prepared) => prepared.arm === "base" && prepared.spec.id === spec.id);
		const [first, ...others] = base === undefined ? [] : interfaceRows(base.model.onnx, model.onnx);
		if (first === undefined) continue;
		engines.add(spec.id);
		const own = spec.engine.onnx === spec.model.onnx ? {} : { engine: spec.engine.name };
		changes.set(JSON.stringify([spec.model.name, spec.engine.onnx]), { model: spec.model.name, ...own, rows: [first, ...others] });
	}
	return { changes: [...changes.values()], engines };
}
