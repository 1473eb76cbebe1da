// Binds the axes of a model's inputs to the sizes that a configuration, options or real inputs give.

import { ConfigError } from "../../errors.ts";
import { childPointer, didYouMean } from "../../found.ts";
import { groupBy } from "../../group.ts";
import { formatDims, quoteName } from "../../text/escape.ts";
import { listNames } from "../../text/labels.ts";
import { feeds, type OnnxModel, type OnnxNode, type OnnxValue } from "../model.ts";
import { factsOf, inferShapes } from "../static-shapes/infer.ts";
import { nodeLabel } from "../walk.ts";
import {
	type AxisLabel,
	describeShapes,
	describeUses,
	type GivenShapes,
	isSize,
	labelAxes,
	type OpenInputs,
	openAxes,
	shapeGivenFor,
} from "./open-axes.ts";

export interface ShapeSource {
	dims: Readonly<Record<string, number>>;
	inputs: GivenShapes;
	pointer?: string;
	shownBy?: string;
}

type Shapes = Readonly<Record<string, readonly number[]>>;

/** @throws ConfigError config-dims if a size binds nothing or contradicts the model. */
export function bindShapes(model: OnnxModel, given: ShapeSource): OpenInputs {
	const pinned = Object.entries(given.inputs).flatMap(([name, { pinned: shape }]) =>
		shape === undefined ? [] : [[name, { shape }] as const],
	);
	const source = overConfig(model, given, { dims: {}, inputs: Object.fromEntries(pinned) });
	const inputs = feeds(model.graph);
	checkNames(inputs, source);
	const bySymbol = sizesBySymbol(inputs, source);
	const labels = labelAxes(inputs, source.inputs).map(
		(axes) =>
			axes?.map((label) =>
				typeof label === "object" && label.isNamed ? (bySymbol.get(label.name) ?? label) : label,
			) ?? null,
	);
	for (const [index, input] of inputs.entries()) checkShape(input, labels[index] ?? null, source);
	return { inputs, labels, open: openAxes(inputs, labels) };
}

/** A symbol of the model has the size that `dims` gives, else the one on which the given shapes agree. */
function sizesBySymbol(inputs: readonly OnnxValue[], { dims, inputs: given }: ShapeSource) {
	const uses = inputs.flatMap(({ name, dims: symbols }) => {
		const shape = shapeGivenFor(name, given) ?? [];
		return (symbols ?? []).map((symbol, axis) => {
			const part = shape[axis];
			return { symbol, size: typeof part === "string" ? dims[part] : part };
		});
	});
	const shown = uses.filter(({ symbol, size }) => typeof symbol === "string" && size !== undefined);
	const agreed = [...groupBy(shown, ({ symbol }) => String(symbol))].flatMap(
		([symbol, [first, ...others]]): [string, number][] =>
			first?.size === undefined || others.some(({ size }) => size !== first.size)
				? []
				: [[symbol, first.size]],
	);
	return new Map([...agreed, ...Object.entries(dims)]);
}

export function overConfig(model: OnnxModel, configured: ShapeSource, given: ShapeSource): ShapeSource {
	const inputs = feeds(model.graph);
	const replaced = new Set<unknown>();
	for (const [index, axes] of labelAxes(inputs, configured.inputs).entries()) {
		const input = inputs[index];
		if (input === undefined || shapeGivenFor(input.name, given.inputs) === undefined) continue;
		for (const dim of input.dims ?? []) replaced.add(dim);
		for (const label of axes ?? []) if (typeof label === "object") replaced.add(label.name);
	}
	const kept = Object.entries(configured.dims).filter(([name]) => !replaced.has(name));
	return {
		...configured,
		dims: { ...Object.fromEntries(kept), ...given.dims },
		inputs: { ...configured.inputs, ...given.inputs },
	};
}

export function fillShapes(
	{ inputs, labels }: OpenInputs,
	sizes: ReadonlyMap<string, number>,
): Record<string, number[]> | null {
	const shapes: Record<string, number[]> = Object.create(null);
	for (const [index, input] of inputs.entries()) {
		const shape = labels[index]?.map((label) => (typeof label === "number" ? label : sizes.get(label.name)));
		if (shape === undefined || !shape.every((size) => size !== undefined)) return null;
		shapes[input.name] = shape;
	}
	return shapes;
}

function checkNames(inputs: readonly OnnxValue[], source: ShapeSource) {
	const isOption = source.pointer === undefined;
	const names = new Set(inputs.map(({ name }) => name));
	const stray = Object.keys(source.inputs).find((name) => !names.has(name));
	if (stray !== undefined) {
		const message = `The model has no input ${quoteName(stray)}; its inputs are ${listed([...names])}.`;
		const fix = renameFix(stray, [...names], isOption ? "--shape" : "inputs");
		throw fault(source, { message, fix, at: childPointer("/inputs", stray) });
	}
	const open = openAxes(inputs, labelAxes(inputs));
	const symbols = open.flatMap(({ name, isNamed }) => (isNamed ? [name] : []));
	const known = new Set([...symbols, ...Object.values(source.inputs).flatMap(({ shape }) => shape ?? [])]);
	const unbound = Object.keys(source.dims).find((name) => !known.has(name));
	if (unbound === undefined) return;
	const nameless = describeUses(open.filter(({ isNamed }) => !isNamed));
	const has = [
		...(symbols.length === 0 ? [] : [`the model's symbolic dimensions are ${listed(symbols)}`]),
		...(nameless === "" ? [] : [`${nameless} have no name`]),
	];
	const message = `${dimsLabel(unbound, source)} binds nothing: ${has.join("; ") || "the model's inputs have fixed shapes"}.`;
	const fix =
		nameless === "" || didYouMean(unbound, symbols) !== undefined
			? renameFix(unbound, symbols, isOption ? "--dims" : "dims")
			: `Give the input's whole shape ${isOption ? "with --shape" : "under `inputs`"}.`;
	throw fault(source, { message, fix, at: childPointer("/dims", unbound) });
}

function renameFix(name: string, known: readonly string[], key: string) {
	const nearest = didYouMean(name, known);
	return nearest === undefined
		? `Remove ${quoteName(name)} from ${key}, or export the model with it.`
		: `Did you mean ${quoteName(nearest)}?`;
}

function checkShape(input: OnnxValue, axes: readonly AxisLabel[] | null, source: ShapeSource) {
	const { name, dims } = input;
	const given = shapeGivenFor(name, source.inputs);
	if (given === undefined || dims === null) return;
	const label = shapeLabel(name, source);
	const at = childPointer("/inputs", name);
	const refuse = (what: string, fix: string) => fault(source, { message: `${what}.`, fix, at });
	if (dims.length !== given.length)
		throw refuse(
			`${label} has ${given.length} dimensions, the model's input has ${dims.length}: ${formatDims(dims)}`,
			"Give one size for each dimension.",
		);
	for (const [axis, dim] of dims.entries()) {
		const size = axes?.[axis];
		if (typeof size !== "number" || dim === null || dim === size) continue;
		if (typeof dim === "number" && isSize(dim))
			throw refuse(
				`${label} contradicts the model at axis ${axis}: it has ${size}, and the model's input is ${formatDims(dims)}`,
				`Give ${dim} there, or export the model with a symbolic dimension.`,
			);
		const bound = Object.hasOwn(source.dims, dim) ? (source.dims[dim] ?? size) : size;
		if (bound === size) continue;
		throw refuse(
			`Dimension ${quoteName(String(dim))} gets two sizes: ${bound} from ${dimsLabel(String(dim), source)} and ${size} from ${label}`,
			"Give one of the two, or the same size.",
		);
	}
}

function dimsLabel(name: string, { pointer }: ShapeSource) {
	return `${pointer === undefined ? "--dims " : "dims."}${quoteName(name, "")}`;
}

function shapeLabel(name: string, { pointer, shownBy }: ShapeSource) {
	if (shownBy !== undefined) return `Input ${quoteName(name)} of ${shownBy}`;
	return pointer === undefined ? `--shape ${quoteName(name, "")}` : `inputs.${quoteName(name, "")}.shape`;
}

function listed(names: readonly string[]) {
	const quoted = names.map((name) => quoteName(name));
	return listNames(quoted, 10) || "none";
}

export function fault(
	{ pointer }: Pick<ShapeSource, "pointer">,
	{ message, fix, at }: { message: string; fix: string; at: string },
): ConfigError {
	const place = pointer === undefined ? undefined : `${pointer}${at}`;
	return new ConfigError({ code: "config-dims", message, fix, pointer: place });
}

export type ShapeCheck = (shapes: Shapes) => string | null;

/** null: nothing speaks against these shapes. The model's own faults are for preflight. */
export function shapeCheck(model: OnnxModel): ShapeCheck {
	const { graph, static: open, ...facts } = factsOf(model);
	const own = new Set<OnnxNode>(open.faults.map(({ node }) => node));
	return (shapes) => {
		const inputs = model.graph.inputs.map((input) => ({
			...input,
			dims: Object.hasOwn(shapes, input.name) ? (shapes[input.name] ?? null) : input.dims,
		}));
		const { faults } = inferShapes({ ...model, graph: { ...model.graph, inputs } }, graph, facts);
		const found = faults.find(({ node }) => !own.has(node));
		return found === undefined ? null : `${nodeLabel(found.node)} ${found.what}`;
	};
}

/** @throws ConfigError config-dims if the model's nodes contradict these shapes, so that nothing can run them. */
export function refuseImpossible(check: ShapeCheck, shapes: Shapes, source: ShapeSource): void {
	const why = check(shapes);
	if (why === null) return;
	const given = source.shownBy === undefined ? "these sizes" : `the sizes of ${source.shownBy}`;
	const message = `The model cannot run with ${given}, ${describeShapes(shapes)}: ${why}.`;
	throw fault(source, { message, fix: "Give sizes that fit each other and the model.", at: "/dims" });
}
