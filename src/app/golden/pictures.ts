// Reads PNG and JPEG files as inputs of cases to record, with the requested preprocessing or one that fits the input.
import { createHash } from "node:crypto";
import { preprocessFile } from "../../adapters/files/image-reader.ts";
import { readInput, readInputText } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import { describeJsonFault } from "../../core/found.ts";
import type { Picture } from "../../core/golden/manifest/draft.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { quoteName } from "../../core/onnx/quote.ts";
import type { DType, Preprocess } from "../../core/schema/golden.ts";

export const pictureEndings = ["png", "jpg", "jpeg"] as const;

export function isPicture(path: string): boolean {
	return pictureEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

interface PictureInput {
	name: string;
	dtype: DType;
	/** null where a size is not known. */
	shape: readonly number[] | null;
}

/** @throws ConfigError usage where the input cannot be a picture; tensor-invalid where the file is not one, or does not fit the input. */
export async function readPicture(
	path: string,
	input: PictureInput,
	requested: Preprocess | undefined,
): Promise<{ tensor: Tensor; picture: Picture }> {
	const { name, dtype, shape } = input;
	if (shape === null)
		throw usage(`Input ${quoteName(name)} has no size, and ${path} is a picture.`, "Bind the model's dimensions with --dims.");
	const preprocess = requested ?? fittingPreprocess(input, shape);
	const bytes = await readInput(path, inputKinds.picture);
	const file = { path, sha256: "", dtype, shape: [...shape], format: "image" as const, preprocess };
	const { tensor, sha256: tensorSha256 } = await preprocessFile(bytes, file, path);
	const ending = /\.([^.]+)$/.exec(path)?.[1]?.toLowerCase() ?? "png";
	return { tensor, picture: { bytes, sha256: createHash("sha256").update(bytes).digest("hex"), ending, preprocess, tensorSha256 } };
}

/** The layout and size of the input's shape, and values from 0 to 1 (for uint8, the pixels unchanged). */
function fittingPreprocess({ name, dtype }: PictureInput, shape: readonly number[]): Preprocess {
	const batched = shape.length === 4;
	const axes = batched && shape[0] === 1 ? shape.slice(1) : shape;
	const channelsFirst = axes[0] === 1 || axes[0] === 3;
	const channels = channelsFirst ? axes[0] : axes[2];
	if (axes.length !== 3 || (channels !== 1 && channels !== 3)) {
		const fix = "Give tensors (.npy), bind the batch to 1 with --dims, or describe with --preprocess how pictures become tensors.";
		throw usage(`Input ${quoteName(name)} of shape [${shape.join(", ")}] cannot take a picture directly.`, fix);
	}
	const [height = 1, width = 1] = channelsFirst ? axes.slice(1) : axes;
	const layout = `${batched ? "n" : ""}${channelsFirst ? "chw" : "hwc"}` as Preprocess["layout"];
	return { colour: channels === 1 ? "grey" : "rgb", resize: [height, width], ...(dtype === "uint8" ? { scale: 1 } : {}), layout };
}

function usage(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}

const layouts = ["nchw", "nhwc", "chw", "hwc"];

/** `--preprocess FILE.json`: the object that manifests call `preprocess`. It is validated with the whole manifest. */
export async function readPreprocess(path: string): Promise<Preprocess> {
	const text = await readInputText(path, inputKinds.argument);
	try {
		const parsed: unknown = JSON.parse(text);
		if (typeof parsed === "object" && parsed !== null && "layout" in parsed && layouts.includes(String(parsed.layout)))
			return parsed as Preprocess;
	} catch (cause) {
		throw usage(`--preprocess: ${path} is not JSON: ${describeJsonFault(cause)}.`, "Correct the file.");
	}
	throw usage(
		`--preprocess: ${path} names no layout.`,
		`Write an object with "layout": one of ${layouts.join(", ")}; docs/goldens.md has the other keys.`,
	);
}
