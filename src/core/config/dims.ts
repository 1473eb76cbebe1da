// Resolves the ranges of symbolic dimensions, and optimization profiles.
import type { DimFile } from "../../../generated/config.ts";
import type { DimRange } from "./config.ts";
import { childPointer, formatName } from "./pointer.ts";
import { type Resolution, resolveEach } from "./source.ts";
import { checkName } from "./values.ts";

export type Dims = Readonly<Record<string, DimRange>>;

export const maxDims = 200;

export function fixedRange(size: number): DimRange {
	return { min: size, opt: size, max: size };
}

export function* resolveDims(
	file: Readonly<Record<string, DimFile>> | undefined,
	from: { pointer: string; inherited?: Dims },
): Resolution<Dims> {
	const dims: Record<string, DimRange> = Object.assign(Object.create(null), from.inherited);
	for (const [name, size] of Object.entries(file ?? {})) {
		const pointer = childPointer(from.pointer, name);
		yield* checkName(pointer, { name, what: "a dimension" });
		const { min, opt, max } = typeof size === "number" ? fixedRange(size) : size;
		dims[name] = { min, opt, max };
		if (min <= opt && opt <= max) continue;
		const fix = "Put the three sizes in order; opt is the size that the engine is tuned for.";
		const says = `has min ${min}, opt ${opt}, max ${max}`;
		yield { code: "config-dims", pointer, says, expected: "min <= opt <= max", fix };
	}
	return dims;
}

export function optimalSizes(dims: Dims): Record<string, number> {
	const sizes: Record<string, number> = Object.create(null);
	for (const [name, range] of Object.entries(dims)) sizes[name] = range.opt;
	return sizes;
}

export type DimProfiles = readonly [Dims, ...Dims[]];

export function* resolveProfiles(
	file: readonly Readonly<Record<string, DimFile>>[] | undefined,
	from: { pointer: string; dims: Dims },
): Resolution<DimProfiles> {
	const inherited = from.dims;
	const profiles = yield* resolveEach(file ?? [], (dims, index) =>
		resolveDims(dims, { pointer: `${from.pointer}/${index}`, inherited }),
	);
	const names = new Set(profiles.flatMap((profile) => Object.keys(profile)));
	for (const [index, profile] of profiles.entries()) {
		const missing = [...names].find((name) => profile[name] === undefined);
		if (missing === undefined) continue;
		const says = `has no range for ${formatName(missing)}, which another profile has`;
		const fix = `Add ${formatName(missing)} here, or give it under dims for all profiles.`;
		const expected = "a range for every dimension in every profile";
		yield { code: "config-dims", pointer: `${from.pointer}/${index}`, says, expected, fix };
	}
	const [first = from.dims, ...rest] = profiles;
	return [first, ...rest];
}

export function hullOf([first, ...rest]: DimProfiles): Dims {
	const hull: Record<string, DimRange> = Object.assign(Object.create(null), first);
	for (const profile of rest) {
		for (const [name, range] of Object.entries(profile)) {
			const known = hull[name] ?? range;
			hull[name] = {
				min: Math.min(known.min, range.min),
				opt: known.opt,
				max: Math.max(known.max, range.max),
			};
		}
	}
	return hull;
}

/** @param all sizes that one profile has to hold. */
export function profileFor(
	profiles: DimProfiles,
	all: readonly Readonly<Record<string, number>>[],
): Dims | null {
	const fits = (size: number, range: DimRange | undefined) =>
		range === undefined || (size >= range.min && size <= range.max);
	return (
		profiles.find((profile) =>
			all.every((sizes) => Object.entries(sizes).every(([name, size]) => fits(size, profile[name]))),
		) ?? null
	);
}
