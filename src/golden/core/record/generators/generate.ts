// Makes the inputs of golden cases from a seed: the same bytes for the same seed, on every machine.
import { elementCount, isFloating, type Tensor } from "../../tensor/tensor.ts";
import { encodeTensor, type RandomSource, splitMix64 } from "./encode.ts";

export const generatorKinds = [
	"normal",
	"uniform",
	"image",
	"tokens",
	"zeros",
	"ones",
	"const",
	"length",
	"positions",
] as const;
export type GeneratorKind = (typeof generatorKinds)[number];

export interface GeneratorSpec {
	kind: GeneratorKind;
	range?: readonly [low: number, high: number];
}

interface GeneratedInput extends Pick<Tensor, "dtype" | "shape"> {
	specs: readonly GeneratorSpec[];
	positions?: number;
}

export function generateInput(
	{ dtype, shape, specs, positions = 1 }: GeneratedInput,
	draw: { seed: number; caseIndex: number; inputIndex: number },
): { tensor: Tensor; kind: GeneratorKind } {
	const { kind, range } = specs[draw.caseIndex % specs.length] ?? { kind: "normal" };
	const random = splitMix64(draw.seed, [draw.caseIndex, draw.inputIndex]);
	const [low, high] = range ?? (dtype === "uint8" ? [0, 255] : [0, 1]);
	const whole = (value: number) => (isFloating(dtype) ? value : Math.round(value));
	const pixels = kind === "image" ? imageValues(shape, random) : [];
	const valueAt: Readonly<Record<GeneratorKind, (index: number) => number>> = {
		zeros: () => 0,
		ones: () => 1,
		const: () => whole(low),
		length: () => positions,
		positions: (index) => index % (shape.at(-1) ?? 1),
		tokens: () => low + random.below(high - low + 1),
		uniform: () => whole(low + (high - low) * random.uniform()),
		image: (index) => whole(low + (high - low) * (pixels[index] ?? 0)),
		normal: () => whole(random.normal()),
	};
	return { tensor: encodeTensor(dtype, shape, valueAt[kind]), kind };
}

interface Layout {
	images: number;
	channels: number;
	height: number;
	width: number;
	channelsLast: boolean;
}

const mostChannels = 4;

export function imageLayout(shape: readonly number[]): Layout {
	const [first, second, third] = [shape.at(-3) ?? 1, shape.at(-2) ?? 1, shape.at(-1) ?? 1];
	const images = elementCount(shape.slice(0, -3));
	const channelsLast = shape.length >= 3 && third <= mostChannels && first > mostChannels;
	return channelsLast
		? { images, channels: third, height: first, width: second, channelsLast }
		: { images, channels: first, height: second, width: third, channelsLast };
}

/** Values from 0 to 1. Channels share their lighting, and differ by a smaller field of their own. */
function imageValues(shape: readonly number[], random: RandomSource) {
	const layout = imageLayout(shape);
	const { images, channels, height, width, channelsLast } = layout;
	const values = new Float64Array(images * channels * height * width);
	for (let image = 0; image < images; image += 1) {
		const light = paintEdges(smoothField(layout, random), layout, random);
		for (let channel = 0; channel < channels; channel += 1) {
			const tint = smoothField(layout, random);
			for (let pixel = 0; pixel < height * width; pixel += 1) {
				const value =
					0.5 + 0.35 * (light[pixel] as number) + (channels === 1 ? 0 : 0.12) * (tint[pixel] as number);
				const at = channelsLast ? pixel * channels + channel : channel * height * width + pixel;
				values[image * channels * height * width + at] = Math.min(1, Math.max(0, value));
			}
		}
	}
	return values;
}

/** Octaves of random lattices, each twice as fine and half as strong: amplitude falls as 1/f. About ±1. */
function smoothField({ height, width }: Layout, random: RandomSource) {
	const field = new Float64Array(height * width);
	const longest = Math.max(height, width);
	let amplitude = 0.6;
	for (let cells = 2; cells <= longest / 2; cells *= 2) {
		addLattice(field, { height, width, step: longest / cells, amplitude }, random);
		amplitude /= 2;
	}
	if (longest < 4) for (let i = 0; i < field.length; i += 1) field[i] = 2 * random.uniform() - 1;
	return field;
}

function addLattice(
	field: Float64Array,
	{ height, width, step, amplitude }: Record<"height" | "width" | "step" | "amplitude", number>,
	random: RandomSource,
) {
	const columns = Math.ceil(width / step) + 2;
	const rows = Math.ceil(height / step) + 2;
	const points = Float64Array.from({ length: rows * columns }, () => amplitude * (2 * random.uniform() - 1));
	const point = (row: number, column: number) => points[row * columns + column] as number;
	for (let y = 0; y < height; y += 1) {
		const row = Math.floor(y / step);
		const down = y / step - row;
		for (let x = 0; x < width; x += 1) {
			const column = Math.floor(x / step);
			const across = x / step - column;
			const upper = point(row, column) * (1 - across) + point(row, column + 1) * across;
			const lower = point(row + 1, column) * (1 - across) + point(row + 1, column + 1) * across;
			field[y * width + x] = (field[y * width + x] as number) + upper * (1 - down) + lower * down;
		}
	}
}

const shapesPerImage = 6;

function paintEdges(field: Float64Array, { height, width }: Layout, random: RandomSource) {
	for (let shape = 0; shape < shapesPerImage; shape += 1) {
		const centre = { x: random.uniform() * width, y: random.uniform() * height };
		const radius = {
			x: (0.05 + 0.2 * random.uniform()) * width,
			y: (0.05 + 0.2 * random.uniform()) * height,
		};
		const brightness = 2.4 * random.uniform() - 1.2;
		const isDisc = random.uniform() < 0.5;
		const left = Math.max(0, Math.ceil(centre.x - radius.x));
		const top = Math.max(0, Math.ceil(centre.y - radius.y));
		for (let y = top; y < Math.min(height, centre.y + radius.y); y += 1) {
			for (let x = left; x < Math.min(width, centre.x + radius.x); x += 1) {
				const inDisc = ((x - centre.x) / radius.x) ** 2 + ((y - centre.y) / radius.y) ** 2 <= 1;
				if (!isDisc || inDisc) field[y * width + x] = brightness;
			}
		}
	}
	return field;
}
