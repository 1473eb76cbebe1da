// Finds and reads tensor files that no manifest describes.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { DType } from "../../../generated/golden.ts";
import { inflate } from "../../adapters/files/tensor-reader.ts";
import { fileSource, readWhole, withInput } from "../../adapters/process/input-file.ts";
import { folderName } from "../../core/config/identity.ts";
import { inputKinds } from "../../core/input-kind.ts";
import {
	checkFileSize,
	decodeOwn,
	decodeTensor,
	ownEndings,
	refuseLfsPointer,
} from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import { describeTensorProto } from "../../formats/tensor/tensor-proto.ts";
import type { Tensor } from "../core/tensor/tensor.ts";

interface Expected {
	name: string;
	dtype: DType;
	/** null if any fits; the file must then declare it. */
	shape: readonly number[] | null;
}

export const severalEndings = ["npz", "safetensors", "json"] as const;
export const storedEndings = ["npy", "raw", "bin", "pb", ...severalEndings] as const;

export function mayHoldSeveral(path: string): boolean {
	return severalEndings.some((ending) => path.toLowerCase().endsWith(`.${ending}`));
}

/** The tensor's own name, those of `golden record` and of ONNX's test data, and `plainName`. */
export function fileNamesOf(names: readonly string[], index: number, kind: "in" | "out"): string[] {
	const name = names[index] ?? "";
	const plain = plainName(name);
	const isShared = names.some((other) => other !== name && plainName(other) === plain);
	return [name, `${kind}-${folderName(name)}`, `${kind}put_${index}`, ...(isShared ? [] : [plain])];
}

/** As trtexec writes it. */
export function plainName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

/** The names, and the first one as a folder's; those that lead elsewhere are left out. */
export function namesOnDisk(names: readonly string[]): string[] {
	return [...names, ...names.slice(0, 1).map(folderName)].filter((name) => !/^\.|[\\/\0]/.test(name));
}

/** The first of the names that one of the folders has. */
export async function findTensor(
	folders: readonly string[],
	names: readonly string[],
	endings: readonly string[] = storedEndings,
): Promise<string | null> {
	for (const folder of folders)
		for (const name of namesOnDisk(names))
			for (const ending of endings) {
				const path = join(folder, `${name}.${ending}`);
				if ((await stat(path).catch(() => null))?.isFile() === true) return path;
			}
	return null;
}

/** The most of a protobuf message. */
const maxProtoBytes = 2 ** 31 - 1;
const headBytes = 512;

/** In the file's own layout if it states one, so that the judge sees a wrong shape. @throws ConfigError golden-missing, tensor-invalid. */
export function readStored(path: string, { name, dtype, shape }: Expected): Promise<Tensor> {
	const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
	return withInput(path, inputKinds.tensor, async ({ file, facts: { size } }) => {
		const source = fileSource(file, size);
		const own = ownEndings.find((known) => known === ending);
		if (own !== undefined) return decodeOwn(source, { path, member: name, dtype }, own, inflate);
		const found = { path, sha256: "" };
		refuseLfsPointer(source.read(0, headBytes), found);
		if (ending === "pb") {
			if (size > maxProtoBytes) throw tensorInvalid(found, `at most ${maxProtoBytes} bytes`, `${size}`);
			const bytes = await readWhole(file, size);
			return decodeTensor(bytes, { ...found, ...describeTensorProto(bytes, found) });
		}
		if (shape === null)
			throw tensorInvalid(
				found,
				"a file that states its shape",
				"raw bytes",
				"Save it as .npy, or bind the model's dimensions with --dims.",
			);
		const raw = { ...found, dtype, shape: [...shape] };
		checkFileSize(size, raw);
		return decodeTensor(await readWhole(file, size), raw);
	});
}
