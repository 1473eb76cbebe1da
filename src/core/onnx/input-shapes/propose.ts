// Proposes sizes for open axes: by name, by place, and by what the model does with its pictures.
import type { DimRange } from "../../config/config.ts";
import { feeds, type OnnxModel, type OnnxValue } from "../model.ts";
import { scopesOf } from "../walk.ts";
import type { OpenAxis } from "./open-axes.ts";

export interface AxisKind {
	says: string;
	sizes: readonly number[];
	range?: Pick<DimRange, "min" | "max">;
	isBatch?: true;
}

const batch: AxisKind = {
	says: "a batch",
	sizes: [1, 2, 4, 8, 16],
	range: { min: 1, max: 32 },
	isBatch: true,
};
const sequence: AxisKind = {
	says: "a sequence",
	sizes: [128, 64, 32, 16, 8, 256, 512, 1],
	range: { min: 1, max: 512 },
};
const past: AxisKind = {
	says: "a cache of earlier steps",
	sizes: [16, 1, 0, 128],
	range: { min: 1, max: 512 },
};
const samples: AxisKind = {
	says: "samples of a signal",
	sizes: [512, 256, 1024, 2048, 4096, 16_000, 128, 64, 32, 16, 8, 4, 2, 1],
};
/** Of models that give something for each moment of a whole recording; a second at 16 kHz. */
const recording: AxisKind = { says: "a second of a signal", sizes: [16_000, 8000, 32_000, ...samples.sizes] };
/** Of recognisers of one text line: PP-OCR and CRNN read lines 48 and 32 high. */
const lineHeight: AxisKind = { says: "the height of a line of text", sizes: [48, 32, 64, 96] };
const lineWidth: AxisKind = {
	says: "the width of a line of text",
	sizes: [320, 256, 192, 128, 100, 512],
	range: { min: 64, max: 1280 },
};
const range = { min: 64, max: 640 };
const scene: AxisKind = {
	says: "a side of an image",
	sizes: [320, 640, 224, 256, 416, 512, 384, 128, 64, 32, 28, 16, 8],
	range,
};
const portrait: AxisKind = {
	says: "a side of an image to classify",
	sizes: [224, 256, 299, 320, 384, 512, 128, 64, 32, 28, 16, 8],
	range,
};
const unknown: AxisKind = {
	says: "unknown",
	sizes: [16, 64, 32, 128, 1, 320, 8, 4, 2, 512],
	range: { min: 1, max: 64 },
};

const rules: readonly { kind(place: Place): AxisKind; applies(place: Place): boolean }[] = [
	{ kind: () => batch, applies: ({ name }) => /batch|^(n|b|bs)$/i.test(name) },
	{ kind: () => past, applies: ({ name }) => /past|cache/i.test(name) },
	{
		kind: ({ traits }) => (traits.followsTime ? recording : samples),
		applies: ({ input, axis }) => isFloat(input) && rankOf(input) <= 2 && axis === rankOf(input) - 1,
	},
	{ kind: () => sequence, applies: ({ name }) => /seq|len|token|time|frames|^[tls]$/i.test(name) },
	{
		kind: ({ input, axis, traits }) => sideOf(input, axis, traits),
		applies: ({ input, axis }) => sidesOf(input)?.includes(axis) === true,
	},
	{ kind: () => batch, applies: ({ axis }) => axis === 0 },
	// A state, as of a recurrent layer: [layers, batch, size].
	{
		kind: () => batch,
		applies: ({ input, axis }) => rankOf(input) === 3 && axis === 1 && typeof input.dims?.[0] === "number",
	},
	{ kind: () => sequence, applies: ({ input }) => !isFloat(input) || rankOf(input) === 3 },
	{ kind: () => scene, applies: ({ name }) => /height|width|^[hw]$/i.test(name) },
];

interface Place {
	name: string;
	input: OnnxValue;
	axis: number;
	traits: Traits;
}

interface Traits {
	/** Windows move further down than across: the height goes, the width stays as a sequence. */
	readsLines: boolean;
	/** One signal in and no state: outputs with an open axis beside the batch grow with it. */
	followsTime: boolean;
	classifies: boolean;
}

export function kindsOf(model: OnnxModel, open: readonly OpenAxis[]): Map<string, AxisKind> {
	const traits = traitsOf(model);
	const inputs = new Map(feeds(model.graph).map((input) => [input.name, input]));
	return new Map(open.map((axis) => [axis.name, kindOf(axis, { inputs, traits })]));
}

/** An axis that several inputs share is a sequence where one of them holds whole numbers, and so on by the order of the rules. */
function kindOf(
	{ name, isNamed, uses }: OpenAxis,
	{ inputs, traits }: { inputs: ReadonlyMap<string, OnnxValue>; traits: Traits },
): AxisKind {
	const places = uses.flatMap((use): Place[] => {
		const input = inputs.get(use.input);
		return input === undefined ? [] : [{ name: isNamed ? name : "", input, axis: use.axis, traits }];
	});
	const integers = places.filter(({ input }) => !isFloat(input));
	const [place] = integers.length === 0 ? places : integers;
	return (place && rules.find((rule) => rule.applies(place))?.kind(place)) ?? unknown;
}

export function proposeSizes(model: OnnxModel, open: readonly OpenAxis[]): Map<string, number> {
	return new Map([...kindsOf(model, open)].map(([name, { sizes }]) => [name, sizes[0] ?? 1]));
}

function isFloat({ dtype }: OnnxValue): boolean {
	return dtype === "float" || dtype === "float16" || dtype === "double" || dtype === "bfloat16";
}

function rankOf({ dims }: OnnxValue): number {
	return dims?.length ?? 0;
}

function sidesOf({ dims }: OnnxValue): readonly [number, number] | null {
	if (dims?.length !== 4) return null;
	const isChannels = (dim: unknown): boolean => dim === 1 || dim === 3 || dim === 4;
	if (isChannels(dims[3]) && !isChannels(dims[1])) return [1, 2];
	return isChannels(dims[1]) || dims[1] === null || typeof dims[1] === "string" ? [2, 3] : null;
}

const highestLine = 64;

function sideOf(input: OnnxValue, axis: number, { readsLines, classifies }: Traits): AxisKind {
	const [height, width] = sidesOf(input) ?? [2, 3];
	const high = input.dims?.[height];
	if (axis === width && (typeof high === "number" ? high <= highestLine : readsLines)) return lineWidth;
	if (axis === height && readsLines) return lineHeight;
	return classifies ? portrait : scene;
}

function traitsOf(model: OnnxModel): Traits {
	const strides = scopesOf(model).flatMap(({ nodes }) =>
		nodes.flatMap(({ attributes }) =>
			attributes.flatMap(({ name, value }) => (name === "strides" && Array.isArray(value) ? [value] : [])),
		),
	);
	const readsLines = strides.some(
		([down, across, ...more]) => more.length === 0 && Number(down) > Number(across),
	);
	const followsTime =
		feeds(model.graph).filter(isFloat).length === 1 &&
		model.graph.outputs.some(({ dims }) => dims?.slice(1).some((dim) => typeof dim !== "number"));
	return { readsLines, followsTime, classifies: model.graph.outputs.every(({ dims }) => dims?.length === 2) };
}
