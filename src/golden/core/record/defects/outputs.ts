// Defects of the output itself, as a fault behind the last layer would cause.
import { elementCount, isFloating, type Tensor } from "../../tensor/tensor.ts";
import { valuesOf } from "../../tensor/values.ts";
import { canEncode, encodeTensor, splitMix64 } from "../generators/encode.ts";
import { constantOf } from "../sensitivity.ts";
import { type DefectVerdict, type Trial, watchDefect } from "./judge.ts";

interface Channels {
	count: number;
	inner: number;
}

type Damage = (values: Float64Array, channels: Channels) => (index: number) => number;

export const outputDefects = {
	"output-scale-up": { label: "scaled by 1.5", damage: (values) => (at) => 1.5 * (values[at] ?? 0) },
	"output-noise": {
		label: "with 5 % of noise",
		damage: (values) => {
			const random = splitMix64(1);
			return (at) => (values[at] ?? 0) * (1 + 0.05 * random.normal());
		},
	},
	"channel-zero": {
		label: "one class or channel zeroed",
		damage: (values, channels) => (at) =>
			channelOf(at, channels) === channels.count - 1 ? 0 : (values[at] ?? 0),
	},
	"channels-shuffled": {
		label: "classes or channels shuffled",
		damage: (values, channels) => (at) => {
			const channel = channelOf(at, channels);
			return values[at + (((channel + 1) % channels.count) - channel) * channels.inner] ?? 0;
		},
	},
	"output-zero": { label: "zeroed", damage: () => () => 0 },
	"other-case": { label: "of another case", damage: null },
} as const satisfies Readonly<Record<string, { label: string; damage: Damage | null }>>;

export type OutputDefectKind = keyof typeof outputDefects;

export interface TriedOutput {
	kind: OutputDefectKind;
	output: string;
	verdict: DefectVerdict;
}

/** Kind by kind, so that a time limit leaves some of all outputs. */
export function* tryOutputDefects(trial: Trial): Generator<TriedOutput> {
	const { reference } = trial;
	const tensors = new Map<string, Tensor[]>();
	for (const outputs of reference)
		for (const [name, tensor] of Object.entries(outputs))
			tensors.set(name, [...(tensors.get(name) ?? []), tensor]);
	for (const kind of Object.keys(outputDefects) as OutputDefectKind[])
		for (const [output, ofOutput] of tensors) {
			if (ofOutput.length < reference.length || constantOf(ofOutput) !== null) continue;
			const verdict = tryOne(trial, output, kind, ofOutput);
			if (verdict !== null) yield { kind, output, verdict };
		}
}

function tryOne(
	trial: Trial,
	output: string,
	kind: OutputDefectKind,
	tensors: readonly Tensor[],
): DefectVerdict | null {
	const watch = watchDefect(trial);
	let isDamaged = false;
	for (const [index, outputs] of trial.reference.entries()) {
		const damaged = damageOutput(tensors, index, kind);
		isDamaged ||= damaged !== null;
		if (watch.see(index, damaged === null ? outputs : { ...outputs, [output]: damaged })) break;
	}
	return isDamaged ? watch.verdict() : null;
}

export function damageOutput(
	tensors: readonly Tensor[],
	index: number,
	kind: OutputDefectKind,
): Tensor | null {
	const tensor = tensors[index];
	if (tensor === undefined) return null;
	const { dtype, shape } = tensor;
	const { damage } = outputDefects[kind];
	if (damage === null) {
		const isUniform = tensors.every((other) => other.shape.join() === shape.join());
		return tensors.length < 2 || !isUniform ? null : (tensors[(index + 1) % tensors.length] ?? null);
	}
	if (elementCount(shape) === 0 || !canEncode(dtype)) return null;
	if (!isFloating(dtype) && kind !== "output-zero") return null;
	const channels = channelsOf(shape);
	if (kind.startsWith("channel") && channels.count < 2) return null;
	return encodeTensor(dtype, shape, damage(valuesOf(tensor), channels));
}

/** Before or behind the height and width of a map; else the shortest axis except the first, which counts samples. */
function channelsOf(shape: readonly number[]): Channels {
	const axes = shape.length === 4 ? [1, 3] : [...shape.keys()].slice(shape.length > 1 ? 1 : 0);
	let shortest = axes[0] ?? 0;
	for (const axis of axes) if ((shape[axis] ?? 1) < (shape[shortest] ?? 1)) shortest = axis;
	return { count: shape[shortest] ?? 1, inner: elementCount(shape.slice(shortest + 1)) };
}

function channelOf(at: number, { count, inner }: Channels): number {
	return Math.floor(at / inner) % count;
}
