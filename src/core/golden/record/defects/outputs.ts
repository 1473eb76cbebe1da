// Defects of an output itself: what a fault behind the last layer makes of it. Pure and cheap, so all are tried on every output.
import { elementCount, isFloating, type Tensor } from "../../tensor/tensor.ts";
import { tensorStatistics, valuesOf } from "../../tensor/values.ts";
import { canEncode, encodeTensor } from "../generators/encode.ts";
import { splitMix64 } from "../generators/split-mix.ts";
import { constantOf } from "../sensitivity.ts";
import { type DefectVerdict, type Trial, watchDefect } from "./judge.ts";

interface Channels {
	count: number;
	inner: number;
}

type ValueAt = (index: number) => number;
type Damage = (values: Float64Array, channels: Channels, tensor: Tensor) => ValueAt | null;

const scaled =
	(factor: number): Damage =>
	(values) =>
	(at) =>
		factor * (values[at] ?? 0);

const permuted =
	(from: (channel: number, count: number) => number): Damage =>
	(values, channels) =>
	(at) => {
		const channel = channelOf(at, channels);
		return values[at + (from(channel, channels.count) - channel) * channels.inner] ?? 0;
	};

/** In the order in which they are tried. `damage` is null for the output of another case. */
export const outputDefects = {
	"output-scale-down": { label: "scaled by 0.1", damage: scaled(0.1) },
	"output-scale-up": { label: "scaled by 1.5", damage: scaled(1.5) },
	"output-sign": { label: "with the opposite sign", damage: scaled(-1) },
	"output-noise": {
		label: "with 5 % of noise",
		damage: (values) => {
			const random = splitMix64(1);
			return (at) => (values[at] ?? 0) * (1 + 0.05 * random.normal());
		},
	},
	"output-mean": {
		label: "replaced by its mean",
		damage: (_values, _channels, tensor) => {
			const { mean } = tensorStatistics(tensor);
			return mean === null ? null : () => mean;
		},
	},
	"channel-zero": {
		label: "one class or channel zeroed",
		damage: (values, channels) => (at) =>
			channelOf(at, channels) === channels.count - 1 ? 0 : (values[at] ?? 0),
	},
	"channels-swapped": {
		label: "two classes or channels swapped",
		damage: permuted((channel, count) => (channel < count - 2 ? channel : 2 * count - 3 - channel)),
	},
	"channels-shuffled": {
		label: "classes or channels shuffled",
		damage: permuted((channel, count) => (channel + 1) % count),
	},
	"half-the-channels-shuffled": {
		label: "half of the classes or channels shuffled",
		damage: permuted((channel, count) => {
			const from = Math.floor(count / 2);
			return channel < from ? channel : from + ((channel - from + 1) % (count - from));
		}),
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

/** Tries every defect on every output that varies, kind by kind, so that a time limit leaves some of all outputs. */
export function* tryOutputDefects(trial: Trial): Generator<TriedOutput> {
	const { reference } = trial;
	const tensorsOf = (output: string): Tensor[] =>
		reference.flatMap((outputs) => (Object.hasOwn(outputs, output) ? (outputs[output] as Tensor) : []));
	const names = [...new Set(reference.flatMap((outputs) => Object.keys(outputs)))];
	const varying = names.filter((name) => constantOf(tensorsOf(name)) === null);
	for (const kind of Object.keys(outputDefects) as OutputDefectKind[])
		for (const output of varying) {
			const verdict = tryOne(trial, output, kind, tensorsOf(output));
			if (verdict !== null) yield { kind, output, verdict };
		}
}

function tryOne(
	trial: Trial,
	output: string,
	kind: OutputDefectKind,
	tensors: readonly Tensor[],
): DefectVerdict | null {
	if (tensors.length < trial.reference.length) return null;
	const watch = watchDefect(trial);
	let isDamaged = false;
	for (const [index, outputs] of trial.reference.entries()) {
		const damaged = damageOutput(tensors, index, kind);
		isDamaged ||= damaged !== null;
		if (watch.see(index, damaged === null ? outputs : { ...outputs, [output]: damaged })) break;
	}
	return isDamaged ? watch.verdict() : null;
}

/** The output of one case with the defect; null where it has no meaning for this output. */
export function damageOutput(
	tensors: readonly Tensor[],
	index: number,
	kind: OutputDefectKind,
): Tensor | null {
	const tensor = tensors[index];
	if (tensor === undefined) return null;
	const damage: Damage | null = outputDefects[kind].damage;
	if (damage === null) {
		const isUniform = tensors.every(({ shape }) => shape.join() === tensors[0]?.shape.join());
		return tensors.length < 2 || !isUniform ? null : (tensors[(index + 1) % tensors.length] ?? null);
	}
	const { dtype, shape } = tensor;
	if (elementCount(shape) === 0 || !canEncode(dtype)) return null;
	if (!isFloating(dtype) && kind !== "output-zero") return null;
	const channels = channelsOf(shape);
	if (kind.includes("channel") && channels.count < 2) return null;
	const valueAt = damage(valuesOf(tensor), channels, tensor);
	return valueAt === null ? null : encodeTensor(dtype, shape, valueAt);
}

/** Of a map the axis before or behind height and width; else the shortest axis but the first one, which counts samples. */
function channelsOf(shape: readonly number[]): Channels {
	const axes = shape.length === 4 ? [1, 3] : [...shape.keys()].slice(shape.length > 1 ? 1 : 0);
	let shortest = axes[0] ?? 0;
	for (const axis of axes) if ((shape[axis] ?? 1) < (shape[shortest] ?? 1)) shortest = axis;
	return { count: shape[shortest] ?? 1, inner: elementCount(shape.slice(shortest + 1)) };
}

function channelOf(at: number, { count, inner }: Channels): number {
	return Math.floor(at / inner) % count;
}
