// Gives every input of a model its concrete shape from the sizes that the configuration binds.

import type { InputConfig } from "../config/config.ts";
import { didYouMean } from "../config/did-you-mean.ts";
import { ConfigError } from "../errors.ts";
import { feeds, type OnnxDim, type OnnxModel, type OnnxValue } from "./model.ts";
import { quoteName } from "./quote.ts";

export interface ShapeOptions {
	/** Sizes by symbolic dimension. */
	dims: Readonly<Record<string, number>>;
	/** The escape hatch: whole shapes by input. */
	inputs: Readonly<Record<string, InputConfig>>;
	/** JSON pointer of the dims in the configuration, for the error. */
	pointer: string;
}

export interface SymbolicDim {
	name: string;
	/** Where it stands: input and axis. */
	uses: readonly { input: string; axis: number }[];
}

/** The symbolic dimensions of the inputs, in order of appearance. */
export function symbolicDims(model: OnnxModel): SymbolicDim[] {
	const found = new Map<string, { input: string; axis: number }[]>();
	for (const feed of feeds(model.graph)) {
		for (const [axis, dim] of (feed.dims ?? []).entries()) {
			if (typeof dim !== "string") continue;
			const uses = found.get(dim) ?? [];
			uses.push({ input: feed.name, axis });
			found.set(dim, uses);
		}
	}
	return [...found].map(([name, uses]) => ({ name, uses }));
}

interface Binding {
	size: number;
	/** For people: what bound it. */
	by: string;
}

interface ShapeBindings {
	options: ShapeOptions;
	bindings: Map<string, Binding>;
}

/**
 * The shapes of all inputs that a caller must feed, by name (the record has no prototype).
 * @throws ConfigError config-dims where a size is missing, binds nothing, or contradicts the model.
 */
export function resolveShapes(model: OnnxModel, options: ShapeOptions): Record<string, number[]> {
	const inputs = feeds(model.graph);
	const state: ShapeBindings = { options, bindings: new Map() };
	for (const [name, size] of Object.entries(options.dims))
		state.bindings.set(name, { size: checkedSize(size, name, options), by: `dims.${name}` });
	checkInputNames(inputs, options);
	checkDimNames(model, options);
	for (const input of inputs) bindFromShape(input, state);
	const shapes = Object.create(null) as Record<string, number[]>;
	for (const input of inputs) shapes[input.name] = shapeOf(input, state);
	return shapes;
}

function givenShape(input: OnnxValue, options: ShapeOptions): InputConfig["shape"] {
	return Object.hasOwn(options.inputs, input.name) ? options.inputs[input.name]?.shape : undefined;
}

function checkInputNames(inputs: readonly OnnxValue[], options: ShapeOptions): void {
	const known = inputs.map((input) => input.name);
	for (const name of Object.keys(options.inputs)) {
		if (known.includes(name)) continue;
		throw fault(options, {
			message: `The model has no input ${quoteName(name)}; its inputs are ${listed(known)}.`,
			fix: renameFix(name, known, "inputs"),
		});
	}
}

/** A key of dims must stand in the model's inputs, or in a shape that the configuration gives. */
function checkDimNames(model: OnnxModel, options: ShapeOptions): void {
	const symbols = symbolicDims(model).map((dim) => dim.name);
	const known = new Set(symbols);
	for (const { shape } of Object.values(options.inputs)) for (const dim of shape ?? []) if (typeof dim === "string") known.add(dim);
	for (const name of Object.keys(options.dims)) {
		if (known.has(name)) continue;
		const has = symbols.length === 0 ? "the model's inputs have fixed shapes" : `the model's symbolic dimensions are ${listed(symbols)}`;
		throw fault(options, { message: `dims.${quoteName(name, "")} binds nothing: ${has}.`, fix: renameFix(name, [...known], "dims") });
	}
}

function renameFix(name: string, known: readonly string[], key: string): string {
	const nearest = didYouMean(name, known);
	return nearest === undefined
		? `Remove ${quoteName(name)} from ${key}, or export the model with it.`
		: `Did you mean ${quoteName(nearest)}? Rename ${quoteName(name)} in ${key}.`;
}

/** A number that a given shape puts in a symbol's place binds the symbol for all inputs. */
function bindFromShape(input: OnnxValue, state: ShapeBindings): void {
	const given = givenShape(input, state.options);
	if (given === undefined || input.dims === null) return;
	checkRank(input, given, state.options);
	for (const [axis, dim] of input.dims.entries()) {
		const size = given[axis];
		if (typeof dim !== "string" || typeof size !== "number") continue;
		const by = `inputs.${quoteName(input.name, "")}.shape`;
		const bound = state.bindings.get(dim);
		if (bound === undefined) state.bindings.set(dim, { size, by });
		else if (bound.size !== size) {
			throw fault(state.options, {
				message: `Dimension ${quoteName(dim)} gets two sizes: ${bound.size} from ${bound.by} and ${size} from ${by}.`,
				fix: "Give it one size: every input that names a dimension has the same there.",
				expected: String(bound.size),
				got: String(size),
			});
		}
	}
}

function checkRank(input: OnnxValue, given: readonly (number | string)[], options: ShapeOptions): void {
	if (input.dims === null || input.dims.length === given.length) return;
	throw fault(options, {
		message: `inputs.${quoteName(input.name, "")}.shape has ${given.length} dimensions, the model's input has ${input.dims.length}: ${formatDims(input.dims)}.`,
		fix: "Give one entry for each dimension.",
		expected: formatDims(input.dims),
		got: formatDims(given),
	});
}

function shapeOf(input: OnnxValue, state: ShapeBindings): number[] {
	const { options } = state;
	const given = givenShape(input, options);
	if (given !== undefined) return given.map((dim, axis) => givenSize(input, { dim, axis }, state));
	if (input.dims === null) {
		throw fault(options, {
			message: `The model gives no shape for its input ${quoteName(input.name)} (${input.kind}).`,
			fix: shapeFix(input),
		});
	}
	return input.dims.map((dim, axis) => modelSize(input, { dim, axis }, state));
}

function givenSize(input: OnnxValue, at: { dim: number | string; axis: number }, state: ShapeBindings): number {
	const size = typeof at.dim === "number" ? checkedSize(at.dim, input.name, state.options) : boundSize(input, at.dim, state);
	const fixed = input.dims?.[at.axis];
	const expected = typeof fixed === "string" ? state.bindings.get(fixed)?.size : fixed;
	if (typeof expected !== "number" || expected === size) return size;
	throw fault(state.options, {
		message: `inputs.${quoteName(input.name, "")}.shape contradicts the model at axis ${at.axis}: the model's input is ${formatDims(input.dims ?? [])}.`,
		fix: `Give ${expected} there, or export the model with a symbolic dimension.`,
		expected: String(expected),
		got: String(size),
	});
}

function modelSize(input: OnnxValue, at: { dim: OnnxDim; axis: number }, state: ShapeBindings): number {
	if (typeof at.dim === "number") return at.dim;
	if (typeof at.dim === "string") return boundSize(input, at.dim, state);
	throw fault(state.options, {
		message: `Axis ${at.axis} of input ${quoteName(input.name)} is dynamic and has no name, so that dims cannot bind it: ${formatDims(input.dims ?? [])}.`,
		fix: shapeFix(input),
	});
}

function boundSize(input: OnnxValue, dim: string, state: ShapeBindings): number {
	const bound = state.bindings.get(dim);
	if (bound !== undefined) return bound.size;
	throw fault(state.options, {
		message: `Dimension ${quoteName(dim)} of input ${quoteName(input.name)} has no size: ${formatDims(input.dims ?? [])}.`,
		fix: `Bind it in trtgate.yml: \`dims: { ${quoteName(dim, "")}: 1 }\` with the size you serve.`,
	});
}

function checkedSize(size: number, name: string, options: ShapeOptions): number {
	if (Number.isSafeInteger(size) && size >= 0) return size;
	throw fault(options, {
		message: `The size of ${quoteName(name)} is ${size}.`,
		fix: "Give a whole number.",
		expected: "a whole number",
		got: String(size),
	});
}

function shapeFix(input: OnnxValue): string {
	const example = (input.dims ?? ["batch", 3, 224, 224]).map((dim) => dim ?? 1).join(", ");
	return `Give its shape in trtgate.yml: \`inputs: { ${quoteName(input.name, "")}: { shape: [${example}] } }\`.`;
}

/** A shape for people: `[batch, 3, ?, 224]`. */
export function formatDims(dims: readonly OnnxDim[]): string {
	return `[${dims.map((dim) => (typeof dim === "string" ? quoteName(dim, "") : (dim ?? "?"))).join(", ")}]`;
}

function listed(names: readonly string[]): string {
	const shown = names.slice(0, 10).map((name) => quoteName(name));
	if (shown.length === 0) return "none";
	return names.length > shown.length ? `${shown.join(", ")} and ${names.length - shown.length} more` : shown.join(", ");
}

function fault(options: ShapeOptions, what: { message: string; fix: string; expected?: string; got?: string }): ConfigError {
	const { message, ...details } = what;
	return new ConfigError({ code: "config-dims", message, details: { ...details, pointer: options.pointer } });
}
