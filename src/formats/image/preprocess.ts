// From pixels to the tensor that a model is fed: colour, resize, crop, normalisation, layout, in this order.

import type { Preprocess, TensorFile } from "../../../generated/golden.ts";
import { formatShape, type Tensor } from "../../core/golden/tensor/tensor.ts";
import { formatLayout, tensorInvalid } from "../tensor/refusal.ts";
import { maxPixels } from "./header.ts";

export interface Pixels {
	width: number;
	height: number;
	rgb: Uint8Array;
}

/** One plane for each channel, values from 0 to 255. */
interface Planes {
	width: number;
	height: number;
	planes: readonly Float32Array[];
}

/** @throws ConfigError tensor-invalid where the result is not as the manifest says. */
export function preprocessImage(pixels: Pixels, file: TensorFile, path: string): Tensor {
	const { preprocess } = file;
	if (preprocess === undefined) {
		throw tensorInvalid(
			path,
			"how the image becomes a tensor",
			"nothing",
			'Add "preprocess" to the manifest.',
		);
	}
	const size = sizeAfter(pixels, preprocess);
	const planned = plannedShape(preprocess, size);
	const supported = file.dtype === "float32" || file.dtype === "uint8";
	if (
		!supported ||
		planned.length !== file.shape.length ||
		planned.some((length, axis) => length !== file.shape[axis])
	) {
		const dtype = supported ? file.dtype : "float32 or uint8";
		throw tensorInvalid(path, formatLayout(file), `${dtype} ${formatShape(planned)} by its preprocess`);
	}
	if (size.resized.height * size.resized.width > maxPixels) {
		throw tensorInvalid(
			path,
			`at most ${maxPixels} pixels`,
			`${size.resized.height} × ${size.resized.width}`,
		);
	}
	const colours = toPlanes(pixels, preprocess.colour ?? "rgb");
	const cropped = crop(resize(colours, size.resized), size.cropped);
	return layOut(normalise(cropped, preprocess), { file, channelsLast: preprocess.layout.endsWith("c") });
}

interface Size {
	height: number;
	width: number;
}

function sizeAfter(
	pixels: Size,
	{ resize: requested, crop: cut }: Preprocess,
): { resized: Size; cropped: Size } {
	const resized = resizedSize(pixels, requested);
	const [height, width] = cut ?? [resized.height, resized.width];
	return { resized, cropped: { height, width } };
}

function resizedSize({ height, width }: Size, requested: Preprocess["resize"]): Size {
	if (requested === undefined) return { height, width };
	if (typeof requested !== "number")
		return inProportion({ height, width }, { height: requested[0], width: requested[1] });
	const scale = (side: number): number =>
		Math.max(1, Math.floor((side * requested) / Math.min(height, width)));
	return height <= width
		? { height: requested, width: scale(width) }
		: { height: scale(height), width: requested };
}

function inProportion(own: Size, { height, width }: { height: number | null; width: number | null }): Size {
	const side = (fixed: number | null, of: number, other: number): number =>
		Math.max(1, Math.round(((fixed ?? other) * of) / other));
	return {
		height: height ?? side(width, own.height, own.width),
		width: width ?? side(height, own.width, own.height),
	};
}

export function imageShape(own: Size, preprocess: Preprocess): number[] {
	return plannedShape(preprocess, sizeAfter(own, preprocess));
}

function plannedShape({ colour, layout }: Preprocess, { cropped }: { cropped: Size }): number[] {
	const channels = colour === "grey" ? 1 : 3;
	const { height, width } = cropped;
	const plain = layout.endsWith("c") ? [height, width, channels] : [channels, height, width];
	return layout.startsWith("n") ? [1, ...plain] : plain;
}

function toPlanes({ width, height, rgb }: Pixels, colour: "rgb" | "bgr" | "grey"): Planes {
	const pick = (channel: number): Float32Array => {
		const plane = new Float32Array(width * height);
		for (let i = 0; i < plane.length; i += 1) plane[i] = rgb[i * 3 + channel] as number;
		return plane;
	};
	if (colour === "grey") return { width, height, planes: [greyOf(pick(0), pick(1), pick(2))] };
	return { width, height, planes: (colour === "rgb" ? [0, 1, 2] : [2, 1, 0]).map(pick) };
}

/** Luma of ITU-R BT.601. */
function greyOf(red: Float32Array, green: Float32Array, blue: Float32Array): Float32Array {
	return red.map((value, i) => 0.299 * value + 0.587 * (green[i] as number) + 0.114 * (blue[i] as number));
}

function resize(image: Planes, size: Size): Planes {
	if (image.height === size.height && image.width === size.width) return image;
	const rows = steps(image.height, size.height);
	const columns = steps(image.width, size.width);
	const planes = image.planes.map((plane) => resizePlane(plane, image.width, { rows, columns }));
	return { ...size, planes };
}

interface Step {
	low: number;
	high: number;
	share: number;
}

/**
 * Where each target pixel lies between two sources: (i + 0.5) · from / to − 0.5, clamped to the image. The rule of ONNX Resize with
 * coordinate_transformation_mode half_pixel, of torch's interpolate with align_corners off, and of OpenCV's INTER_LINEAR.
 */
function steps(from: number, to: number): Step[] {
	return Array.from({ length: to }, (_, i) => {
		const at = Math.min(from - 1, Math.max(0, ((i + 0.5) * from) / to - 0.5));
		const low = Math.floor(at);
		return { low, high: Math.min(from - 1, low + 1), share: at - low };
	});
}

function resizePlane(
	plane: Float32Array,
	width: number,
	{ rows, columns }: { rows: readonly Step[]; columns: readonly Step[] },
): Float32Array {
	const out = new Float32Array(rows.length * columns.length);
	let to = 0;
	for (const row of rows) {
		const top = row.low * width;
		const bottom = row.high * width;
		for (const { low, high, share } of columns) {
			const above = (plane[top + low] as number) * (1 - share) + (plane[top + high] as number) * share;
			const below = (plane[bottom + low] as number) * (1 - share) + (plane[bottom + high] as number) * share;
			out[to] = above * (1 - row.share) + below * row.share;
			to += 1;
		}
	}
	return out;
}

/** From the middle, the odd pixel left over below and to the right; what lies outside is 0. */
function crop(image: Planes, size: Size): Planes {
	if (image.height === size.height && image.width === size.width) return image;
	const top = Math.floor((image.height - size.height) / 2);
	const left = Math.floor((image.width - size.width) / 2);
	const from = Math.max(0, left);
	const planes = image.planes.map((plane) => {
		const out = new Float32Array(size.height * size.width);
		for (let y = Math.max(0, -top); y < size.height && y + top < image.height; y += 1) {
			const row = (y + top) * image.width;
			out.set(
				plane.subarray(row + from, row + Math.min(image.width, left + size.width)),
				y * size.width + from - left,
			);
		}
		return out;
	});
	return { ...size, planes };
}

function normalise(image: Planes, { scale, mean, std }: Preprocess): Planes {
	const factor = scale ?? 1 / 255;
	const planes = image.planes.map((plane, channel) => {
		const shift = channelValue(mean, channel, 0);
		const spread = channelValue(std, channel, 1);
		return plane.map((value) => (value * factor - shift) / spread);
	});
	return { ...image, planes };
}

function channelValue(values: readonly number[] | undefined, channel: number, otherwise: number): number {
	return values?.[values.length === 1 ? 0 : channel] ?? otherwise;
}

function layOut(
	{ planes, width, height }: Planes,
	{ file, channelsLast }: { file: TensorFile; channelsLast: boolean },
): Tensor {
	const values = new Float32Array(planes.length * width * height);
	const step = channelsLast ? planes.length : 1;
	for (const [channel, plane] of planes.entries()) {
		const first = channelsLast ? channel : channel * width * height;
		for (let i = 0; i < plane.length; i += 1) values[first + i * step] = plane[i] as number;
	}
	// Rounded to nearest, half away from zero, and clamped to 0 to 255.
	const data =
		file.dtype === "uint8"
			? Uint8Array.from(values, (value) => Math.min(255, Math.max(0, Math.floor(value + 0.5))))
			: new Uint8Array(values.buffer);
	return { dtype: file.dtype, shape: file.shape, data };
}
