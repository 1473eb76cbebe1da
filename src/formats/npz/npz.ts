// Reads one member of NumPy's .npz archives, inflated no further than its tensor needs.

import type { TensorFile } from "../../../generated/golden.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { decodeNpy } from "../tensor/npy.ts";
import { memberMissing, tensorInvalid } from "../tensor/refusal.ts";
import { findZipEntries, type ZipEntry } from "../zip/zip.ts";

/** Inflates raw deflate data to at most `bytes` bytes; throws if it is broken or becomes more. */
export type Inflate = (packed: Uint8Array, bytes: number) => Uint8Array;

const maxHeaderBytes = 10_000 + 12;
/** Deflate adds five bytes per block that it cannot compress. */
const packingShare = 1.01;
const packingBytes = 1024;

export interface NpzMember {
	path: string;
	member: string;
	inflate: Inflate;
}

/** @throws ConfigError tensor-invalid. */
export function decodeNpzMember(source: ByteSource, file: TensorFile, place: NpzMember): Tensor {
	// numpy has no 4-bit numbers: each takes a byte.
	return decodeNpy(npzMember(source, 2 * tensorBytes(file) + maxHeaderBytes, place), file, place.path);
}

/** A member's .npy file, of at most `most` bytes. @throws ConfigError tensor-invalid. */
export function npzMember(
	source: ByteSource,
	most: number,
	{ path, member, inflate }: NpzMember,
): Uint8Array {
	const entry = findMember(source, member, path);
	if (entry.bytes > most || entry.packedBytes > most * packingShare + packingBytes) {
		const expected = `at most ${most} bytes in member ${JSON.stringify(member)}`;
		throw tensorInvalid(path, expected, `${entry.bytes}, packed ${entry.packedBytes}`);
	}
	const packed = source.read(entry.dataAt, entry.packedBytes);
	if (entry.method === "stored") return packed;
	const expected = `${entry.bytes} bytes of deflated data`;
	let bytes: Uint8Array;
	try {
		bytes = inflate(packed, entry.bytes);
	} catch {
		throw tensorInvalid(path, expected, "broken data, or more");
	}
	if (bytes.length !== entry.bytes) throw tensorInvalid(path, expected, `${bytes.length}`);
	return bytes;
}

function findMember(source: ByteSource, member: string, path: string): ZipEntry {
	const seen: string[] = [];
	const entries = findZipEntries(source, (name) => {
		if (seen.length < 64) seen.push(name.replace(/\.npy$/, ""));
		return name === `${member}.npy`;
	});
	if (typeof entries === "string") throw tensorInvalid(path, "a .npz archive", entries);
	const [entry, second] = entries;
	if (entry === undefined) throw memberMissing(path, member, seen);
	if (second !== undefined)
		throw tensorInvalid(path, `one member ${JSON.stringify(member)}`, `${entries.length}`);
	return entry;
}
