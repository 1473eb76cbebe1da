// Finds and reads stored tensors: inputs to record, and outputs to check. What a format does not state comes from what is expected.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { inflate } from "../../adapters/files/tensor-reader.ts";
import { fileSource, withInput } from "../../adapters/process/input-file.ts";
import { folderName } from "../../core/config/identity.ts";
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
	name: string;
	dtype: DType;
	/** null: any; then the file must declare it. */
	shape: readonly number[] | null;
}

const severalEndings = ["npz", "safetensors", "json"] as const;
export const storedEndings = ["npy", "raw", "bin", "pb", ...severalEndings] as const;
const ownEndings: readonly string[] = ["npy", ...severalEndings] satisfies readonly OwnSource["ending"][];

export function mayHoldSeveral(path: string): boolean {
	return severalEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

async function isFile(path: string): Promise<boolean> {
	return (await stat(path).catch(() => null))?.isFile() === true;
}

export async function findCaseFile(path: string): Promise<string | null> {
	for (const ending of severalEndings) if (await isFile(`${path}.${ending}`)) return `${path}.${ending}`;
	return null;
}

/** The names that a tensor's file may have: its own, those of `golden record` and of ONNX's test data, and its own with `_` for what file names lack. */
export function fileNamesOf(names: readonly string[], index: number, kind: "in" | "out"): string[] {
	const name = names[index] ?? "";
	const plain = plainName(name);
	const isShared = names.some((other) => other !== name && plainName(other) === plain);
	return [name, `${kind}-${folderName(name)}`, `${kind}put_${index}`, ...(isShared ? [] : [plain])];
}

export function plainName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

/** The first of the names that a file in the folder has; names that lead elsewhere are skipped. */
export async function findTensor(
	folder: string,
	names: readonly string[],
	endings: readonly string[] = storedEndings,
): Promise<string | null> {
	for (const name of [...names, ...names.slice(0, 1).map(folderName)]) {
		if (/[\\/\0]/.test(name) || name.startsWith(".")) continue;
		for (const ending of endings) {
			const path = join(folder, `${name}.${ending}`);
			if (await isFile(path)) return path;
		}
	}
	return null;
}

/**
 * A tensor in the file's own layout where it states one, so that the judge sees a wrong shape; else in the expected one.
 * @throws ConfigError golden-missing, tensor-invalid.
 */
export async function readStored(path: string, expected: Expected, ports: StoredPorts): Promise<Tensor> {
	const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
	if (ownEndings.includes(ending)) {
		const own = { path, ending: ending as OwnSource["ending"], member: expected.name };
		return withInput(path, inputKinds.tensor, ({ file, facts }) =>
			decodeOwn(fileSource(file, facts.size), { ...own, dtype: expected.dtype, inflate }),
		);
	}
	const { dtype, shape } = ending === "pb" ? await protoLayout(path, expected, ports) : expected;
	if (shape === null) {
		throw new ConfigError({
			code: "tensor-invalid",
			message: `${path} does not state its shape.`,
			location: { path },
			fix: "Save it as .npy, or bind the model's dimensions with --dims.",
		});
	}
	const sha256 = await ports.files.sha256(path, inputKinds.tensor);
	const file: TensorFile = { path, sha256, dtype, shape: [...shape] };
	return ports.tensors.read(path, file);
}

const maxProtoBytes = 2 ** 31 - 1;

/** The layout that the file states; for a Git LFS pointer the expected one, because the reader refuses it. */
async function protoLayout(path: string, expected: Expected, { files }: StoredPorts) {
	const bytes = await files.size(path);
	if (bytes === null || bytes > maxProtoBytes) return expected;
	const read = await files.readBytes(path, inputKinds.tensor);
	const isPointer = new TextDecoder().decode(read.subarray(0, 8)) === "version ";
	return isPointer ? expected : describeTensorProto(read, path);
}
