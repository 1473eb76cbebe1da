// Reads a golden's tensor files from disk: checks the size first, verifies the hash while reading, then decodes.
import { createHash } from "node:crypto";
import { inflateRawSync } from "node:zlib";
import type { TensorFile } from "../../../generated/golden.ts";
import type { ConfigError } from "../../core/errors.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { Inflate } from "../../formats/npz/npz.ts";
import {
	checkFileSize,
	decodeMember,
	decodeTensor,
	isContainer,
	refuseLfsPointer,
	tensorFormat,
} from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import type { Tensor } from "../../golden/core/tensor/tensor.ts";
import type { TensorReader } from "../../ports/world.ts";
import { fileSource, readWhole, withInput } from "../process/input-file.ts";
import { readImage } from "./image-reader.ts";
import { hashOpen } from "./store.ts";

const headBytes = 512;

type KnownHashes = Map<string, { identity: string; sha256: string; document?: WeakRef<object> }>;

export function fileTensorReader(): TensorReader {
	const known: KnownHashes = new Map();
	return { read: (path, file) => readTensor(path, file, known) };
}

function readTensor(path: string, file: TensorFile, known: KnownHashes): Promise<Tensor> {
	return withInput(path, inputKinds.tensor, async ({ file: open, facts }) => {
		const { size } = facts;
		if (size <= headBytes) refuseLfsPointer(await readWhole(open, size), path);
		checkFileSize(size, file, path);
		if (isContainer(tensorFormat(file, path))) {
			const identity = `${facts.ino} ${size} ${facts.mtimeMs} ${facts.ctimeMs}`;
			await checkHash(open, { path, file, identity, known });
			const once = (parse: () => object): object => parseOnce(known, path, parse);
			return decodeMember(fileSource(open, size), file, { path, inflate, once });
		}
		const bytes = await readWhole(open, size);
		if (bytes.length !== size)
			throw tensorInvalid(path, `${size} bytes`, `${bytes.length}: the file changed while it was read`);
		const sha256 = createHash("sha256").update(bytes).digest("hex");
		if (sha256 !== file.sha256) throw wrongHash(path, file, sha256);
		return tensorFormat(file, path) === "image"
			? readImage(bytes, file, path)
			: decodeTensor(bytes, file, path);
	});
}

async function checkHash(
	open: number,
	{ path, file, identity, known }: { path: string; file: TensorFile; identity: string; known: KnownHashes },
): Promise<void> {
	const before = known.get(path);
	const isSame = before?.identity === identity;
	const sha256 = isSame ? before.sha256 : await hashOpen(open);
	if (!isSame) known.set(path, { identity, sha256 });
	if (sha256 !== file.sha256) throw wrongHash(path, file, sha256);
}

function parseOnce(known: KnownHashes, path: string, parse: () => object): object {
	const entry = known.get(path);
	const document = entry?.document?.deref() ?? parse();
	if (entry !== undefined) entry.document = new WeakRef(document);
	return document;
}

export const inflate: Inflate = (packed, bytes) =>
	inflateRawSync(packed, { maxOutputLength: Math.max(1, bytes) });

function wrongHash(path: string, file: TensorFile, sha256: string): ConfigError {
	const fix =
		"Restore the file (with Git, check that .gitattributes marks it binary), or record the golden again.";
	return tensorInvalid(path, `SHA-256 ${file.sha256}`, sha256, fix);
}
