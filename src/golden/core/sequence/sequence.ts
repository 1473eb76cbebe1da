// Cases that are sequences: the interface that a decoder has over all steps, what each step gets, and what is compared.
import type { GoldenManifest, Sequence, SequenceState } from "../../../../generated/golden.ts";
import type { Decoder } from "../../../core/onnx/decoder.ts";
import { feeds, type OnnxModel, type OnnxValue, toDType } from "../../../core/onnx/model.ts";
import { quoteName } from "../../../core/text/escape.ts";
import { cutRanges, joinTensors, own, type Tensor, type Tensors, tensorBytes } from "../tensor/tensor.ts";

export type { Sequence };

type Shapes = Readonly<Record<string, { shape: readonly number[] }>>;

export function sequenceOf(
	{ each, all, outputs, state }: Decoder,
	steps: number,
	sizeOf: (dim: string) => number,
): Sequence {
	const entries = state.map(({ input, output, axes: dims, past, batch }) => {
		const dtype = toDType(input.dtype) ?? undefined;
		if (past === null || dtype === undefined) return [input.name, { output: output.name }] as const;
		const shape = dims.map((dim, at) =>
			at === past ? 0 : typeof dim === "number" ? dim : sizeOf(dim ?? ""),
		);
		const rows = batch === null ? {} : { batch };
		return [input.name, { output: output.name, dtype, shape, axis: past, ...rows }] as const;
	});
	return { steps, each, all, outputs, state: Object.fromEntries(entries) };
}

/** The model as its cases show it: without what only goes from step to step. */
export function overSteps(model: OnnxModel, sequence: Sequence | undefined): OnnxModel {
	if (sequence === undefined) return model;
	const { each, all = {}, state } = sequence;
	const begun = new Set(Object.keys(state).filter((name) => state[name]?.shape !== undefined));
	const given = new Set(Object.values(state).map(({ output }) => output));
	const { graph } = model;
	const [first] = Object.entries(each);
	const positions = graph.inputs.find(({ name }) => name === first?.[0])?.dims?.[first?.[1] ?? 0] ?? null;
	const whole = (value: OnnxValue) => {
		const axis = own(all, value.name);
		const dims = value.dims?.map((dim, at) => (at === axis ? positions : dim)) ?? null;
		return axis === undefined ? value : { ...value, dims };
	};
	const inputs = graph.inputs.filter(({ name }) => !begun.has(name)).map(whole);
	const outputs = graph.outputs.filter(({ name }) => !given.has(name));
	return { ...model, graph: { ...graph, inputs, outputs } };
}

export function sequenceMisfit({ sequence }: GoldenManifest, { graph }: OnnxModel): string | null {
	const inputs = feeds(graph);
	for (const [name, { output, shape, dtype }] of Object.entries(sequence?.state ?? {})) {
		const input = inputs.find((value) => value.name === name);
		if (input === undefined) return `the model has no input ${quoteName(name)}, which carries its state`;
		const isLike = shape === undefined || input.dims === null || input.dims.length === shape.length;
		if (!isLike || (dtype !== undefined && toDType(input.dtype) !== dtype))
			return `input ${quoteName(name)}, which carries its state, has another type or rank`;
		if (!graph.outputs.some((value) => value.name === output))
			return `the model has no output ${quoteName(output)}, which carries its state`;
	}
	return null;
}

interface Span {
	from: number;
	to: number;
}

export function spansOf({ steps, each }: Sequence, inputs: Shapes): Span[] {
	const [[name, axis] = ["", 0]] = Object.entries(each);
	const length = own(inputs, name)?.shape[axis] ?? 1;
	const singles = Math.min(steps, length - 1);
	const begin = { from: 0, to: length - singles };
	return [
		begin,
		...Array.from({ length: singles }, (_, at) => ({ from: begin.to + at, to: begin.to + at + 1 })),
	];
}

export function stepShapes(sequence: Sequence, inputs: Shapes): Record<string, { shape: number[] }>[] {
	const { each, all = {}, state } = sequence;
	return spansOf(sequence, inputs).map(({ from, to }) => {
		const resize = (shape: readonly number[], axis: number | undefined, size: number) => ({
			shape: shape.map((known, at) => (at === axis ? size : known)),
		});
		const fed = Object.entries(inputs).map(([name, { shape }]) => {
			const axis = own(each, name);
			return [name, axis === undefined ? resize(shape, own(all, name), to) : resize(shape, axis, to - from)];
		});
		const carried = Object.entries(state).flatMap(([name, one]) =>
			one.shape === undefined ? [] : [[name, resize(beginShape(one, sequence, inputs), one.axis, from)]],
		);
		return Object.fromEntries([...fed, ...carried]);
	});
}

export async function runSteps(
	sequence: Sequence,
	inputs: Tensors,
	run: (feeds: Tensors) => Promise<Tensors>,
): Promise<Record<string, Tensor>> {
	let carried = beginning(sequence, inputs);
	const steps: Tensors[] = [];
	for (const span of spansOf(sequence, inputs)) {
		const outputs = await run({ ...cutInputs(sequence, inputs, span), ...carried });
		const next = Object.entries(sequence.state).map(([name, { output }]) => {
			const tensor = own(outputs, output);
			if (tensor === undefined) throw new Error(`Output ${output} is missing.`);
			return [name, tensor] as const;
		});
		carried = Object.fromEntries(next);
		steps.push(outputs);
	}
	return joinSteps(sequence, steps);
}

export function firstStep(sequence: Sequence, inputs: Tensors): Tensors {
	const [span = { from: 0, to: 1 }] = spansOf(sequence, inputs);
	return { ...cutInputs(sequence, inputs, span), ...beginning(sequence, inputs) };
}

function cutInputs({ each, all }: Sequence, inputs: Tensors, { from, to }: Span) {
	const cut = Object.entries(inputs).map(([name, tensor]) => {
		const [single, grown] = [own(each, name), own(all, name)];
		if (single !== undefined) return [name, cutRanges(tensor, single, [[from, to]])];
		return [name, grown === undefined ? tensor : cutRanges(tensor, grown, [[0, to]])];
	});
	return Object.fromEntries(cut);
}

export function beginning(sequence: Sequence, inputs: Shapes): Tensors {
	const begun = Object.entries(sequence.state).flatMap(([name, one]) => {
		if (one.shape === undefined) return [];
		const { dtype = "float32" } = one;
		const shape = beginShape(one, sequence, inputs);
		return [[name, { dtype, shape, data: new Uint8Array(tensorBytes({ dtype, shape })) }]];
	});
	return Object.fromEntries(begun);
}

function beginShape({ shape = [], batch }: SequenceState, { each }: Sequence, inputs: Shapes) {
	const [tokens = ""] = Object.keys(each);
	const rows = own(inputs, tokens)?.shape[0] ?? 1;
	return shape.map((size, at) => (at === batch ? rows : size));
}

function joinSteps({ outputs: axes = {}, state }: Sequence, steps: readonly Tensors[]) {
	const given = new Set(Object.values(state).map(({ output }) => output));
	const names = Object.keys(steps[0] ?? {}).filter((name) => !given.has(name));
	return Object.fromEntries(
		names.map((name) => {
			const axis = own(axes, name);
			const [first, ...others] = steps
				.flatMap((outputs) => own(outputs, name) ?? [])
				.map((part) => (axis === undefined ? part : lastOf(part, axis)))
				.map((part) => (part.shape.length === 0 ? { ...part, shape: [1] } : part));
			const along = axis ?? 0;
			const beside = ({ shape }: Tensor) => shape.toSpliced(along, 1).join();
			if (
				first === undefined ||
				along >= first.shape.length ||
				others.some((part) => beside(part) !== beside(first))
			)
				throw new Error(`Output ${name} has another shape in each step, so it cannot be compared.`);
			return [name, joinTensors([first, ...others], along)];
		}),
	);
}

function lastOf(tensor: Tensor, axis: number) {
	const size = tensor.shape[axis] ?? 1;
	return cutRanges(tensor, axis, [[Math.max(0, size - 1), size]]);
}

export function positionAfter(sequence: Sequence, inputs: Shapes, step: number): number {
	return (spansOf(sequence, inputs)[step]?.to ?? 1) - 1;
}
