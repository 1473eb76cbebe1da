// Tensor files on disk: hashes, sizes, pointers.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TensorFile } from "../../../generated/golden.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { float32 } from "../../support/golden-tensors.ts";

const reader = fileTensorReader();
const tensor = float32([1, 2, 3], [3]);
let folder: string;

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "tensor-reader-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, bytes: Uint8Array): Promise<{ path: string; file: TensorFile }> {
	const path = join(folder, name);
	await writeFile(path, bytes);
	return {
		path,
		file: {
			path: name,
			sha256: createHash("sha256").update(bytes).digest("hex"),
			dtype: "float32",
			shape: [3],
		},
	};
}

it.each([
	["raw.bin", tensor.data],
	["array.npy", encodeNpy(tensor)],
])("fileTensorReader reads %s", async (name, bytes) => {
	const { path, file } = await write(name, bytes);
	const read = await reader.read(path, file);
	expect(read).toMatchObject({ dtype: "float32", shape: [3] });
	expect(Buffer.from(read.data).equals(tensor.data)).toBe(true);
});

it("fileTensorReader reports that a file is missing", async () => {
	const { file } = await write("there.raw", tensor.data);
	await expect(reader.read(join(folder, "gone.raw"), file)).rejects.toMatchObject({
		code: "golden-missing",
		message: expect.stringContaining("gone.raw"),
	});
	await expect(reader.read(join(folder, "there.raw", "below.raw"), file)).rejects.toMatchObject({
		code: "golden-missing",
	});
});

it("fileTensorReader refuses a wrong hash and names both", async () => {
	const { path, file } = await write("changed.raw", tensor.data);
	const sha256 = "0".repeat(64);
	await expect(reader.read(path, { ...file, sha256 })).rejects.toMatchObject({
		code: "tensor-invalid",
		message: expect.stringContaining(`expected SHA-256 ${sha256}, got ${file.sha256}`),
	});
});

it("fileTensorReader refuses a wrong size before it reads the file", async () => {
	const { path, file } = await write("short.raw", tensor.data.subarray(1));
	await expect(reader.read(path, { ...file, sha256: "0".repeat(64) })).rejects.toMatchObject({
		message: expect.stringContaining("got 11 bytes"),
	});
	const large = await write("large.npy", new Uint8Array(2 * 1024 * 1024));
	await expect(reader.read(large.path, large.file)).rejects.toMatchObject({
		message: expect.stringContaining("got 2097152 bytes"),
	});
});

it("fileTensorReader recognises a Git LFS pointer before size and hash", async () => {
	const { path, file } = await write(
		"pointer.raw",
		Buffer.from("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"),
	);
	await expect(reader.read(path, { ...file, sha256: "0".repeat(64) })).rejects.toMatchObject({
		fix: expect.stringContaining("git lfs pull"),
	});
});
