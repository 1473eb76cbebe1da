// Reads PNG and JPEG files as inputs of cases to record, with the requested preprocessing or one that fits the input.
import { createHash } from "node:crypto";
import type { Preprocess } from "../../../generated/golden.ts";
import { preprocessFile } from "../../adapters/files/image-reader.ts";
import { readInput } from "../../adapters/process/input-file.ts";
import { usageError } from "../../core/errors.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import { readImageHeader } from "../../formats/image/header.ts";
import { imageShape } from "../../formats/image/preprocess.ts";
import type { InputPort } from "./inputs.ts";

export const pictureEndings = ["png", "jpg", "jpeg"] as const;

export function isPicture(path: string): boolean {
	return pictureEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

type PictureInput = Pick<InputPort, "name" | "dtype" | "sizes">;

/** @throws ConfigError usage where the input cannot be a picture; tensor-invalid where the file is not one, or does not fit the input. */
export async function readPicture(
	path: string,
	input: PictureInput,
	requested: Preprocess | undefined,
): Promise<{ tensor: Tensor; picture: Picture }> {
	const { name, dtype, sizes } = input;
	const bytes = await readInput(path, inputKinds.picture);
	const own = readImageHeader(bytes) ?? { width: 1, height: 1 };
	const preprocess = requested ?? fittingPreprocess(input, own);
	const shape = imageShape(own, preprocess);
	const misfit =
		sizes !== null &&
		(sizes.length !== shape.length || sizes.some((size, axis) => size !== null && size !== shape[axis]));
	if (misfit) {
		throw usageError(
			`Input ${quoteName(name)} takes ${formatSizes(sizes)}, and ${path} becomes [${shape.join(", ")}].`,
			"Correct layout, resize or crop in --preprocess.",
		);
	}
	const file = { path, sha256: "", dtype, shape, format: "image" as const, preprocess };
	const { tensor, sha256: tensorSha256 } = await preprocessFile(bytes, file, path);
	const ending = /\.([^.]+)$/.exec(path)?.[1]?.toLowerCase() ?? "png";
	return {
		tensor,
		picture: {
			bytes,
			sha256: createHash("sha256").update(bytes).digest("hex"),
			ending,
			preprocess,
			tensorSha256,
		},
	};
}

/** The layout and size of the input's shape (open sizes: the picture's own), and values from 0 to 1 (for uint8, the pixels unchanged). */
function fittingPreprocess(
	{ name, dtype, sizes }: PictureInput,
	own: { height: number; width: number },
): Preprocess {
	const batched = sizes?.length === 4;
	const axes = batched && (sizes[0] ?? 1) === 1 ? sizes.slice(1) : (sizes ?? []);
	const channelsFirst = isChannels(axes[0]);
	const channels = channelsFirst ? axes[0] : axes[2];
	if (axes.length !== 3 || !isChannels(channels)) {
		const fix =
			"Give tensors (.npy), bind the batch to 1 with --dims, or describe with --preprocess how images become tensors.";
		throw usageError(
			`Input ${quoteName(name)} of shape ${formatSizes(sizes)} cannot take an image directly.`,
			fix,
		);
	}
	const [height, width] = channelsFirst ? axes.slice(1) : axes;
	const layout = `${batched ? "n" : ""}${channelsFirst ? "chw" : "hwc"}` as Preprocess["layout"];
	const resize: [number, number] = [height ?? own.height, width ?? own.width];
	return {
		colour: channels === 1 ? "grey" : "rgb",
		resize,
		...(dtype === "uint8" ? { scale: 1 } : {}),
		layout,
	};
}

function isChannels(size: number | null | undefined): boolean {
	return size === 1 || size === 3;
}

/** `[1, 3, ?, ?]`. */
export function formatSizes(sizes: readonly (number | null)[] | null): string {
	return sizes === null
		? "that the model does not state"
		: `[${sizes.map((size) => size ?? "?").join(", ")}]`;
}
