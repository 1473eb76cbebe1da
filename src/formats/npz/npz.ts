// Reads one member of NumPy's .npz archives, inflated no further than its tensor needs.

import type { TensorFile } from "../../../generated/golden.ts";
import { type Tensor, tensorBytes } from "../../golden/core/tensor/tensor.ts";
import type { ByteSource } from "../bytes/byte-source.ts";
import { decodeNpy } from "../tensor/npy.ts";
import { type MemberFile, memberMissing, tensorInvalid } from "../tensor/refusal.ts";
import { findZipEntries, type ZipEntry } from "../zip/zip.ts";

/** Inflates raw deflate data to at most `bytes` bytes; throws if it is broken or becomes more. */
export type Inflate = (packed: Uint8Array, bytes: number) => Uint8Array;

const maxHeaderBytes = 10_000 + 12;
/** Deflate adds five bytes per block that it cannot compress. */
const packingShare = 1.01;
const packingBytes = 1024;

/** @throws ConfigError tensor-invalid. */
export function decodeNpzMember(source: ByteSource, file: TensorFile & MemberFile, inflate: Inflate): Tensor {
	// numpy has no 4-bit numbers: each takes a byte.
	return decodeNpy(npzMember(source, file, 2 * tensorBytes(file) + maxHeaderBytes, inflate), file);
}

/** @throws ConfigError tensor-invalid. */
export function npzMember(source: ByteSource, file: MemberFile, most: number, inflate: Inflate): Uint8Array {
	const { bytes, packedBytes, dataAt, method } = findMember(source, file);
	if (bytes > most || packedBytes > most * packingShare + packingBytes) {
		const expected = `at most ${most} bytes in member ${JSON.stringify(file.member)}`;
		throw tensorInvalid(file, expected, `${bytes}, packed ${packedBytes}`);
	}
	const packed = source.read(dataAt, packedBytes);
	if (method === "stored") return packed;
	let got = "broken data, or more";
	try {
		const inflated = inflate(packed, bytes);
		if (inflated.length === bytes) return inflated;
		got = `${inflated.length}`;
	} catch {
		// zlib's own message adds nothing.
	}
	throw tensorInvalid(file, `${bytes} bytes of deflated data`, got);
}

function findMember(source: ByteSource, file: MemberFile): ZipEntry {
	const seen: string[] = [];
	const entries = findZipEntries(source, (name) => {
		if (seen.length < 64) seen.push(name.replace(/\.npy$/, ""));
		return name === `${file.member}.npy`;
	});
	if (typeof entries === "string") throw tensorInvalid(file, "a .npz archive", entries);
	const [entry] = entries;
	if (entry === undefined) throw memberMissing(file, seen);
	if (entries.length === 1) return entry;
	throw tensorInvalid(file, `one member ${JSON.stringify(file.member)}`, `${entries.length}`);
}
