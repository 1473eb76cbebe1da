import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { DType, TensorFile } from "../../../generated/golden.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { decodeTensor } from "../../../src/formats/tensor/decode.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import oracle from "../../oracles/golden-files.json" with { type: "json" };
import { damaged } from "../../support/damaged-bytes.ts";
import { fromBase64, type Tensor, zeros } from "../../support/golden-tensors.ts";

const npy = (name: string) => new Uint8Array(readFileSync(`test/fixtures/golden/npy/${name}`));

function fileOf(dtype: string, shape: readonly number[], rest: Partial<TensorFile> = {}) {
	return { path: "golden/y.npy", sha256: "0".repeat(64), dtype: dtype as DType, shape: [...shape], ...rest };
}

function refusalOf(bytes: Uint8Array, file: TensorFile) {
	try {
		decodeTensor(bytes, file);
	} catch (error) {
		if (error instanceof ConfigError) return error;
		throw error;
	}
	throw new Error("the file was taken");
}

function expectTensor(tensor: Tensor, entry: { dtype: string; shape: readonly number[]; data: string }) {
	expect(tensor).toMatchObject({ dtype: entry.dtype, shape: entry.shape });
	expect(Buffer.from(tensor.data).equals(Buffer.from(entry.data, "base64"))).toBe(true);
}

it.each(oracle.npy)("reads what numpy wrote: $file", (entry) => {
	expectTensor(decodeTensor(npy(entry.file), fileOf(entry.dtype, entry.shape)), entry);
});

it.each(oracle.proto)("reads what onnx wrote: $name", (entry) => {
	const bytes = new Uint8Array(Buffer.from(entry.file, "base64"));
	expectTensor(decodeTensor(bytes, fileOf(entry.dtype, entry.shape, { format: "tensor-proto" })), entry);
});

it("reads raw values, whatever the case of the ending", () => {
	const bytes = Uint8Array.of(1, 0, 2, 0);
	expect(decodeTensor(bytes, fileOf("int16", [2], { path: "a.b/y.RAW" })).data).toEqual(bytes);
});

it("refuses a name without a known format, unless the manifest states it", () => {
	const file = fileOf("int8", [1], { path: "y.dat" });
	expect(refusalOf(Uint8Array.of(1), file).message).toContain(
		"a name that ends in .raw, .bin, .npy, .npz, .safetensors, .pb, .json, .png, .jpg or .jpeg, got .dat",
	);
	expect(decodeTensor(Uint8Array.of(1), { ...file, format: "raw" }).data.length).toBe(1);
});

const proto = { path: "golden/y.pb" };
const npyFile = fileOf("float32", [2, 3]);
const rawFile = fileOf("float32", [2, 3], { path: "golden/y.raw" });
const protoFile = fileOf("float32", [2, 3], proto);
const float = npy("float32.npy");
const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 24\n";
const int32 = (shape: number[]) => fileOf("int32", shape, proto);
const edited = (text: string, by: string) =>
	new Uint8Array(Buffer.from(Buffer.from(float).toString("latin1").replace(text, by), "latin1"));
const tooFew = Uint8Array.of(8, 2, 8, 3, 16, 6, 0x28, 1);
const huge = Uint8Array.of(8, 0xff, 0xff, 0xff, 0xff, 0x7f, 16, 6);
it.each<[string, Uint8Array, TensorFile, string]>([
	["a short raw file", new Uint8Array(23), rawFile, "expected 24 bytes for float32 [2, 3], got 23 bytes"],
	["a raw file twice too long", new Uint8Array(48), rawFile, "got 48 bytes"],
	["a Git LFS pointer", Buffer.from(lfs), rawFile, "a Git LFS pointer"],
	["an empty .npy file", new Uint8Array(), npyFile, "an empty file"],
	["a .npy file that is none", new Uint8Array(200), npyFile, "no .npy magic"],
	["a .npy header that ends early", float.subarray(0, 60), npyFile, "the end of the file"],
	["a .npy file that ends early", float.subarray(0, -1), npyFile, "got 23 bytes"],
	["a .npy file that goes on", Buffer.concat([float, Buffer.alloc(4)]), npyFile, "got 28 bytes"],
	["a .npy file of another dtype", float, fileOf("float16", [2, 3]), "numpy writes as f2, got float32 (<f4)"],
	["a .npy file of another shape", float, fileOf("float32", [3, 2]), "[3, 2], got float32 [2, 3]"],
	["a pickle", edited("'<f4'", "'|O8'"), npyFile, "never loaded"],
	["an array of records", edited("'<f4'", "[('a','<f4')]"), npyFile, "an array of records"],
	["a later .npy version", float.with(6, 9), npyFile, "version 9"],
	["a shape beyond any memory", edited("(2, 3)", "(2000000000, 3)"), npyFile, "got float32 [2000000000, 3]"],
	["a .npy file for a huge manifest", edited("(2, 3)", "(9e9)"), fileOf("float32", [9e9]), "the header"],
	["a .pb file that is none", Buffer.from("hello, world, this is text"), protoFile, "an ONNX TensorProto"],
	["an empty .pb file", new Uint8Array(), protoFile, "got undefined"],
	["a .pb field that ends beyond the file", Uint8Array.of(0x4a, 255, 255, 3), protoFile, "beyond the file"],
	["a .pb with its values elsewhere", Uint8Array.of(0x70, 1), protoFile, "values in another file"],
	[
		"a .pb with too few typed values",
		tooFew,
		int32([2, 3]),
		"expected 6 values for int32 [2, 3], got at most 1",
	],
	["a .pb with too many values", Uint8Array.of(8, 1, 16, 6, 0x2a, 2, 1, 1), int32([1]), "more than 1"],
	["a .pb for a manifest beyond any memory", huge, int32([2 ** 35 - 1]), "at most 0"],
	["a .pb of strings", Uint8Array.of(8, 1, 16, 8), fileOf("float32", [1], proto), "got string [1]"],
])("refuses %s and reports what it expected", (_, bytes, file, words) => {
	const error = refusalOf(bytes, file);
	expect(error.code).toBe("tensor-invalid");
	expect(error.message).toContain("golden/y");
	expect(error.message).toContain(words);
	expect(error.fix).toBeTruthy();
});

it("either decodes or refuses any bytes, and never anything else", () => {
	const seeds = [
		float,
		...oracle.proto.slice(0, 12).map(({ file }) => Uint8Array.from(Buffer.from(file, "base64"))),
	];
	const fuzzed = fc.property(damaged(seeds), ({ bytes }) => {
		for (const path of ["y.npy", "y.pb"]) {
			try {
				expect(decodeTensor(bytes, fileOf("float32", [2, 3], { path })).data.length).toBe(24);
			} catch (error) {
				expect(error).toBeInstanceOf(ConfigError);
			}
		}
	});
	fc.assert(fuzzed);
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
		expect(decodeTensor(encodeNpy(tensor), fileOf("uint8", tensor.shape)).shape).toEqual(tensor.shape);
	}
});
