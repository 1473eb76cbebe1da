// Resolves optimization profiles: each gives ranges over those of `dims`; without any there is one, `dims` itself.
import type { DimFile } from "../schema/config.ts";
import type { DimRange } from "./config.ts";
import { type Dims, resolveDims } from "./dims.ts";
import { childPointer, formatName } from "./pointer.ts";
import { complain, type Resolving } from "./resolving.ts";

/** At least one. */
export type DimProfiles = readonly [Dims, ...Dims[]];

export function resolveProfiles(
	resolving: Resolving,
	file: readonly Readonly<Record<string, DimFile>>[] | undefined,
	from: { pointer: string; dims: Dims },
): DimProfiles {
	const profiles = (file ?? []).map((dims, index) =>
		resolveDims(resolving, dims, { pointer: childPointer(from.pointer, index), inherited: from.dims }),
	);
	const names = new Set(profiles.flatMap((profile) => Object.keys(profile)));
	for (const [index, profile] of profiles.entries()) {
		const missing = [...names].find((name) => profile[name] === undefined);
		if (missing !== undefined) complainMissing(resolving, childPointer(from.pointer, index), missing);
	}
	const [first = from.dims, ...rest] = profiles;
	return [first, ...rest];
}

function complainMissing(resolving: Resolving, pointer: string, name: string): void {
	complain(resolving, {
		code: "config-dims",
		pointer,
		says: `says nothing of ${formatName(name)}, which another profile gives a range`,
		expected: "a range for every dimension in every profile",
		got: "missing",
		fix: `Add ${formatName(name)} here, or give it under dims for all profiles.`,
	});
}

/** What some profile holds, by dimension; the first profile's optimum. */
export function hullOf([first, ...rest]: DimProfiles): Dims {
	const hull: Record<string, DimRange> = Object.assign(Object.create(null), first);
	for (const profile of rest) {
		for (const [name, range] of Object.entries(profile)) {
			const known = hull[name] ?? range;
			hull[name] = { min: Math.min(known.min, range.min), opt: known.opt, max: Math.max(known.max, range.max) };
		}
	}
	return hull;
}

/** The first profile that holds all sizes, as TensorRT's users choose it; null where none does. */
export function profileFor(profiles: DimProfiles, sizes: ReadonlyMap<string, number>): Dims | null {
	const holds = (profile: Dims): boolean =>
		[...sizes].every(([name, size]) => {
			const range = profile[name];
			return range === undefined || (size >= range.min && size <= range.max);
		});
	return profiles.find(holds) ?? null;
}
