// Reads stored tensors: inputs to record, and outputs to check. What a format does not state comes from what is expected.
import { stat } from "node:fs/promises";
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { inflate } from "../../adapters/files/tensor-reader.ts";
import { fileSource, withInput } from "../../adapters/process/input-file.ts";
import { ConfigError } from "../../core/errors.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { decodeOwn, type OwnSource } from "../../formats/tensor/decode.ts";
import { describeTensorProto } from "../../formats/tensor/tensor-proto.ts";
import type { Files, TensorReader } from "../../ports/world.ts";

export interface StoredPorts {
	files: Files;
	tensors: TensorReader;
}

export interface Expected {
	/** Of the input or output: what it is called in a file of several tensors. */
	name: string;
	dtype: DType;
	/** null: any; then the file must declare it. */
	shape: readonly number[] | null;
}

/** Of files that may hold all tensors of a case: Polygraphy's end in .json. */
const severalEndings = ["npz", "safetensors", "json"] as const;
/** Endings in the order in which they are looked for. */
export const storedEndings = ["npy", "raw", "bin", "pb", ...severalEndings] as const;
/** Of files that state the layout of what they hold. */
const ownEndings: readonly string[] = ["npy", ...severalEndings] satisfies readonly OwnSource["ending"][];

export function mayHoldSeveral(path: string): boolean {
	return severalEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

/** A file that holds all tensors of a case: the case's name with an ending. */
export async function findCaseFile(path: string): Promise<string | null> {
	for (const ending of severalEndings)
		if ((await stat(`${path}.${ending}`).catch(() => null))?.isFile() === true) return `${path}.${ending}`;
	return null;
}

/**
 * A tensor of the file's own layout where it states one, so that the judge sees a wrong shape; else of the expected one.
 * @throws ConfigError golden-missing, tensor-invalid.
 */
export async function readStored(path: string, expected: Expected, ports: StoredPorts): Promise<Tensor> {
	const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
	if (isOwn(ending)) return readOwn(path, expected, ending);
	const { dtype, shape } = ending === "pb" ? await protoLayout(path, expected, ports) : expected;
	if (shape === null) {
		throw new ConfigError({
			code: "tensor-invalid",
			message: `${path} does not state its shape.`,
			location: { path },
			fix: "Save it as .npy, or bind the model's dimensions with --dims.",
		});
	}
	const file: TensorFile = {
		path,
		sha256: await ports.files.sha256(path, inputKinds.tensor),
		dtype,
		shape: [...shape],
	};
	return ports.tensors.read(path, file);
}

/** Larger files are no test data. */
const maxProtoBytes = 2 ** 31 - 1;

/** The layout that the file states; for a Git LFS pointer the expected one, because the reader refuses it. */
async function protoLayout(
	path: string,
	expected: Expected,
	{ files }: StoredPorts,
): Promise<Pick<Expected, "dtype" | "shape">> {
	const bytes = await files.size(path);
	if (bytes === null || bytes > maxProtoBytes) return expected;
	const read = await files.readBytes(path, inputKinds.tensor);
	return new TextDecoder().decode(read.subarray(0, 8)) === "version "
		? expected
		: describeTensorProto(read, path);
}

function isOwn(ending: string): ending is OwnSource["ending"] {
	return ownEndings.includes(ending);
}

function readOwn(
	path: string,
	{ name: member, dtype }: Expected,
	ending: OwnSource["ending"],
): Promise<Tensor> {
	return withInput(path, inputKinds.tensor, ({ file, facts }) =>
		decodeOwn(fileSource(file, facts.size), { path, ending, member, dtype, inflate }),
	);
}
