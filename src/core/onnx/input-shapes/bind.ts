// Binds the axes of a model's inputs to the sizes that a configuration, options or real inputs give.
import { didYouMean } from "../../config/did-you-mean.ts";
import { childPointer } from "../../config/pointer.ts";
import { ConfigError } from "../../errors.ts";
import { listNames } from "../../text/labels.ts";
import { feeds, type OnnxModel, type OnnxNode, type OnnxValue } from "../model.ts";
import { formatDims, quoteName } from "../quote.ts";
import { inferShapes } from "../static-shapes/infer.ts";
import { inferTypes } from "../static-shapes/types.ts";
import { constantsIn, nodeLabel, scopesOf } from "../walk.ts";
import {
	type AxisLabel,
	type GivenShapes,
	isSize,
	labelAxes,
	type OpenAxis,
	openAxes,
	shapeGivenFor,
} from "./open-axes.ts";
import { proposeSizes } from "./propose.ts";
import { describeUses, lineToCopy } from "./render.ts";

export interface ShapeSource {
	dims: Readonly<Record<string, number>>;
	inputs: GivenShapes;
	/**
	 * JSON pointer of what has these sizes in the configuration, as if it held all that it inherits; absent where options of a
	 * command give the sizes.
	 */
	pointer?: string;
	shownBy?: string;
}

export interface BoundShapes {
	inputs: readonly OnnxValue[];
	labels: readonly (readonly AxisLabel[] | null)[];
	open: readonly OpenAxis[];
}

/** @throws ConfigError config-dims where a size binds nothing or contradicts the model. */
export function bindShapes(model: OnnxModel, given: ShapeSource): BoundShapes {
	const pinned = Object.entries(given.inputs).flatMap(([name, { pinned: shape }]) =>
		shape === undefined ? [] : [[name, { shape }] as const],
	);
	const source = overConfig(model, given, { dims: {}, inputs: Object.fromEntries(pinned) });
	const inputs = feeds(model.graph);
	checkSizes(source);
	checkInputNames(inputs, source);
	for (const input of inputs) checkRank(input, source);
	checkDimNames(model, inputs, source);
	const bySymbol = sizesBySymbol(inputs, source);
	const labels = labelAxes(inputs, source.inputs).map(
		(axes) => axes?.map((label) => sizeOf(label, bySymbol) ?? label) ?? null,
	);
	for (const [index, input] of inputs.entries()) checkShape(input, labels[index] ?? null, source);
	return { inputs, labels, open: openAxes(inputs, labels) };
}

function sizeOf(label: AxisLabel, bySymbol: ReadonlyMap<string, number>): number | undefined {
	if (typeof label === "number") return label;
	return label.isNamed ? bySymbol.get(label.name) : undefined;
}

function sizesBySymbol(
	inputs: readonly OnnxValue[],
	{ dims, inputs: given }: ShapeSource,
): Map<string, number> {
	const shown = new Map<string, Set<number>>();
	for (const input of inputs) {
		const shape = shapeGivenFor(input.name, given) ?? [];
		for (const [axis, dim] of (input.dims ?? []).entries()) {
			const part = shape[axis];
			const size = typeof part === "string" ? dims[part] : part;
			if (typeof dim === "string" && size !== undefined)
				shown.set(dim, (shown.get(dim) ?? new Set()).add(size));
		}
	}
	const agreed = [...shown].flatMap(([name, sizes]): [string, number][] =>
		sizes.size === 1 ? [[name, Math.max(...sizes)]] : [],
	);
	return new Map([...agreed, ...Object.entries(dims)]);
}

/** Options over a configuration: a shape that is given replaces what the configuration says of that input. */
export function overConfig(model: OnnxModel, configured: ShapeSource, given: ShapeSource): ShapeSource {
	const inputs = feeds(model.graph);
	const replaced = new Set<string>();
	for (const [index, axes] of labelAxes(inputs, configured.inputs).entries()) {
		const input = inputs[index];
		if (input === undefined || shapeGivenFor(input.name, given.inputs) === undefined) continue;
		for (const label of [...(axes ?? []), ...(input.dims ?? [])]) {
			if (typeof label === "string") replaced.add(label);
			else if (label !== null && typeof label !== "number") replaced.add(label.name);
		}
	}
	const kept = Object.entries(configured.dims).filter(([name]) => !replaced.has(name));
	return {
		...configured,
		dims: { ...Object.fromEntries(kept), ...given.dims },
		inputs: { ...configured.inputs, ...given.inputs },
	};
}

/** The shapes with the open axes filled, by input (the record has no prototype); null where a size is missing. */
export function fillShapes(
	bound: BoundShapes,
	sizes: ReadonlyMap<string, number>,
): Record<string, number[]> | null {
	const shapes: Record<string, number[]> = Object.create(null);
	for (const [index, input] of bound.inputs.entries()) {
		const shape = bound.labels[index]?.map((label) =>
			typeof label === "number" ? label : sizes.get(label.name),
		);
		if (shape === undefined || !shape.every((size) => size !== undefined)) return null;
		shapes[input.name] = shape;
	}
	return shapes;
}

function checkSizes(source: ShapeSource): void {
	const shapes = Object.entries(source.inputs).flatMap(([name, { shape }]) =>
		(shape ?? []).map((size) => [name, size] as const),
	);
	for (const [name, size] of [...Object.entries(source.dims), ...shapes]) {
		if (typeof size === "string" || isSize(size)) continue;
		const message = `The size of ${quoteName(name)} is ${size}.`;
		throw fault(source, { message, fix: "Give a whole number." });
	}
}

function checkInputNames(inputs: readonly OnnxValue[], source: ShapeSource): void {
	const known = inputs.map((input) => input.name);
	const unknown = Object.keys(source.inputs).find((name) => !known.includes(name));
	if (unknown === undefined) return;
	const message = `The model has no input ${quoteName(unknown)}; its inputs are ${listed(known)}.`;
	const fix = renameFix(unknown, known, source.pointer === undefined ? "--shape" : "inputs");
	throw fault(source, { message, fix, at: childPointer("/inputs", unknown) });
}

function checkDimNames(model: OnnxModel, inputs: readonly OnnxValue[], source: ShapeSource): void {
	const axes = openAxes(inputs, labelAxes(inputs));
	const symbols = axes.filter(({ isNamed }) => isNamed).map(({ name }) => name);
	const known = new Set([...symbols, ...Object.values(source.inputs).flatMap(({ shape }) => shape ?? [])]);
	const stray = Object.keys(source.dims).find((name) => !known.has(name));
	if (stray === undefined) return;
	const nameless = axes.filter(({ isNamed }) => !isNamed);
	const has = [
		...(symbols.length === 0 ? [] : [`the model's symbolic dimensions are ${listed(symbols)}`]),
		...(nameless.length === 0
			? []
			: [
					`${describeUses(nameless)} ${nameless.length === 1 ? "has" : "have"} no name of ${nameless.length === 1 ? "its" : "their"} own`,
				]),
	];
	const because = has.length === 0 ? "the model's inputs have fixed shapes" : has.join("; ");
	const message = `${dimsLabel(stray, source)} binds nothing: ${because}.`;
	const fix = strayFix(stray, { model, inputs, nameless, symbols }, source);
	throw fault(source, { message, fix, at: childPointer("/dims", stray) });
}

interface StrayContext {
	model: OnnxModel;
	inputs: readonly OnnxValue[];
	nameless: readonly OpenAxis[];
	symbols: readonly string[];
}

function strayFix(
	stray: string,
	{ model, inputs, nameless, symbols }: StrayContext,
	source: ShapeSource,
): string {
	if (nameless.length === 0 || didYouMean(stray, symbols) !== undefined)
		return renameFix(stray, symbols, source.pointer === undefined ? "--dims" : "dims");
	const labels = labelAxes(inputs);
	const open = openAxes(inputs, labels);
	return `Give whole shapes instead: ${lineToCopy({ inputs, labels, open }, proposeSizes(model, open), source.pointer === undefined ? "options" : "config")}`;
}

function renameFix(name: string, known: readonly string[], key: string): string {
	const nearest = didYouMean(name, known);
	return nearest === undefined
		? `Remove ${quoteName(name)} from ${key}, or export the model with it.`
		: `Did you mean ${quoteName(nearest)}? Rename ${quoteName(name)} in ${key}.`;
}

function checkRank(input: OnnxValue, source: ShapeSource): void {
	const given = shapeGivenFor(input.name, source.inputs);
	if (given === undefined || input.dims === null || input.dims.length === given.length) return;
	throw fault(source, {
		message: `${shapeLabel(input, source)} has ${given.length} dimensions, the model's input has ${input.dims.length}: ${formatDims(input.dims)}.`,
		fix: "Give one size for each dimension.",
		at: childPointer("/inputs", input.name),
	});
}

/** What a shape says must not contradict the model's fixed sizes, nor dims. */
function checkShape(input: OnnxValue, axes: readonly AxisLabel[] | null, source: ShapeSource): void {
	if (shapeGivenFor(input.name, source.inputs) === undefined || input.dims === null) return;
	for (const [axis, dim] of input.dims.entries()) {
		const size = axes?.[axis];
		if (typeof size !== "number" || dim === null || dim === size) continue;
		if (typeof dim === "number" && isSize(dim)) throw fixedFault(input, { axis, fixed: dim, size }, source);
		const bound = typeof dim === "string" && Object.hasOwn(source.dims, dim) ? source.dims[dim] : undefined;
		if (typeof dim !== "string" || bound === undefined || bound === size) continue;
		throw fault(source, {
			message: `Dimension ${quoteName(dim)} gets two sizes: ${bound} from ${dimsLabel(dim, source)} and ${size} from ${shapeLabel(input, source)}.`,
			fix: `Give one of the two, or the same size: ${dimsLabel(dim, source)} binds every axis of that name.`,
			at: childPointer("/inputs", input.name),
		});
	}
}

function fixedFault(
	input: OnnxValue,
	{ axis, fixed, size }: { axis: number; fixed: number; size: number },
	source: ShapeSource,
): ConfigError {
	return fault(source, {
		message: `${shapeLabel(input, source)} contradicts the model at axis ${axis}: it has ${size}, and the model's input is ${formatDims(input.dims ?? [])}.`,
		fix: `Give ${fixed} there, or export the model with a symbolic dimension.`,
		at: childPointer("/inputs", input.name),
	});
}

function dimsLabel(name: string, { pointer }: ShapeSource): string {
	return `${pointer === undefined ? "--dims " : "dims."}${quoteName(name, "")}`;
}

function shapeLabel({ name }: OnnxValue, { pointer, shownBy }: ShapeSource): string {
	if (shownBy !== undefined) return `Input ${quoteName(name)} of ${shownBy}`;
	return pointer === undefined ? `--shape ${quoteName(name, "")}` : `inputs.${quoteName(name, "")}.shape`;
}

function listed(names: readonly string[]): string {
	const quoted = names.map((name) => quoteName(name));
	return listNames(quoted, 10) || "none";
}

/** @param at the key at fault, below what has the sizes. */
export function fault(
	{ pointer }: Pick<ShapeSource, "pointer">,
	{ message, fix, at = "" }: { message: string; fix: string; at?: string },
): ConfigError {
	return new ConfigError({
		code: "config-dims",
		message,
		fix,
		pointer: pointer === undefined ? undefined : `${pointer}${at}`,
	});
}

// Checks concrete shapes of a model's inputs without running it: what contradicts itself can never run.

export type ShapeCheck = (shapes: Readonly<Record<string, readonly number[]>>) => string | null;

/** Why the model cannot run with these shapes; null where nothing speaks against it. Faults of the model itself are for preflight. */
export function shapeCheck(model: OnnxModel): ShapeCheck {
	const scopes = scopesOf(model);
	const [graph] = scopes;
	if (graph === undefined) return () => null;
	const constants = constantsIn(scopes);
	const types = inferTypes(model, scopes, { constants });
	const given = { constants: constants.get(graph) ?? new Map(), types: types.get(graph) ?? new Map() };
	const own = new Set<OnnxNode>(inferShapes(model, graph, given).faults.map(({ node }) => node));
	return (shapes) => {
		const inputs = model.graph.inputs.map((input) => ({
			...input,
			dims: Object.hasOwn(shapes, input.name) ? (shapes[input.name] ?? null) : input.dims,
		}));
		const { faults } = inferShapes({ ...model, graph: { ...model.graph, inputs } }, graph, given);
		const found = faults.find(({ node }) => !own.has(node));
		return found === undefined ? null : `${nodeLabel(found.node)} ${found.what}`;
	};
}
