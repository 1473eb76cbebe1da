// The axes of inputs whose sizes the file leaves open: their names and proposed sizes.
import type { DimRange } from "../../config/config.ts";
import { isName } from "../../config/values.ts";
import { groupBy } from "../../group.ts";
import { flowYaml, quoteName, shellWord } from "../../text/escape.ts";
import { listNames } from "../../text/labels.ts";
import { feeds, type OnnxModel, type OnnxValue } from "../model.ts";
import { scopesOf } from "../walk.ts";

interface OpenAxis {
	name: string;
	isNamed: boolean;
	uses: readonly { input: string; axis: number }[];
}

export type AxisLabel = number | Pick<OpenAxis, "name" | "isNamed">;
type Labels = readonly (readonly AxisLabel[] | null)[];

export type GivenShapes = Readonly<
	Record<string, { shape?: readonly (number | string)[]; pinned?: readonly number[] }>
>;

export function shapeGivenFor(input: string, given: GivenShapes): readonly (number | string)[] | undefined {
	return Object.hasOwn(given, input) ? given[input]?.shape : undefined;
}

const mostNameChars = 200;

export function labelAxes(inputs: readonly OnnxValue[], given: GivenShapes = {}): Labels {
	const shared = sharedNames(inputs);
	const taken = new Set<unknown>([...shared, ...Object.values(given).flatMap(({ shape }) => shape ?? [])]);
	return inputs.map(({ name: input, dims }) => {
		const own = shapeGivenFor(input, given);
		if (own !== undefined)
			return own.map((size) => (typeof size === "number" ? size : { name: size, isNamed: true }));
		if (dims === null) return null;
		return dims.map((dim, axis) => {
			if (typeof dim === "number" && isSize(dim)) return dim;
			if (typeof dim === "string" && shared.has(dim)) return { name: dim, isNamed: true };
			const name = `${input}_${axis}`.slice(-mostNameChars);
			return { name: taken.has(name) ? `${name}_axis` : name, isNamed: false };
		});
	});
}

export function isSize(size: number): boolean {
	return Number.isInteger(size) && size >= 0 && size < 2 ** 31;
}

function sharedNames(inputs: readonly OnnxValue[]) {
	const names = inputs.flatMap(({ dims }) => (dims ?? []).filter((dim) => typeof dim === "string"));
	const uses = groupBy(names, (name) => name);
	return new Set(
		names.filter((name) => isName(name) && (/\p{L}/u.test(name) || uses.get(name)?.length === 1)),
	);
}

export function openAxes(inputs: readonly OnnxValue[], labels: Labels): OpenAxis[] {
	const places = inputs.flatMap(({ name: input }, index) =>
		(labels[index] ?? []).flatMap((label, axis) =>
			typeof label === "number" ? [] : [{ ...label, use: { input, axis } }],
		),
	);
	return [...groupBy(places, ({ name }) => name)].map(([name, own]) => ({
		name,
		isNamed: own[0].isNamed,
		uses: own.map(({ use }) => use),
	}));
}

const mostAxes = 10;

export function describeUses(open: readonly OpenAxis[]): string {
	const named = open.filter(({ isNamed }) => isNamed);
	const nameless = open.filter(({ isNamed }) => !isNamed).flatMap(({ uses }) => uses);
	const texts = named.map(({ name, uses }) => `${quoteName(name)} (${usesText(uses)})`);
	return listNames([...texts, ...(nameless.length === 0 ? [] : [usesText(nameless)])], mostAxes);
}

function usesText(uses: OpenAxis["uses"]) {
	const texts = [...groupBy(uses, ({ input }) => input)].map(([input, own]) => {
		const axes = own.map(({ axis }) => axis).join(" and ");
		return `${own.length === 1 ? "axis" : "axes"} ${axes} of ${quoteName(input)}`;
	});
	return listNames(texts, mostAxes);
}

export interface OpenInputs {
	inputs: readonly OnnxValue[];
	labels: Labels;
	open: readonly OpenAxis[];
}

/** Gives whole shapes if an open axis has no name. */
export function lineToCopy(
	{ inputs, labels, open }: OpenInputs,
	sizes: ReadonlyMap<string, number>,
	style: "options" | "config",
): string {
	const sizeOf = (name: string) => sizes.get(name) ?? 1;
	if (open.every(({ isNamed }) => isNamed)) {
		const names = open.map(({ name }) => name);
		return style === "options"
			? `--dims ${shellWord(names.map((name) => `${name}=${sizeOf(name)}`).join(","))}`
			: `dims: ${flowYaml(Object.fromEntries(names.map((name) => [name, sizeOf(name)])))}`;
	}
	const shapes = inputs.flatMap(({ name }, index): [string, number[]][] => {
		const axes = labels[index] ?? [];
		const shape = axes.map((label) => (typeof label === "number" ? label : sizeOf(label.name)));
		return axes.every((label) => typeof label === "number") ? [] : [[name, shape]];
	});
	return style === "options"
		? shapes.map(([name, shape]) => `--shape ${shellWord(`${name}=${shape.join(",")}`)}`).join(" ")
		: `inputs: ${flowYaml(Object.fromEntries(shapes.map(([name, shape]) => [name, { shape }])))}`;
}

export function describeShapes(shapes: Readonly<Record<string, readonly number[]>>): string {
	return Object.entries(shapes)
		.map(([name, shape]) => `${quoteName(name, "")} [${shape.join(", ")}]`)
		.join(", ");
}

export interface AxisKind {
	says: string;
	sizes: readonly number[];
	range?: Pick<DimRange, "min" | "max">;
	isBatch?: true;
}

const signalSizes = [512, 256, 1024, 2048, 4096, 16_000, 128, 64, 32, 16, 8, 4, 2, 1];
const sides = { min: 64, max: 640 };

const kinds = {
	batch: { says: "a batch", sizes: [1, 2, 4, 8, 16], range: { min: 1, max: 32 }, isBatch: true },
	sequence: { says: "a sequence", sizes: [128, 64, 32, 16, 8, 256, 512, 1], range: { min: 1, max: 512 } },
	past: { says: "a cache of earlier steps", sizes: [16, 1, 0, 128], range: { min: 1, max: 512 } },
	samples: { says: "samples of a signal", sizes: signalSizes },
	// At 16 kHz.
	recording: { says: "a second of a signal", sizes: [16_000, 8000, 32_000, ...signalSizes] },
	// PP-OCR and CRNN read lines 48 and 32 high.
	lineHeight: { says: "the height of a line of text", sizes: [48, 32, 64, 96] },
	lineWidth: {
		says: "the width of a line of text",
		sizes: [320, 256, 192, 128, 100, 512],
		range: { min: 64, max: 1280 },
	},
	scene: {
		says: "a side of an image",
		sizes: [320, 640, 224, 256, 416, 512, 384, 128, 64, 32, 28, 16, 8],
		range: sides,
	},
	portrait: {
		says: "a side of an image to classify",
		sizes: [224, 256, 299, 320, 384, 512, 128, 64, 32, 28, 16, 8],
		range: sides,
	},
	unknown: { says: "unknown", sizes: [16, 64, 32, 128, 1, 320, 8, 4, 2, 512], range: { min: 1, max: 64 } },
} as const satisfies Record<string, AxisKind>;

interface Place {
	name: string;
	axis: number;
	dims: NonNullable<OnnxValue["dims"]>;
	isFloat: boolean;
	traits: Traits;
}

interface Traits {
	/** Windows move further down than across, so the height shrinks and the width stays as a sequence. */
	readsLines: boolean;
	/** The model has one signal as input and no state, so outputs with an open axis beside the batch grow with it. */
	followsTime: boolean;
	classifies: boolean;
}

export function kindsOf(model: OnnxModel, open: readonly OpenAxis[]): Map<string, AxisKind> {
	const traits = traitsOf(model);
	const inputs = new Map(feeds(model.graph).map((input) => [input.name, input]));
	return new Map(
		open.map(({ name, isNamed, uses }) => {
			const places = uses.flatMap(({ input, axis }): Place[] => {
				const value = inputs.get(input);
				if (value === undefined) return [];
				const shown = isNamed ? name : "";
				return [{ name: shown, axis, dims: value.dims ?? [], isFloat: isFloat(value), traits }];
			});
			// An axis that several inputs share is a sequence if one of them holds whole numbers.
			const place = places.find((each) => !each.isFloat) ?? places[0];
			return [name, place === undefined ? kinds.unknown : kindAt(place)];
		}),
	);
}

function kindAt(place: Place) {
	const { name, axis, dims, isFloat, traits } = place;
	const rank = dims.length;
	if (/batch|^(n|b|bs)$/i.test(name)) return kinds.batch;
	if (/past|cache/i.test(name)) return kinds.past;
	if (isFloat && rank <= 2 && axis === rank - 1) return traits.followsTime ? kinds.recording : kinds.samples;
	if (/seq|len|token|time|frames|^[tls]$/i.test(name)) return kinds.sequence;
	const side = sideAt(place);
	if (side !== null) return side;
	// A state, such as a recurrent layer's: [layers, batch, size].
	if (axis === 0 || (rank === 3 && axis === 1 && typeof dims[0] === "number")) return kinds.batch;
	if (!isFloat || rank === 3) return kinds.sequence;
	return /height|width|^[hw]$/i.test(name) ? kinds.scene : kinds.unknown;
}

const highestLine = 64;

function sideAt({ axis, dims, traits }: Place) {
	const [height, width] = sidesOf(dims) ?? [];
	if (height === undefined || (axis !== height && axis !== width)) return null;
	const high = dims[height];
	const isLine = typeof high === "number" ? high <= highestLine : traits.readsLines;
	if (axis === width && isLine) return kinds.lineWidth;
	if (axis === height && traits.readsLines) return kinds.lineHeight;
	return traits.classifies ? kinds.portrait : kinds.scene;
}

export function proposeSizes(model: OnnxModel, open: readonly OpenAxis[]): Map<string, number> {
	return new Map([...kindsOf(model, open)].map(([name, { sizes }]) => [name, sizes[0] ?? 1]));
}

function isFloat({ dtype }: OnnxValue) {
	return dtype === "float" || dtype === "float16" || dtype === "double" || dtype === "bfloat16";
}

function sidesOf(dims: Place["dims"]) {
	if (dims.length !== 4) return null;
	const isChannels = (dim: unknown) => dim === 1 || dim === 3 || dim === 4;
	if (isChannels(dims[3]) && !isChannels(dims[1])) return [1, 2];
	return isChannels(dims[1]) || typeof dims[1] !== "number" ? [2, 3] : null;
}

function traitsOf(model: OnnxModel) {
	const attributes = scopesOf(model).flatMap(({ nodes }) => nodes.flatMap((node) => node.attributes));
	const readsLines = attributes.some(
		({ name, value }) =>
			name === "strides" && Array.isArray(value) && value.length === 2 && Number(value[0]) > Number(value[1]),
	);
	const { outputs } = model.graph;
	const followsTime =
		feeds(model.graph).filter(isFloat).length === 1 &&
		outputs.some(({ dims }) => dims?.slice(1).some((dim) => typeof dim !== "number"));
	return { readsLines, followsTime, classifies: outputs.every(({ dims }) => dims?.length === 2) };
}
