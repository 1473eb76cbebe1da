// The padding probe: values that a mask or length excludes must not change the output.
import type { OnnxDim } from "../../onnx/model.ts";
import { encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import type { Comparison, Positions, ProbeCase, ProbeContext, ProbeRequest } from "./context.ts";
import { composeBatch, join, pick, upTo } from "./pool.ts";
import type { ProbeInput, ProbeSubject } from "./subject.ts";

const maskLabels = /(?:^|_|\b)(?:attention|input)_?mask$|^mask$/i;
const lengthLabels = /(?:^|_|\b)(?:lengths?|lens?)$/i;

type PaddingInput = {
	kind: "mask" | "length";
	input: ProbeInput;
	axis: string | number;
	places: ReadonlyMap<string, number>;
};

export function probePadding(context: ProbeContext): ProbeRequest | string {
	const paddingInput = findPaddingInput(context);
	if (typeof paddingInput === "string") return paddingInput;
	const size =
		typeof paddingInput.axis === "number" ? paddingInput.axis : (context.sizes.get(paddingInput.axis) ?? 1);
	if (size < 2) return `There is only one position along ${nameOf(paddingInput.axis)}.`;
	const counted = Math.floor(size / 2);
	const rows = upTo(context.rows);
	const plain = composeBatch(context.pool, rows);
	const shifted = composeBatch(
		context.pool,
		rows.map((row) => row + 1),
	);
	const cut = { paddingInput, size, counted };
	const zeros = padded(plain, zerosLike(plain), cut);
	const others = padded(plain, foreign(plain, shifted, cut), cut);
	const blind = [...paddingInput.places.keys()].every((name) => sameTensor(zeros[name], others[name]));
	if (blind) return "No input holds values that could fill the padding.";
	const batch = context.batch === null ? null : context.rows;
	const cases: ProbeCase[] = [
		{ id: "padding-zeros", inputs: zeros, batch },
		{ id: "padding-others", inputs: others, batch },
	];
	const positions: Positions = { axis: paddingInput.axis, counted, padded: size };
	const compare = (got: string, arithmetic: Comparison["arithmetic"]): Comparison => ({
		expected: { caseId: "padding-zeros", rows: batch === null ? null : rows },
		got: { caseId: got, rows: batch === null ? null : rows },
		arithmetic,
		positions,
	});
	const comparisons = [compare("padding-others", "same")];
	if (canBeShort(context, paddingInput.axis, counted)) {
		cases.push({ id: "padding-none", inputs: shortened(zeros, cut), batch });
		comparisons.push(compare("padding-none", "other"));
	}
	return { cases, comparisons };
}

/** The input that marks padding, and the position axis of every input that has one. */
function findPaddingInput({ subject, batch }: ProbeContext): PaddingInput | string {
	const named = subject.mask ?? subject.length;
	const input =
		named === undefined ? guessPaddingInput(subject) : subject.inputs.find(({ name }) => name === named);
	if (input === undefined) {
		return named === undefined
			? "No input is named like a mask or a length; set `probes: { mask: NAME }` or `length: NAME`."
			: `The model has no input ${JSON.stringify(named)}, which the config names.`;
	}
	const isMask = subject.mask !== undefined || (subject.length === undefined && maskLabels.test(input.name));
	const ofRows = batch?.axes ?? new Map<string, number>();
	const axis = isMask ? lastBeside(input, ofRows.get(input.name)) : positionsOf(subject, input, ofRows);
	if (typeof axis !== "string" && typeof axis !== "number")
		return `Input ${JSON.stringify(input.name)} has no axis of positions.`;
	const places = new Map<string, number>();
	for (const { name, axes } of subject.inputs) {
		const place = axes.findIndex((candidate, index) => candidate === axis && index !== ofRows.get(name));
		if (place >= 0) places.set(name, place);
	}
	return { kind: isMask ? "mask" : "length", input, axis, places };
}

/** Some frameworks set the mask to true for padding, so only names that mark counted positions qualify. */
function guessPaddingInput({ inputs }: ProbeSubject): ProbeInput | undefined {
	const whole = inputs.filter(({ dtype }) => !isFloating(dtype));
	return (
		whole.find(({ name, axes }) => maskLabels.test(name) && axes.length === 2) ??
		whole.find(({ name, axes }) => lengthLabels.test(name) && axes.length <= 1)
	);
}

function lastBeside({ axes }: ProbeInput, batchAxis: number | undefined): OnnxDim | undefined {
	return axes.length - 1 === batchAxis ? undefined : axes.at(-1);
}

/** A length counts along the first axis beside the rows of the first input that has one. */
function positionsOf(
	{ inputs }: ProbeSubject,
	paddingInput: ProbeInput,
	ofRows: ReadonlyMap<string, number>,
): OnnxDim | undefined {
	const holder =
		inputs.find(({ name, axes }) => name !== paddingInput.name && axes.length >= 2 && ofRows.has(name)) ??
		inputs.find(({ name, axes }) => name !== paddingInput.name && axes.length >= 1);
	return holder?.axes.find((_, index) => index !== ofRows.get(holder.name));
}

interface Cut {
	paddingInput: PaddingInput;
	size: number;
	/** Positions from here on are padding. */
	counted: number;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** The counted positions of `inputs`, the padding of `filling`, and which input marks it. */
function padded(
	inputs: Tensors,
	filling: Tensors,
	{ paddingInput, size, counted }: Cut,
): Record<string, Tensor> {
	const made: Record<string, Tensor> = Object.assign(Object.create(null), inputs);
	for (const [name, axis] of paddingInput.places) {
		const [counting, padding] = [
			part(inputs[name], axis, { from: 0, to: counted }),
			part(filling[name], axis, { from: counted, to: size }),
		];
		if (counting !== null && padding !== null) made[name] = join([counting, padding], axis);
	}
	const original = inputs[paddingInput.input.name];
	if (original !== undefined)
		made[paddingInput.input.name] = paddingTensor(original, { paddingInput, size, counted });
	return made;
}

function part(
	tensor: Tensor | undefined,
	axis: number,
	{ from, to }: { from: number; to: number },
): Tensor | null {
	return tensor === undefined ? null : pick(tensor, axis, upTo(to).slice(from));
}

function paddingTensor({ dtype, shape }: Tensor, { paddingInput, size, counted }: Cut): Tensor {
	if (paddingInput.kind === "length") return encodeTensor(dtype, shape, () => counted);
	return encodeTensor(dtype, shape, (index) => (index % size < counted ? 1 : 0));
}

function zerosLike(tensors: Tensors): Tensors {
	return mapTensors(tensors, (tensor) => ({ ...tensor, data: new Uint8Array(tensor.data.length) }));
}

/** Values for the padding: the next row's, rotated by one so that they differ even for a single row. */
function foreign(plain: Tensors, shifted: Tensors, { paddingInput, size }: Cut): Tensors {
	return mapTensors(plain, (tensor, name) => {
		const axis = paddingInput.places.get(name);
		const source = shifted[name] ?? tensor;
		return (
			(axis === undefined
				? null
				: pick(
						source,
						axis,
						upTo(size).map((place) => (place + 1) % size),
					)) ?? tensor
		);
	});
}

function mapTensors(tensors: Tensors, change: (tensor: Tensor, name: string) => Tensor): Tensors {
	const made: Record<string, Tensor> = Object.create(null);
	for (const [name, tensor] of Object.entries(tensors)) made[name] = change(tensor, name);
	return made;
}

function sameTensor(left: Tensor | undefined, right: Tensor | undefined): boolean {
	return left !== undefined && right !== undefined && Buffer.compare(left.data, right.data) === 0;
}

/** Whether the engine takes the counted positions alone. */
function canBeShort({ profile }: ProbeContext, axis: string | number, counted: number): boolean {
	const range = typeof axis === "string" && Object.hasOwn(profile, axis) ? profile[axis] : undefined;
	return range !== undefined && counted >= range.min && counted <= range.max;
}

function shortened(inputs: Tensors, { paddingInput, counted }: Cut): Record<string, Tensor> {
	const made: Record<string, Tensor> = Object.assign(Object.create(null), inputs);
	for (const [name, axis] of paddingInput.places) {
		const counting = part(inputs[name], axis, { from: 0, to: counted });
		if (counting !== null) made[name] = counting;
	}
	return made;
}

function nameOf(axis: string | number): string {
	return typeof axis === "string" ? JSON.stringify(axis) : "its axis of positions";
}
