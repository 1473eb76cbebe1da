// Finds parts of an output with very different scales, such as boxes in pixels beside scores from 0 to 1.
import type { OutputSlice } from "../../../../generated/golden.ts";
import { axisFromStart } from "../tensor/rows.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { elementCount } from "../tensor/tensor.ts";
import { forEachValue } from "../tensor/values.ts";

export interface ScalePart {
	slice: OutputSlice;
	rms: number;
}

const maxRatio = 100;
const maxChannels = 512;
const minRows = 16;
const maxRanges = 256;
const deadShare = 1e-10;
const minScoreShare = 0.1;

export function findScaleParts(tensors: readonly Tensor[]): ScalePart[] {
	const axis = channelAxis(tensors);
	return axis === null ? [] : partsAlong(axis, channelsOf(tensors, axis));
}

/** The axis of channels: the second or the last (-1), whichever is shorter. null if no tensor has one, or they differ in it. */
function channelAxis(tensors: readonly Tensor[]): number | null {
	const shape = tensors[0]?.shape ?? [];
	const last = shape.length - 1;
	if (last < 1) return null;
	// The height and width of a map are not channels, even if it has only one.
	const isSecond =
		shape.length > 3
			? (shape[1] ?? 0) <= (shape[last] ?? 0)
			: (shape[1] ?? 0) > 1 && (shape[1] ?? 0) < (shape[last] ?? 0);
	const axis = isSecond ? 1 : last;
	const size = shape[axis] ?? 1;
	const isUniform = tensors.every(
		(tensor) => tensor.shape.length === shape.length && tensor.shape[axis] === size,
	);
	const rows = tensors.reduce((sum, tensor) => sum + elementCount(tensor.shape), 0) / size;
	return isUniform && size > 1 && size <= maxChannels && rows >= minRows ? (axis === last ? -1 : axis) : null;
}

interface Channel {
	index: number;
	rms: number;
	min: number;
	max: number;
}

function channelsOf(tensors: readonly Tensor[], along: number): Channel[] {
	const axis = axisFromStart(along, tensors[0]?.shape.length ?? 0);
	const size = tensors[0]?.shape[axis] ?? 0;
	const channels = Array.from({ length: size }, () => ({
		squares: 0,
		count: 0,
		min: Number.POSITIVE_INFINITY,
		max: Number.NEGATIVE_INFINITY,
	}));
	for (const tensor of tensors) {
		const inner = elementCount(tensor.shape.slice(axis + 1));
		forEachValue(tensor, (value, flat) => {
			const channel = channels[Math.floor(flat / inner) % size];
			if (channel === undefined || !Number.isFinite(value)) return;
			channel.squares += value * value;
			channel.count += 1;
			if (value < channel.min) channel.min = value;
			if (value > channel.max) channel.max = value;
		});
	}
	return channels.map(({ squares, count, min, max }, index) => {
		return { index, rms: Math.sqrt(squares / Math.max(1, count)), min, max };
	});
}

function partsAlong(axis: number, all: readonly Channel[]): ScalePart[] {
	const largest = Math.max(...all.map(({ rms }) => rms));
	const live = all.filter(({ rms }) => rms > deadShare * largest);
	const smallest = Math.min(...live.map(({ rms }) => rms));
	if (!(largest > maxRatio * smallest)) return [];
	// Scores always have the scale 1, even those of a class that no picture shows.
	const scores = live.filter(({ min, max }) => min >= 0 && max <= 1);
	if (scores.length === live.length) return [];
	const apart = scores.length >= minScoreShare * all.length;
	const groups = clusters(apart ? live.filter((channel) => !scores.includes(channel)) : live);
	const parts = (apart ? [...groups, scores] : groups)
		.sort((left, right) => (left[0]?.index ?? 0) - (right[0]?.index ?? 0))
		.map(
			(channels): ScalePart => ({
				rms: quadraticMean(channels),
				slice: sliceOf(axis, rangesOf(channels, all.length, live)),
			}),
		);
	const ranges = parts.reduce((sum, { slice }) => sum + (slice.ranges?.length ?? 1), 0);
	return parts.length < 2 || ranges > maxRanges ? [] : parts;
}

/** Channels of similar scale: a group ends wherever the sorted scales leave a wide gap. */
function clusters(channels: readonly Channel[]): Channel[][] {
	const groups: Channel[][] = [];
	let before = 0;
	for (const channel of channels.toSorted((left, right) => left.rms - right.rms)) {
		const last = groups.at(-1);
		if (last === undefined || channel.rms > maxRatio * before) groups.push([channel]);
		else last.push(channel);
		before = channel.rms;
	}
	return groups.map((group) => group.sort((left, right) => left.index - right.index));
}

function quadraticMean(channels: readonly Channel[]): number {
	return Math.sqrt(channels.reduce((sum, { rms }) => sum + rms * rms, 0) / channels.length);
}

/** Runs of neighbouring channels. Dead channels belong to the live one before them, or to the first. */
function rangesOf(channels: readonly Channel[], size: number, live: readonly Channel[]): [number, number][] {
	const ranges: [number, number][] = [];
	for (const { index } of channels) {
		const at = live.findIndex((other) => other.index === index);
		const [from, to] = [at === 0 ? 0 : index, live[at + 1]?.index ?? size];
		const last = ranges.at(-1);
		if (last !== undefined && last[1] === from) last[1] = to;
		else ranges.push([from, to]);
	}
	return ranges;
}

function sliceOf(axis: number, [first = [0, 0], ...others]: [number, number][]): OutputSlice {
	return others.length === 0 ? { axis, from: first[0], to: first[1] } : { axis, ranges: [first, ...others] };
}
