// The probe of padding: what stands where a mask or a length says that nothing stands must not change the answer.
import type { OnnxDim } from "../../onnx/model.ts";
import { sameBytes } from "../compare/kernels.ts";
import { encodeTensor } from "../record/generators/encode.ts";
import { isFloating, type Tensor } from "../tensor/tensor.ts";
import type { Asked, Comparison, Positions, ProbeCase, ProbeContext } from "./context.ts";
import { composeBatch, join, pick, upTo } from "./pool.ts";
import type { ProbeInput, ProbeSubject } from "./subject.ts";

const maskLabels = /(?:^|_|\b)(?:attention|input)_?mask$|^mask$/i;
const lengthLabels = /(?:^|_|\b)(?:lengths?|lens?)$/i;

type Teller = { kind: "mask" | "length"; input: ProbeInput; axis: string | number; places: ReadonlyMap<string, number> };

export function probePadding(context: ProbeContext): Asked | string {
	const teller = findTeller(context);
	if (typeof teller === "string") return teller;
	const size = typeof teller.axis === "number" ? teller.axis : (context.sizes.get(teller.axis) ?? 1);
	if (size < 2) return `There is one position only along ${nameOf(teller.axis)}.`;
	const counted = Math.floor(size / 2);
	const rows = upTo(context.rows);
	const plain = composeBatch(context.pool, rows);
	const shifted = composeBatch(
		context.pool,
		rows.map((row) => row + 1),
	);
	const cut = { teller, size, counted };
	const zeros = padded(plain, zerosLike(plain), cut);
	const others = padded(plain, foreign(plain, shifted, cut), cut);
	const blind = [...teller.places.keys()].every((name) => sameTensor(zeros[name], others[name]));
	if (blind) return "No input holds anything that could stand in the padding.";
	const batch = context.batch === null ? null : context.rows;
	const cases: ProbeCase[] = [
		{ id: "padding-zeros", inputs: zeros, batch },
		{ id: "padding-others", inputs: others, batch },
	];
	const positions: Positions = { axis: teller.axis, counted, padded: size };
	const compare = (got: string, arithmetic: Comparison["arithmetic"]): Comparison => ({
		expected: { caseId: "padding-zeros", rows: batch === null ? null : rows },
		got: { caseId: got, rows: batch === null ? null : rows },
		arithmetic,
		positions,
	});
	const comparisons = [compare("padding-others", "same")];
	if (canBeShort(context, teller.axis, counted)) {
		cases.push({ id: "padding-none", inputs: shortened(zeros, cut), batch });
		comparisons.push(compare("padding-none", "other"));
	}
	return { cases, comparisons };
}

/** The input that tells padding, and the axis of positions of every input that has one. */
function findTeller({ subject, batch }: ProbeContext): Teller | string {
	const named = subject.mask ?? subject.length;
	const input = named === undefined ? guessTeller(subject) : subject.inputs.find(({ name }) => name === named);
	if (input === undefined) {
		return named === undefined
			? "No input tells padding by its name; `probes: { mask: NAME }` or `length: NAME` names one."
			: `The model has no input ${JSON.stringify(named)}, which probes names.`;
	}
	const isMask = subject.mask !== undefined || (subject.length === undefined && maskLabels.test(input.name));
	const ofRows = batch?.axes ?? new Map<string, number>();
	const axis = isMask ? lastBeside(input, ofRows.get(input.name)) : positionsOf(subject, input, ofRows);
	if (typeof axis !== "string" && typeof axis !== "number") return `Input ${JSON.stringify(input.name)} has no axis of positions.`;
	const places = new Map<string, number>();
	for (const { name, axes } of subject.inputs) {
		const place = axes.findIndex((candidate, index) => candidate === axis && index !== ofRows.get(name));
		if (place >= 0) places.set(name, place);
	}
	return { kind: isMask ? "mask" : "length", input, axis, places };
}

/** Masks of padding are true where nothing stands in some frameworks: only names that say what counts are believed. */
function guessTeller({ inputs }: ProbeSubject): ProbeInput | undefined {
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
function positionsOf({ inputs }: ProbeSubject, teller: ProbeInput, ofRows: ReadonlyMap<string, number>): OnnxDim | undefined {
	const holder =
		inputs.find(({ name, axes }) => name !== teller.name && axes.length >= 2 && ofRows.has(name)) ??
		inputs.find(({ name, axes }) => name !== teller.name && axes.length >= 1);
	return holder?.axes.find((_, index) => index !== ofRows.get(holder.name));
}

interface Cut {
	teller: Teller;
	size: number;
	/** Positions from here on are padding. */
	counted: number;
}

type Tensors = Readonly<Record<string, Tensor>>;

/** The counted positions of `inputs`, the padding of `filling`, and the teller's word on it. */
function padded(inputs: Tensors, filling: Tensors, { teller, size, counted }: Cut): Record<string, Tensor> {
	const made: Record<string, Tensor> = Object.assign(Object.create(null), inputs);
	for (const [name, axis] of teller.places) {
		const [kept, rest] = [part(inputs[name], axis, { from: 0, to: counted }), part(filling[name], axis, { from: counted, to: size })];
		if (kept !== null && rest !== null) made[name] = join([kept, rest], axis);
	}
	const told = inputs[teller.input.name];
	if (told !== undefined) made[teller.input.name] = tellerTensor(told, { teller, size, counted });
	return made;
}

function part(tensor: Tensor | undefined, axis: number, { from, to }: { from: number; to: number }): Tensor | null {
	return tensor === undefined ? null : pick(tensor, axis, upTo(to).slice(from));
}

function tellerTensor({ dtype, shape }: Tensor, { teller, size, counted }: Cut): Tensor {
	if (teller.kind === "length") return encodeTensor(dtype, shape, () => counted);
	return encodeTensor(dtype, shape, (index) => (index % size < counted ? 1 : 0));
}

function zerosLike(tensors: Tensors): Tensors {
	return mapTensors(tensors, (tensor) => ({ ...tensor, data: new Uint8Array(tensor.data.length) }));
}

/** What stands at other places: the next row's values, turned by one so that a lone row has others too. */
function foreign(plain: Tensors, shifted: Tensors, { teller, size }: Cut): Tensors {
	return mapTensors(plain, (tensor, name) => {
		const axis = teller.places.get(name);
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
	return left !== undefined && right !== undefined && sameBytes(left.data, right.data);
}

/** Whether the engine takes the counted positions alone. */
function canBeShort({ profile }: ProbeContext, axis: string | number, counted: number): boolean {
	const range = typeof axis === "string" && Object.hasOwn(profile, axis) ? profile[axis] : undefined;
	return range !== undefined && counted >= range.min && counted <= range.max;
}

function shortened(inputs: Tensors, { teller, counted }: Cut): Record<string, Tensor> {
	const made: Record<string, Tensor> = Object.assign(Object.create(null), inputs);
	for (const [name, axis] of teller.places) {
		const kept = part(inputs[name], axis, { from: 0, to: counted });
		if (kept !== null) made[name] = kept;
	}
	return made;
}

function nameOf(axis: string | number): string {
	return typeof axis === "string" ? JSON.stringify(axis) : "its axis of positions";
}
