// Defects of an output itself: what a fault behind the last layer makes of it. Pure and cheap, so all are tried on every output.
import { elementCount, isFloating, type Tensor } from "../../tensor/tensor.ts";
import { tensorStatistics, valuesOf } from "../../tensor/values.ts";
import { canEncode, encodeTensor } from "../generators/encode.ts";
import { splitMix64 } from "../generators/split-mix.ts";

type Damage = (
	tensor: Tensor,
	values: Float64Array,
	channels: Channels,
) => ((index: number) => number) | null;

/** Slices along the axis of the classes or channels. */
interface Channels {
	count: number;
	/** Elements that lie together. */
	inner: number;
}

const noiseShare = 0.05;

const floatDamages = {
	"output-scale-down": (_, values) => (at) => 0.1 * (values[at] ?? 0),
	"output-scale-up": (_, values) => (at) => 1.5 * (values[at] ?? 0),
	"output-sign": (_, values) => (at) => -(values[at] ?? 0),
	"output-noise": (_, values) => {
		const random = splitMix64(1);
		return (at) => (values[at] ?? 0) * (1 + noiseShare * random.normal());
	},
	"output-mean": (tensor) => {
		const { mean } = tensorStatistics(tensor);
		return mean === null ? null : () => mean;
	},
	"channel-zero": (_, values, channels) => (at) =>
		channelOf(at, channels) === channels.count - 1 ? 0 : (values[at] ?? 0),
	"channels-swapped": (_, values, channels) =>
		moved(values, channels, (channel) =>
			channel < channels.count - 2 ? channel : 2 * channels.count - 3 - channel,
		),
	"channels-shuffled": (_, values, channels) =>
		moved(values, channels, (channel) => (channel + 1) % channels.count),
	"half-the-channels-shuffled": (_, values, channels) => {
		const from = Math.floor(channels.count / 2);
		return moved(values, channels, (channel) =>
			channel < from ? channel : from + ((channel - from + 1) % (channels.count - from)),
		);
	},
} as const satisfies Record<string, Damage>;

const anyDamages = {
	"output-zero": () => () => 0,
} as const satisfies Record<string, Damage>;

export type OutputDefectKind = keyof typeof floatDamages | keyof typeof anyDamages | "other-case";

export const outputDefectKinds = [
	...Object.keys(floatDamages),
	...Object.keys(anyDamages),
	"other-case",
] as OutputDefectKind[];

/** The output of one case with the defect; null where it has no meaning for this output. */
export function damageOutput(
	tensors: readonly Tensor[],
	index: number,
	kind: OutputDefectKind,
): Tensor | null {
	const tensor = tensors[index];
	if (tensor === undefined) return null;
	return kind === "other-case" ? otherCase(tensors, index) : damageTensor(tensor, kind);
}

/** The output of the next case; null where shapes differ. */
function otherCase(tensors: readonly Tensor[], index: number): Tensor | null {
	const isUniform = tensors.every(({ shape }) => shape.join() === tensors[0]?.shape.join());
	return tensors.length < 2 || !isUniform ? null : (tensors[(index + 1) % tensors.length] ?? null);
}

function damageTensor(tensor: Tensor, kind: Exclude<OutputDefectKind, "other-case">): Tensor | null {
	const elements = elementCount(tensor.shape);
	if (elements === 0 || !canEncode(tensor.dtype)) return null;
	const damage: Damage | undefined = isFloating(tensor.dtype)
		? { ...floatDamages, ...anyDamages }[kind]
		: anyDamages[kind as keyof typeof anyDamages];
	const channels = channelsOf(tensor.shape);
	if (damage === undefined || (kind.includes("channel") && channels.count < 2)) return null;
	const valueAt = damage(tensor, valuesOf(tensor), channels);
	return valueAt === null ? null : encodeTensor(tensor.dtype, tensor.shape, valueAt);
}

/** Of a map with height and width: the axis before or behind them; else the shortest axis, the first left out: it counts samples. */
function channelsOf(shape: readonly number[]): Channels {
	const candidates =
		shape.length === 4 ? [1, 3] : shape.map((_, axis) => axis).slice(shape.length > 1 ? 1 : 0);
	const axes = candidates.map((axis) => ({ axis, size: shape[axis] ?? 1 }));
	const shortest = axes.reduce(
		(known, one) => (one.size < known.size ? one : known),
		axes[0] ?? { axis: 0, size: 1 },
	);
	return { count: shortest.size, inner: elementCount(shape.slice(shortest.axis + 1)) };
}

function channelOf(at: number, { count, inner }: Channels): number {
	return Math.floor(at / inner) % count;
}

function moved(
	values: Float64Array,
	channels: Channels,
	from: (channel: number) => number,
): (at: number) => number {
	return (at) => {
		const channel = channelOf(at, channels);
		return values[at + (from(channel) - channel) * channels.inner] ?? 0;
	};
}
