// Finds the file of an input or output in a folder by its names.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { folderName } from "../../core/config/identity.ts";
import { type FileReading, preprocessOf } from "./input-files.ts";
import { pictureEndings } from "./pictures.ts";
import { storedEndings } from "./stored.ts";

/** `case-2` before `case-10`. */
export function byNumber(left: string, right: string): number {
	return left.localeCompare(right, "en", { numeric: true });
}

/** The names that a tensor's file may have: its own, those of `golden record` and of ONNX's test data, and its own with `_` for what file names lack. */
export function fileNamesOf(names: readonly string[], index: number, kind: "in" | "out"): string[] {
	const name = names[index] ?? "";
	const plain = plainName(name);
	const isShared = names.some((other) => other !== name && plainName(other) === plain);
	const ordinal = kind === "in" ? `input_${index}` : `output_${index}`;
	return [name, `${kind}-${folderName(name)}`, ordinal, ...(isShared ? [] : [plain])];
}

/** As trtexec names files after tensors. */
export function plainName(name: string): string {
	return name.replace(/[^A-Za-z0-9._,-]/g, "_");
}

/** Tensors first: a picture next to a tensor is only for viewing. Bytes may end in anything. */
export async function findInput(
	folder: string,
	names: readonly string[],
	reading: Pick<FileReading, "preprocessing">,
): Promise<string | null> {
	const preprocess = preprocessOf(names[0] ?? null, reading);
	if (preprocess?.kind === "bytes") {
		const file = (await readdir(folder))
			.sort(byNumber)
			.find((one) => names.some((name) => one === name || one.startsWith(`${name}.`)));
		return file === undefined ? null : join(folder, file);
	}
	return (await findTensor(folder, names)) ?? findTensor(folder, names, [...pictureEndings, "wav"]);
}

/** The first of the names that a file in the folder has, with any ending; names that lead elsewhere are none. */
export async function findTensor(
	folder: string,
	names: readonly string[],
	endings: readonly string[] = storedEndings,
): Promise<string | null> {
	for (const name of [...names, ...names.slice(0, 1).map(folderName)]) {
		if (/[\\/\0]/.test(name) || name.startsWith(".")) continue;
		for (const ending of endings) {
			const path = join(folder, `${name}.${ending}`);
			if ((await stat(path).catch(() => null))?.isFile() === true) return path;
		}
	}
	return null;
}
