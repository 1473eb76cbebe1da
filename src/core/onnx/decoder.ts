// Recognises a decoder that carries a state from step to step: which dimensions grow, and which outputs feed which inputs.
import type { DecoderFile } from "../../../generated/config.ts";
import { ConfigError } from "../errors.ts";
import { quoteName } from "../text/escape.ts";
import { listNames } from "../text/labels.ts";
import { type AxisLabel, type GivenShapes, labelAxes } from "./input-shapes/open-axes.ts";
import { feeds, type OnnxDim, type OnnxModel, type OnnxValue } from "./model.ts";

export interface DecoderDims {
	seq: string;
	past: string;
	total?: string | undefined;
}

/** By the config, else by the names; null if several names or none are like it. */
export function decoderDims(names: readonly string[], given: DecoderFile = {}): DecoderDims | null {
	const isTotal = (name: string) => name === given.total || /total|\+/i.test(name);
	const isPast = (name: string) => /past|cache/i.test(name) && !isTotal(name);
	const isSeq = (name: string) => /seq|len|token/i.test(name) && !isTotal(name) && !isPast(name);
	const only = (test: (name: string) => boolean, ...taken: (string | undefined)[]) => {
		const [first, second] = names.filter((name) => test(name) && !taken.includes(name));
		return second === undefined ? first : undefined;
	};
	const seq = given.seq ?? only(isSeq, given.past);
	const past = given.past ?? only(isPast, given.seq);
	const total = given.total ?? only(isTotal, seq, past);
	return seq === undefined || past === undefined ? null : { seq, past, total };
}

type Axes = Readonly<Record<string, number>>;

export interface Decoder {
	/** Inputs that hold only a step's own positions. */
	each: Axes;
	/** Inputs that also hold the positions before. */
	all: Axes;
	outputs: Axes;
	state: readonly DecoderState[];
	dims: Partial<DecoderDims>;
}

interface DecoderState {
	input: OnnxValue;
	output: OnnxValue;
	axes: readonly OnnxDim[];
	/** The axis that grows; null: its size stays. */
	past: number | null;
	/** The axis of the rows that the tokens have too. */
	batch: number | null;
}

export interface DecoderSource {
	inputs: GivenShapes;
	decoder?: DecoderFile | undefined;
	pointer?: string | undefined;
}

/** null: no output feeds an input. @throws ConfigError config-dims if `decoder` names what the model does not have. */
export function findDecoder(model: OnnxModel, source: DecoderSource): Decoder | null {
	const { decoder = {}, inputs: given } = source;
	const pairs = statePairs(model, source);
	if (pairs.length === 0) return null;
	const ins = feeds(model.graph);
	const all = labelAxes(ins, given);
	const labels = new Map(ins.map(({ name }, at) => [name, (all[at] ?? []).map(dimOf)]));
	const names = [...new Set([...labels.values()].flat().filter((axis) => typeof axis === "string"))];
	const dims: Partial<DecoderDims> = decoderDims(names, decoder) ?? decoder;
	const { seq, past, total } = dims;
	const rows = [...labels.values()].find((axes) => axes.length > 1 && axes.includes(seq ?? ""))?.[0];
	const state = pairs.map(({ input, output }) => {
		const axes = labels.get(input.name) ?? [];
		const batch = typeof rows === "string" ? axisOf(axes, rows) : null;
		return { input, output, axes, past: axisOf(axes, past), batch };
	});
	const stateNames = new Set(pairs.flatMap(({ input, output }) => [input.name, output.name]));
	const axesOf = (values: Iterable<[string, number | null]>) =>
		Object.fromEntries([...values].filter(([name, axis]) => axis !== null && !stateNames.has(name))) as Axes;
	// Some exporters give a mask over all positions the dimension of the new tokens.
	const isMask = (name: string) => /mask/i.test(name);
	const entries = [...labels];
	return {
		each: axesOf(entries.map(([name, axes]) => [name, isMask(name) ? null : axisOf(axes, seq)])),
		all: axesOf(
			entries.map(([name, axes]) => [name, axisOf(axes, total) ?? (isMask(name) ? axisOf(axes, seq) : null)]),
		),
		outputs: axesOf(model.graph.outputs.map(({ name, dims }) => [name, axisOf(dims ?? [], seq)])),
		state,
		dims: { seq, past, total },
	};
}

function dimOf(axis: AxisLabel) {
	return typeof axis === "number" ? axis : axis.name;
}

function axisOf(axes: readonly OnnxDim[], dim: string | undefined) {
	const at = dim === undefined ? -1 : axes.indexOf(dim);
	return at < 0 ? null : at;
}

const likeOutputs = ["present", "present_key_values"];

function statePairs({ graph }: OnnxModel, { decoder: { state = {} } = {}, pointer }: DecoderSource) {
	const ins = feeds(graph);
	const stated = Object.entries(state).map(([input, output]) => ({
		input: findNamed(ins, input, { what: "input", pointer }),
		output: findNamed(graph.outputs, output, { what: "output", pointer }),
	}));
	const others = ins.flatMap((input) => {
		const [, rest] = /^past(?:_key_values)?(?=[._\d])(.*)$/.exec(input.name) ?? [];
		if (rest === undefined || Object.hasOwn(state, input.name)) return [];
		const wanted = likeOutputs.map((like) => `${like}${rest}`);
		const output = graph.outputs.find(({ name }) => wanted.includes(name));
		return output === undefined ? [] : [{ input, output }];
	});
	return [...stated, ...others];
}

function findNamed(
	values: readonly OnnxValue[],
	name: string,
	{ what, pointer }: { what: string; pointer: string | undefined },
) {
	const found = values.find((value) => value.name === name);
	if (found !== undefined) return found;
	const names = listNames(
		values.map((value) => quoteName(value.name)),
		20,
	);
	throw new ConfigError({
		code: "config-dims",
		message: `\`decoder.state\` names the ${what} ${quoteName(name)}, which the model does not have; its ${what}s are ${names}.`,
		fix: "Write input: output, as the ONNX file names them.",
		pointer,
	});
}
