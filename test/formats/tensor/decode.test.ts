// Tensor files against numpy and onnx (test/oracles/golden.py), and broken ones.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/golden/tensor/tensor.ts";
import { decodeTensor } from "../../../src/formats/tensor/decode.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import oracle from "../../oracles/golden-files.json" with { type: "json" };
import { fromBase64, zeros } from "../../support/golden-tensors.ts";

const npyFolder = new URL("../../fixtures/golden/npy/", import.meta.url);
const npy = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(name, npyFolder)));

function fileOf(dtype: string, shape: readonly number[], rest: Partial<TensorFile> = {}): TensorFile {
	return { path: "y.npy", sha256: "0".repeat(64), dtype: dtype as DType, shape: [...shape], ...rest };
}

function refusalOf(bytes: Uint8Array, file: TensorFile): ConfigError {
	try {
		decodeTensor(bytes, file, "golden/y");
	} catch (error) {
		if (error instanceof ConfigError) return error;
		throw error;
	}
	throw new Error("the file was taken");
}

function expectTensor(
	tensor: Tensor,
	entry: { dtype: string; shape: readonly number[]; data: string },
): void {
	expect(tensor).toMatchObject({ dtype: entry.dtype, shape: entry.shape });
	expect(Buffer.from(tensor.data).equals(Buffer.from(entry.data, "base64"))).toBe(true);
}

describe("decodeTensor", () => {
	it.each(oracle.npy)("decodeTensor reads what numpy wrote: $file", (entry) => {
		expectTensor(decodeTensor(npy(entry.file), fileOf(entry.dtype, entry.shape), "y"), entry);
	});

	it.each(oracle.proto)("decodeTensor reads what onnx wrote: $name", (entry) => {
		const bytes = new Uint8Array(Buffer.from(entry.file, "base64"));
		expectTensor(
			decodeTensor(bytes, fileOf(entry.dtype, entry.shape, { format: "tensor-proto" }), "y"),
			entry,
		);
	});

	it.each(["y.raw", "y.bin", "a.b/y.RAW"])("decodeTensor takes %s for raw values", (path) => {
		expect(decodeTensor(Uint8Array.of(1, 0, 2, 0), fileOf("int16", [2], { path }), "y").data).toEqual(
			Uint8Array.of(1, 0, 2, 0),
		);
	});

	it("decodeTensor refuses a name without a known format, unless the manifest states it", () => {
		const file = fileOf("int8", [1], { path: "y.dat" });
		expect(refusalOf(Uint8Array.of(1), file).message).toContain(
			"a name that ends in .raw, .bin, .npy, .npz, .safetensors, .pb, .json, .png, .jpg or .jpeg, got .dat",
		);
		expect(decodeTensor(Uint8Array.of(1), { ...file, format: "raw" }, "y").data.length).toBe(1);
	});

	const raw = { path: "y.raw" };
	const proto = { path: "y.pb" };
	const float = npy("float32.npy");
	const edited = (text: string, by: string): Uint8Array =>
		new Uint8Array(Buffer.from(Buffer.from(float).toString("latin1").replace(text, by), "latin1"));
	it.each<{ what: string; bytes: Uint8Array; file: TensorFile; words: string }>([
		{
			what: "a short raw file",
			bytes: new Uint8Array(23),
			file: fileOf("float32", [2, 3], raw),
			words: "expected 24 bytes for float32 [2, 3], got 23 bytes",
		},
		{
			what: "a raw file twice too long",
			bytes: new Uint8Array(48),
			file: fileOf("float32", [2, 3], raw),
			words: "got 48 bytes",
		},
		{
			what: "a Git LFS pointer",
			bytes: Buffer.from("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 24\n"),
			file: fileOf("float32", [2, 3], raw),
			words: "a Git LFS pointer",
		},
		{
			what: "an empty .npy file",
			bytes: new Uint8Array(),
			file: fileOf("float32", [2, 3]),
			words: "an empty file",
		},
		{
			what: "a .npy file that is none",
			bytes: new Uint8Array(200),
			file: fileOf("float32", [2, 3]),
			words: "no .npy magic",
		},
		{
			what: "a .npy header that ends early",
			bytes: float.subarray(0, 60),
			file: fileOf("float32", [2, 3]),
			words: "the end of the file",
		},
		{
			what: "a .npy file that ends early",
			bytes: float.subarray(0, -1),
			file: fileOf("float32", [2, 3]),
			words: "got 23 bytes",
		},
		{
			what: "a .npy file that goes on",
			bytes: Buffer.concat([float, Buffer.alloc(4)]),
			file: fileOf("float32", [2, 3]),
			words: "got 28 bytes",
		},
		{
			what: "a .npy file of another dtype",
			bytes: float,
			file: fileOf("float16", [2, 3]),
			words: "expected float16, which numpy writes as f2, got float32 (<f4)",
		},
		{
			what: "a .npy file of another shape",
			bytes: float,
			file: fileOf("float32", [3, 2]),
			words: "expected float32 [3, 2], got float32 [2, 3]",
		},
		{
			what: "a pickle",
			bytes: edited("'<f4'", "'|O8'"),
			file: fileOf("float32", [2, 3]),
			words: "never loaded",
		},
		{
			what: "an array of records",
			bytes: edited("'<f4'", "[('a','<f4')]"),
			file: fileOf("float32", [2, 3]),
			words: "an array of records",
		},
		{
			what: "a later .npy version",
			bytes: Uint8Array.from(float, (byte, index) => (index === 6 ? 9 : byte)),
			file: fileOf("float32", [2, 3]),
			words: "version 9",
		},
		{
			what: "a shape beyond any memory",
			bytes: edited("(2, 3)", "(2000000000, 3)"),
			file: fileOf("float32", [2, 3]),
			words: "got float32 [2000000000, 3]",
		},
		{
			what: "a .npy file for a huge manifest",
			bytes: edited("(2, 3)", "(9e9)"),
			file: fileOf("float32", [9e9]),
			words: "the header",
		},
		{
			what: "a .pb file that is none",
			bytes: Buffer.from("hello, world, this is text"),
			file: fileOf("float32", [2, 3], proto),
			words: "expected an ONNX TensorProto",
		},
		{
			what: "an empty .pb file",
			bytes: new Uint8Array(),
			file: fileOf("float32", [2, 3], proto),
			words: "got undefined",
		},
		{
			what: "a .pb field that ends beyond the file",
			bytes: Uint8Array.of(0x4a, 0xff, 0xff, 0x03),
			file: fileOf("float32", [2, 3], proto),
			words: "ends beyond the file",
		},
		{
			what: "a .pb with its values elsewhere",
			bytes: Uint8Array.of(0x70, 1),
			file: fileOf("float32", [2, 3], proto),
			words: "values in another file",
		},
		{
			what: "a .pb with too few typed values",
			bytes: Uint8Array.of(8, 2, 8, 3, 16, 6, 0x28, 1),
			file: fileOf("int32", [2, 3], proto),
			words: "expected 6 values for int32 [2, 3], got at most 1",
		},
		{
			what: "a .pb with too many typed values",
			bytes: Uint8Array.of(8, 1, 16, 6, 0x2a, 2, 1, 1),
			file: fileOf("int32", [1], proto),
			words: "more than 1",
		},
		{
			what: "a .pb for a manifest beyond any memory",
			bytes: Uint8Array.of(8, 0xff, 0xff, 0xff, 0xff, 0x7f, 16, 6),
			file: fileOf("int32", [2 ** 35 - 1], proto),
			words: "at most 0",
		},
		{
			what: "a .pb of strings",
			bytes: Uint8Array.of(8, 1, 16, 8),
			file: fileOf("float32", [1], proto),
			words: "got string [1]",
		},
	])("decodeTensor refuses $what and reports what it expected", ({ bytes, file, words }) => {
		const error = refusalOf(bytes, file);
		expect(error.code).toBe("tensor-invalid");
		expect(error.message).toContain("golden/y");
		expect(error.message).toContain(words);
		expect(error.fix).toBeTruthy();
	});

	it("decodeTensor either decodes or refuses any bytes, and never anything else", () => {
		const seeds = [
			float,
			...oracle.proto.slice(0, 12).map((entry) => new Uint8Array(Buffer.from(entry.file, "base64"))),
		];
		const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
		fc.assert(
			fc.property(
				fc.nat(seeds.length - 1),
				fc.array(change, { maxLength: 4 }),
				fc.nat(64),
				(which, changes, cut) => {
					const bytes = (seeds[which] ?? float).slice(0, -cut || undefined);
					for (const [at, byte] of changes) bytes[at % Math.max(1, bytes.length)] = byte;
					for (const path of ["y.npy", "y.pb"]) {
						try {
							expect(decodeTensor(bytes, fileOf("float32", [2, 3], { path }), "y").data.length).toBe(24);
						} catch (error) {
							expect(error).toBeInstanceOf(ConfigError);
						}
					}
				},
			),
		);
	});
});

it.each(oracle.npy.filter(({ file }) => !/fortran|endian|version/.test(file)))(
	"encodeNpy writes $file as numpy does, byte for byte",
	({ file, dtype, shape, data }) => {
		expect(Buffer.from(encodeNpy(fromBase64(dtype, shape, data))).equals(Buffer.from(npy(file)))).toBe(true);
	},
);

it("encodeNpy writes headers that start the values at a multiple of 64", () => {
	for (let rank = 0; rank <= 16; rank += 1) {
		const tensor = zeros("uint8", new Array<number>(rank).fill(1));
		expect((encodeNpy(tensor).length - 1) % 64).toBe(0);
		expect(decodeTensor(encodeNpy(tensor), fileOf("uint8", tensor.shape), "y").shape).toEqual(tensor.shape);
	}
});
