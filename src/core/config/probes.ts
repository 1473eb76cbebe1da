// Resolves `probes`.
import type { ProbesFile } from "../../../generated/config.ts";
import type { ProbesConfig } from "./config.ts";
import { defaultProbes } from "./defaults.ts";
import type { Resolution } from "./problem.ts";
import { checkName } from "./values.ts";

export type ProbesLayer = Partial<Omit<ProbesConfig, "pointer">>;

export function* readProbes(file: ProbesFile | undefined, pointer: string): Resolution<ProbesLayer> {
	if (file === undefined) return {};
	if (typeof file === "string") return { when: file };
	if (Array.isArray(file)) return { when: "on", only: file };
	for (const key of ["mask", "length"] as const) {
		const name = file[key];
		if (name !== undefined) yield* checkName(`${pointer}/${key}`, { name, what: "an input", at: "value" });
	}
	if (file.mask !== undefined && file.length !== undefined) {
		const says = "is given together with mask; either one alone marks the padding";
		const fix = "Remove length where the model reads the mask.";
		yield { pointer: `${pointer}/length`, says, expected: "mask or length", fix, at: "key" };
	}
	return file;
}

/** Key by key; a model that names a mask replaces the file's length, and the reverse. */
export function mergeProbes(wide: ProbesLayer, narrow: ProbesLayer, pointer: string): ProbesConfig {
	const padding = narrow.mask !== undefined || narrow.length !== undefined ? narrow : wide;
	return {
		when: narrow.when ?? wide.when ?? defaultProbes.when,
		only: narrow.only ?? wide.only ?? defaultProbes.only,
		mask: padding.mask,
		length: padding.length,
		pointer,
	};
}
