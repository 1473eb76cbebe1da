// Finds the dimensions of a model's inputs that a config has to bind, with a range for each.
import { type AxisKind, kindsOf, labelAxes, openAxes } from "../onnx/input-shapes/open-axes.ts";
import { feeds, isTensor, type OnnxModel } from "../onnx/model.ts";
import { cleanName } from "../text/escape.ts";
import type { DimRange } from "./config.ts";
import { fixedRange } from "./dims.ts";
import { isName } from "./values.ts";

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
	/** Sizes that the user gave; their ranges are fixed. */
	given: ReadonlySet<string>;
	ends: RangeEnds;
}

const maxDims = 50;
const maxAxes = 16;

const nothing: KnownSizes = { sizes: new Map(), given: new Set(), ends: {} };

export function findDims(model: OnnxModel, known: KnownSizes = nothing): FoundDims {
	const all = [...new Map(feeds(model.graph).map((input) => [input.name, input])).values()];
	const usable = all.filter(({ dims, name }) => dims !== null && dims.length <= maxAxes && isName(name));
	const labels = labelAxes(usable);
	const open = openAxes(usable, labels).slice(0, maxDims);
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
			.slice(0, maxDims),
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
