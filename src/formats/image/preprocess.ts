// Turns pixels into the tensor that a model is fed: colour, resize, crop, normalisation, layout, in this order.

import type { Preprocess, TensorFile } from "../../../generated/golden.ts";
import { formatShape, type Tensor } from "../../golden/core/tensor/tensor.ts";
import { formatLayout, tensorInvalid } from "../tensor/refusal.ts";
import { maxPixels } from "./header.ts";

export interface Pixels {
	width: number;
	height: number;
	rgb: Uint8Array;
}

/** One plane per channel, with values from 0 to 255. */
interface Planes {
	width: number;
	height: number;
	planes: readonly Float32Array[];
}

/** @throws ConfigError tensor-invalid if the result is not as the manifest says. */
export function preprocessImage(pixels: Pixels, file: TensorFile): Tensor {
	const { preprocess, dtype, shape } = file;
	if (preprocess === undefined) {
		const fix = 'Add "preprocess" to the manifest.';
		throw tensorInvalid(file, "how the image becomes a tensor", "nothing", fix);
	}
	const { resized, cropped } = sizeAfter(pixels, preprocess);
	const planned = plannedShape(preprocess, cropped);
	const isSupported = dtype === "float32" || dtype === "uint8";
	if (!isSupported || formatShape(planned) !== formatShape(shape)) {
		const made = isSupported ? dtype : "float32 or uint8";
		throw tensorInvalid(file, formatLayout(file), `${made} ${formatShape(planned)} by its preprocess`);
	}
	if (resized.height * resized.width > maxPixels)
		throw tensorInvalid(file, `at most ${maxPixels} pixels`, `${resized.height} × ${resized.width}`);
	const colours = toPlanes(pixels, preprocess.colour ?? "rgb");
	const normalised = normalise(crop(resize(colours, resized), cropped), preprocess);
	return layOut(normalised, file, preprocess.layout.endsWith("c"));
}

interface Size {
	height: number;
	width: number;
}

function sizeAfter(pixels: Size, { resize: requested, crop: cut }: Preprocess) {
	const resized = resizedSize(pixels, requested);
	const [height, width] = cut ?? [resized.height, resized.width];
	return { resized, cropped: { height, width } };
}

function resizedSize({ height, width }: Size, requested: Preprocess["resize"]) {
	if (requested === undefined) return { height, width };
	if (typeof requested !== "number")
		return inProportion({ height, width }, { height: requested[0], width: requested[1] });
	const scale = (side: number) => Math.max(1, Math.floor((side * requested) / Math.min(height, width)));
	return height <= width
		? { height: requested, width: scale(width) }
		: { height: scale(height), width: requested };
}

function inProportion(own: Size, { height, width }: { height: number | null; width: number | null }) {
	const side = (fixed: number | null, of: number, other: number) =>
		Math.max(1, Math.round(((fixed ?? other) * of) / other));
	return {
		height: height ?? side(width, own.height, own.width),
		width: width ?? side(height, own.width, own.height),
	};
}

export function imageShape(own: Size, preprocess: Preprocess): number[] {
	return plannedShape(preprocess, sizeAfter(own, preprocess).cropped);
}

function plannedShape({ colour, layout }: Preprocess, { height, width }: Size) {
	const channels = colour === "grey" ? 1 : 3;
	const plain = layout.endsWith("c") ? [height, width, channels] : [channels, height, width];
	return layout.startsWith("n") ? [1, ...plain] : plain;
}

function toPlanes({ width, height, rgb }: Pixels, colour: "rgb" | "bgr" | "grey") {
	const pick = (channel: number) => {
		const plane = new Float32Array(width * height);
		for (let i = 0; i < plane.length; i += 1) plane[i] = rgb[i * 3 + channel] as number;
		return plane;
	};
	const planes = (colour === "bgr" ? [2, 1, 0] : [0, 1, 2]).map(pick);
	if (colour !== "grey") return { width, height, planes };
	const [red, green, blue] = planes as [Float32Array, Float32Array, Float32Array];
	// Luma of ITU-R BT.601.
	const luma = (value: number, i: number) =>
		0.299 * value + 0.587 * (green[i] as number) + 0.114 * (blue[i] as number);
	return { width, height, planes: [red.map(luma)] };
}

function resize(image: Planes, size: Size) {
	if (image.height === size.height && image.width === size.width) return image;
	const rows = steps(image.height, size.height);
	const columns = steps(image.width, size.width);
	return { ...size, planes: image.planes.map((plane) => resizePlane(plane, image.width, rows, columns)) };
}

interface Step {
	low: number;
	high: number;
	share: number;
}

/**
 * Each target pixel lies at (i + 0.5) · from / to − 0.5 between two sources, clamped to the image, as in ONNX Resize with
 * half_pixel, torch's interpolate without align_corners, and OpenCV's INTER_LINEAR.
 */
function steps(from: number, to: number) {
	return Array.from({ length: to }, (_, i) => {
		const at = Math.min(from - 1, Math.max(0, ((i + 0.5) * from) / to - 0.5));
		const low = Math.floor(at);
		return { low, high: Math.min(from - 1, low + 1), share: at - low };
	});
}

function resizePlane(plane: Float32Array, width: number, rows: readonly Step[], columns: readonly Step[]) {
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

/** Cuts from the middle; an odd pixel stays below and to the right. Outside the image, values are 0. */
function crop(image: Planes, size: Size) {
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

function normalise(image: Planes, { scale = 1 / 255, mean, std }: Preprocess) {
	const planes = image.planes.map((plane, channel) => {
		const of = (values: readonly number[] | undefined) => values?.[values.length === 1 ? 0 : channel];
		const [shift, spread] = [of(mean) ?? 0, of(std) ?? 1];
		return plane.map((value) => (value * scale - shift) / spread);
	});
	return { ...image, planes };
}

function layOut({ planes, width, height }: Planes, file: TensorFile, channelsLast: boolean) {
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
