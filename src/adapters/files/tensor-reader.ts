// Reads a golden's tensor files from disk: size checked before, hash verified while reading, then decoded.
import { createHash } from "node:crypto";
import { type FileHandle, open, stat } from "node:fs/promises";
import { inflateRawSync } from "node:zlib";
import { ConfigError } from "../../core/errors.ts";
import type { Tensor } from "../../core/golden/tensor.ts";
import type { TensorFile } from "../../core/schema/golden.ts";
import type { Inflate } from "../../formats/npz/npz.ts";
import { checkFileSize, decodeMember, decodeTensor, isContainer, refuseLfsPointer, tensorFormat } from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import type { TensorReader } from "../../ports/world.ts";
import { fileSource } from "../process/file-source.ts";
import { errorCode } from "../process/write-error.ts";
import { readImage } from "./image-reader.ts";

/** Reads beyond 2 GiB in one call fail; blocks also let the hash work while the disk does. */
const blockBytes = 4 * 1024 * 1024;
/** A Git LFS pointer is far smaller. */
const headBytes = 512;

/** Files of several tensors are hashed once for all of them, and parsed once while memory lasts. */
type KnownHashes = Map<string, { identity: string; sha256: string; document?: WeakRef<object> }>;

export function fileTensorReader(): TensorReader {
	const known: KnownHashes = new Map();
	return { read: (path, file) => readTensor(path, file, known) };
}

async function readTensor(path: string, file: TensorFile, known: KnownHashes): Promise<Tensor> {
	const { size, identity } = await factsOf(path);
	const handle = await openTensor(path);
	try {
		if (size <= headBytes) refuseLfsPointer((await readWhole(handle, size)).bytes, path);
		checkFileSize(size, file, path);
		if (isContainer(tensorFormat(file, path))) {
			await checkHash(handle, { path, file, size, identity, known });
			return decodeMember(fileSource(handle.fd, size), file, { path, inflate, once: (parse) => parseOnce(known, path, parse) });
		}
		const { bytes, sha256 } = await readWhole(handle, size);
		if (bytes.length !== size)
			throw tensorInvalid(path, { expected: `${size} bytes`, got: `${bytes.length}: the file changed while it was read` });
		if (sha256 !== file.sha256) throw wrongHash(path, file, sha256);
		return tensorFormat(file, path) === "image" ? await readImage(bytes, file, path) : decodeTensor(bytes, file, path);
	} finally {
		await handle.close();
	}
}

interface HashTask {
	path: string;
	file: TensorFile;
	size: number;
	/** Changes where the file does. */
	identity: string;
	known: KnownHashes;
}

async function checkHash(handle: FileHandle, { path, file, size, identity, known }: HashTask): Promise<void> {
	const before = known.get(path);
	const sha256 = before?.identity === identity ? before.sha256 : await hashWhole(handle, size);
	known.set(path, { ...(before?.identity === identity ? before : {}), identity, sha256 });
	if (sha256 !== file.sha256) throw wrongHash(path, file, sha256);
}

function parseOnce(known: KnownHashes, path: string, parse: () => object): object {
	const entry = known.get(path);
	const document = entry?.document?.deref() ?? parse();
	if (entry !== undefined) entry.document = new WeakRef(document);
	return document;
}

async function hashWhole(handle: FileHandle, size: number): Promise<string> {
	const block = new Uint8Array(Math.min(blockBytes, size));
	const hash = createHash("sha256");
	for (let at = 0; at < size; ) {
		const { bytesRead } = await handle.read(block, 0, Math.min(block.length, size - at), at);
		if (bytesRead === 0) break;
		hash.update(block.subarray(0, bytesRead));
		at += bytesRead;
	}
	return hash.digest("hex");
}

/** A bomb stops at the size that its archive promised. */
export const inflate: Inflate = (packed, bytes) => inflateRawSync(packed, { maxOutputLength: Math.max(1, bytes) });

/** Looks before it opens: opening a named pipe would wait for ever. */
async function factsOf(path: string): Promise<{ size: number; identity: string }> {
	try {
		const facts = await stat(path);
		if (facts.isFile()) return { size: facts.size, identity: `${facts.ino} ${facts.size} ${facts.mtimeMs} ${facts.ctimeMs}` };
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
