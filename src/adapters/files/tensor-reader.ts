// Reads a golden's tensor files from disk: size checked before, hash verified while reading, then decoded.
import { createHash } from "node:crypto";
import { type FileHandle, open, stat } from "node:fs/promises";
import { ConfigError } from "../../core/errors.ts";
import type { Tensor } from "../../core/golden/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import { checkFileSize, decodeTensor, refuseLfsPointer } from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import type { TensorReader } from "../../ports.ts";
import { errorCode } from "../process/write-error.ts";

/** Reads beyond 2 GiB in one call fail; blocks also let the hash work while the disk does. */
const blockBytes = 4 * 1024 * 1024;
/** A Git LFS pointer is far smaller. */
const headBytes = 512;

export function fileTensorReader(): TensorReader {
	return { read: readTensor };
}

async function readTensor(path: string, file: TensorFile): Promise<Tensor> {
	const size = await sizeOf(path);
	const handle = await openTensor(path);
	try {
		if (size <= headBytes) refuseLfsPointer((await readWhole(handle, size)).bytes, path);
		checkFileSize(size, file, path);
		const { bytes, sha256 } = await readWhole(handle, size);
		if (bytes.length !== size)
			throw tensorInvalid(path, { expected: `${size} bytes`, got: `${bytes.length}: the file changed while it was read` });
		if (sha256 !== file.sha256) throw wrongHash(path, file, sha256);
		return decodeTensor(bytes, file, path);
	} finally {
		await handle.close();
	}
}

/** Looks before it opens: opening a named pipe would wait for ever. */
async function sizeOf(path: string): Promise<number> {
	try {
		const facts = await stat(path);
		if (facts.isFile()) return facts.size;
	} catch (cause) {
		throw unreadable(path, cause);
	}
	throw tensorInvalid(path, { expected: "a file", got: "a folder or no regular file" });
}

async function openTensor(path: string): Promise<FileHandle> {
	try {
		return await open(path, "r");
	} catch (cause) {
		throw unreadable(path, cause);
	}
}

async function readWhole(handle: FileHandle, size: number): Promise<{ bytes: Uint8Array; sha256: string }> {
	const bytes = new Uint8Array(size);
	const hash = createHash("sha256");
	let at = 0;
	while (at < size) {
		const { bytesRead } = await handle.read(bytes, at, Math.min(blockBytes, size - at), at);
		if (bytesRead === 0) break;
		hash.update(bytes.subarray(at, at + bytesRead));
		at += bytesRead;
	}
	return { bytes: at === size ? bytes : bytes.subarray(0, at), sha256: hash.digest("hex") };
}

function wrongHash(path: string, file: TensorFile, sha256: string): ConfigError {
	return tensorInvalid(path, {
		expected: `SHA-256 ${file.sha256}`,
		got: sha256,
		fix: "Restore the file (with Git, check that .gitattributes marks it binary), or record the golden again.",
	});
}

function unreadable(path: string, cause: unknown): ConfigError {
	const code = errorCode(cause);
	const missing = code === "ENOENT" || code === "ENOTDIR";
	return new ConfigError({
		code: "golden-missing",
		message: missing
			? `There is no tensor file ${path}, which the golden manifest names.`
			: `Tensor file ${path} cannot be read (${code}).`,
		cause,
		details: {
			location: { path },
			fix: missing
				? "Add the file to the repository, fetch it (git lfs pull, dvc pull), or record the golden again."
				: "Give the runner's user the right to read the file.",
		},
	});
}
