// Resolves the ranges of symbolic dimensions and optimization profiles, and finds the dimensions that a config has to bind.
import type { DimFile } from "../../../generated/config.ts";
import { childPointer, formatName } from "../found.ts";
import { type AxisKind, kindsOf, labelAxes, openAxes } from "../onnx/input-shapes/open-axes.ts";
import { feeds, isTensor, type OnnxModel } from "../onnx/model.ts";
import { cleanName } from "../text/escape.ts";
import type { DimRange } from "./config.ts";
import { type Resolution, resolveEach } from "./source.ts";
import { checkName, isName } from "./values.ts";

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

export interface FoundDim {
	name: string;
	range: DimRange;
	where: string;
	isBatch: boolean;
}

export interface FoundDims {
	dims: readonly FoundDim[];
	shapes: readonly { input: string; shape: readonly (number | string)[] }[];
	unshaped: readonly string[];
}

export interface RangeEnds {
	batch?: boolean | undefined;
	smallest?: boolean | undefined;
	largest?: boolean | undefined;
}

export interface KnownSizes {
	sizes: ReadonlyMap<string, number>;
	given: ReadonlySet<string>;
	ends: RangeEnds;
}

const mostDims = 50;
const maxAxes = 16;

const nothing: KnownSizes = { sizes: new Map(), given: new Set(), ends: {} };

export function findDims(model: OnnxModel, known: KnownSizes = nothing): FoundDims {
	const all = [...new Map(feeds(model.graph).map((input) => [input.name, input])).values()];
	const usable = all.filter(({ dims, name }) => dims !== null && dims.length <= maxAxes && isName(name));
	const labels = labelAxes(usable);
	const open = openAxes(usable, labels).slice(0, mostDims);
	const kinds = kindsOf(model, open);
	const dims = open.map(({ name, uses: [use] }) => {
		const kind = kinds.get(name) ?? { says: "unknown", sizes: [1] };
		const where = `axis ${use?.axis} of ${cleanName(use?.input ?? "", 40)}: ${known.given.has(name) ? "given" : kind.says}`;
		return { name, range: rangeOf(name, kind, known), where, isBatch: kind.isBatch === true };
	});
	const summed = dims.map((dim) => ({ ...dim, range: sumOf(dim, dims) ?? dim.range }));
	const names = new Set(dims.map(({ name }) => name));
	const shapes = usable.flatMap(({ name }, index) => {
		const axes = labels[index] ?? [];
		const isKnown = axes.every((axis) => typeof axis === "number" || names.has(axis.name));
		return isKnown && axes.some((axis) => typeof axis !== "number" && !axis.isNamed)
			? [{ input: name, shape: axes.map((axis) => (typeof axis === "number" ? axis : axis.name)) }]
			: [];
	});
	return {
		dims: summed,
		shapes,
		unshaped: all
			.flatMap((input) => (usable.includes(input) || !isTensor(input) ? [] : [input.name]))
			.slice(0, mostDims),
	};
}

export function shortRange(range: DimRange): DimRange | number {
	return range.min === range.max ? range.opt : range;
}

/** The range of an axis named after others, such as `past_sequence_length + 1`. */
function sumOf({ name, range }: FoundDim, dims: readonly FoundDim[]) {
	const terms = name.split("+").map((term) => term.trim());
	const ranges = terms.map((term) =>
		/^\d{1,6}$/.test(term) ? fixedRange(Number(term)) : dims.find((dim) => dim.name === term)?.range,
	);
	if (terms.length < 2 || !ranges.every((term) => term !== undefined)) return null;
	const at = (end: keyof DimRange) => ranges.reduce((sum, term) => sum + term[end], 0);
	return at("opt") === range.opt ? { min: at("min"), opt: at("opt"), max: at("max") } : null;
}

const optimalBatch = 8;

function rangeOf(name: string, kind: AxisKind, { sizes, given, ends }: KnownSizes) {
	const chosen = sizes.get(name) ?? kind.sizes[0] ?? 1;
	const fixed = fixedRange(chosen);
	if (given.has(name) || kind.range === undefined) return fixed;
	const { min, max } = kind.range;
	if (kind.isBatch)
		return ends.batch === false
			? fixed
			: { min, opt: Math.max(optimalBatch, chosen), max: Math.max(max, chosen) };
	return {
		min: ends.smallest === false ? chosen : Math.min(min, chosen),
		opt: chosen,
		max: ends.largest === false ? chosen : Math.max(max, chosen),
	};
}

export function endsOf(
	found: FoundDims,
	chosen: ReadonlyMap<string, number>,
): [keyof RangeEnds, ReadonlyMap<string, number>][] {
	const at = (pick: (dim: FoundDim, size: number) => number) => {
		const sizes = [...chosen].map(([name, size]) => {
			const dim = found.dims.find((dim) => dim.name === name);
			return [name, dim === undefined ? size : pick(dim, size)] as const;
		});
		return new Map(sizes);
	};
	const ends: [keyof RangeEnds, ReadonlyMap<string, number>][] = [
		["batch", at(({ isBatch, range }, size) => (isBatch && range.max > size ? size + 1 : size))],
		["smallest", at(({ isBatch, range }, size) => (isBatch ? size : Math.min(range.min, size)))],
		["largest", at(({ isBatch, range }, size) => (isBatch ? size : Math.max(range.max, size)))],
	];
	return ends.filter(([, sizes]) => [...sizes].some(([name, size]) => size !== chosen.get(name)));
}
