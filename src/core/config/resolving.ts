// What every resolver of the config shares: where values stand, what was complained of, where values came from.
import { type Complaint, maxErrors, type Origin } from "./complaint.ts";
import type { Source } from "./config.ts";

export interface Resolving extends Origin {
	/** One complaint per place: the first. */
	complaints: Map<string, Complaint>;
	sources: Record<string, Source>;
}

export function startResolving(origin: Origin): Resolving {
	const sources: Record<string, Source> = Object.create(null);
	for (const [pointer, place] of origin.places) {
		sources[pointer] = { kind: "file", path: origin.path, ...(place.key ?? place.value) };
	}
	for (const [pointer, name] of origin.inputs) sources[pointer] = { kind: "input", name };
	return { ...origin, complaints: new Map(), sources };
}

/** More complaints than are shown cost time and help nobody. */
export function hasEnough({ complaints }: Resolving): boolean {
	return complaints.size > maxErrors;
}

export function complain(resolving: Resolving, complaint: Complaint): void {
	if (!resolving.complaints.has(complaint.pointer)) resolving.complaints.set(complaint.pointer, complaint);
}

/** The value of the file or an input where there is one; else the default, whose use is noted. */
export function orDefault<Value>(resolving: Resolving, pointer: string, values: { given: Value | undefined; byDefault: Value }): Value {
	if (values.given !== undefined) return values.given;
	resolving.sources[pointer] ??= { kind: "default" };
	return values.byDefault;
}
