import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { PNG } from "pngjs";
import { expect, it } from "vitest";
import type { DType, Preprocess, TensorFile } from "../../../generated/golden.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { decodeTensor } from "../../../src/formats/tensor/decode.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import type { Tensor } from "../../../src/golden/core/tensor/tensor.ts";
import { float64Reader } from "../../../src/golden/core/tensor/values.ts";
import oracle from "../../oracles/golden-formats.json" with { type: "json" };
import { damaged } from "../../support/damaged-bytes.ts";
import { float32, fromBase64 } from "../../support/golden-tensors.ts";
import { type PngKind, pngChunk, pngHeader, pngSignature, writePng } from "../../support/png-writer.ts";
import { expectFault, lfsPointer, sha256, temporaryFolder } from "../../support/project.ts";

interface Entry {
	dtype: string;
	shape: readonly number[];
	data: string;
}

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, "base64"));
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

type Described = Omit<Partial<TensorFile>, "dtype" | "shape"> & Pick<Entry, "dtype" | "shape">;

function write(name: string, bytes: Uint8Array, rest: Described) {
	const path = join(temporaryFolder(), name);
	writeFileSync(path, bytes);
	const typed = { ...rest, dtype: rest.dtype as DType, shape: [...rest.shape] };
	return { path, file: { path: name, sha256: sha256(bytes), ...typed } satisfies TensorFile };
}

function read(name: string, bytes: Uint8Array, rest: Described) {
	const { path, file } = write(name, bytes, rest);
	return fileTensorReader().read(path, file);
}

const expectRefused = (reading: Promise<Tensor>, words: string) =>
	expectFault(reading, "tensor-invalid", words);

function expectTensor(tensor: Tensor, { dtype, shape, data }: Entry): void {
	expect({ ...tensor, data: base64(tensor.data) }).toEqual({ dtype, shape, data });
}

const plain = ({ dtype, shape }: Entry) => ({ dtype, shape });

const tensor = float32([1, 2, 3]);
const three = { dtype: "float32", shape: [3] };
const pointer = Buffer.from(lfsPointer("twelve bytes"));

it.each([
	["raw.bin", tensor.data],
	["array.npy", encodeNpy(tensor)],
])("files of one tensor are read: %s", async (name, bytes) => {
	const got = await read(name, bytes, three);
	expectTensor(got, { ...three, data: base64(tensor.data) });
});

it.each(["gone.raw", "there.raw/below.raw"])("files of one tensor are missing by name: %s", async (name) => {
	const { path, file } = write("there.raw", tensor.data, three);
	const gone = join(dirname(path), name);
	await expectFault(fileTensorReader().read(gone, file), "golden-missing", name);
});

// The wrong hash shows that the size and a pointer are found before the file is hashed.
it.each<[string, string, Uint8Array, string]>([
	["of another hash", "a.raw", tensor.data, `expected SHA-256 ${"0".repeat(64)}, got ${sha256(tensor.data)}`],
	["too short", "a.raw", tensor.data.subarray(1), "got 11 bytes"],
	["far too long", "a.npy", new Uint8Array(2 * 1024 * 1024), "got 2097152 bytes"],
	["that are Git LFS pointers", "a.raw", pointer, "a Git LFS pointer"],
])("files of one tensor are refused %s", async (_, name, bytes, words) => {
	await expectRefused(read(name, bytes, { ...three, sha256: "0".repeat(64) }), words);
});

const archives = oracle.npz.flatMap(({ name, file, members }) =>
	Object.entries(members).map(([member, entry]) => ({ name, file, member, entry: entry as Entry })),
);
it.each(archives)(
	"files of several tensors are read from .npz, $name: $member",
	async ({ file, member, entry }) => {
		expectTensor(await read("a.npz", bytesOf(file), { ...plain(entry), member }), entry);
	},
);

it.each(Object.entries(oracle.safetensors.members))(
	"files of several tensors are read from safetensors: %s",
	async (member, entry) => {
		expectTensor(
			await read("a.safetensors", bytesOf(oracle.safetensors.file), { ...plain(entry), member }),
			entry,
		);
	},
);

const { polygraphy } = oracle;
it.each([
	["inputs", polygraphy.inputs, polygraphy.y, { member: "x" }],
	["the second inputs", polygraphy.inputs, polygraphy.y1, { member: "x", iteration: 1 }],
	["results", polygraphy.results, polygraphy.y, { member: "y", runner: "onnxrt" }],
	["another runner", polygraphy.results, polygraphy.y2, { member: "y", runner: "trt", iteration: 1 }],
	["inputs of old versions", polygraphy.legacy, polygraphy.y, { member: "x" }],
])("files of several tensors are read from Polygraphy: %s", async (_, file, wanted, rest) => {
	expectTensor(await read("a.json", bytesOf(file), { ...plain(wanted), ...rest }), wanted);
});

const y = plain(polygraphy.y);
const npz = (index: number) => bytesOf(oracle.npz[index]?.file ?? "");
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const header = (text: string, values = 0) => {
	const out = Buffer.alloc(8 + text.length + values);
	out.writeBigUInt64LE(BigInt(text.length));
	out.write(text, 8);
	return out;
};
const placed = (from: number, to: number, values = 0) =>
	header(JSON.stringify({ y: { dtype: "F32", shape: [2, 3], data_offsets: [from, to] } }), values);
const pickle = [{ y: { values: { array: "gAJ9", polygraphy_class: "Tensor" } } }];
it.each<[string, string, Uint8Array, string, Partial<TensorFile>?]>([
	["an archive without the member", "npz", npz(2), '"z", got "y"', { member: "z" }],
	["a cut archive", "npz", npz(0).subarray(0, -9), "not a ZIP archive"],
	["an archive that is none", "npz", new Uint8Array(100), "not a ZIP archive"],
	["a member beyond its tensor", "npz", npz(1), "at most 10020 bytes", { member: "zeros", shape: [1] }],
	["no member's name", "npz", npz(0), "the name of a tensor", { member: undefined as never }],
	[
		"a header beyond any memory",
		"safetensors",
		new Uint8Array(20).fill(255),
		"a header of 18446744073709551615 bytes",
	],
	["a header beyond the file", "safetensors", Uint8Array.of(99, 0, 0, 0, 0, 0, 0, 0, 1), "ends beyond"],
	["a header that is no JSON", "safetensors", header("{,}"), "not a JSON object"],
	["offsets beyond the file", "safetensors", placed(0, 24), "24 bytes inside the file"],
	["offsets turned round", "safetensors", placed(24, 0, 24), "data_offsets"],
	["offsets of another size", "safetensors", placed(0, 20, 24), "24 bytes inside"],
	["metadata", "safetensors", header('{"__metadata__":{}}'), "got none", { member: "__metadata__" }],
	["results of two runners", "json", bytesOf(polygraphy.results), "results of one runner"],
	["no such iteration", "json", bytesOf(polygraphy.inputs), "got 2 iterations", { iteration: 9 }],
	["a torch pickle", "json", json(pickle), "a pickle"],
	["no base64", "json", json([{ y: { array: "a*==" } }]), "an array in base64"],
	["other JSON", "json", json({ lst: 3 }), "Polygraphy's inputs or RunResults"],
	["no JSON", "json", Uint8Array.of(0xff, 0xfe), "invalid JSON"],
])("files of several tensors are refused with the reason: %s", async (_, ending, bytes, words, rest) => {
	await expectRefused(read(`a.${ending}`, bytes, { ...y, member: "y", ...rest }), words);
});

it("files of several tensors are refused if the file's hash differs, even for its second tensor", async () => {
	const { path, file } = write("b.npz", npz(0), { ...y, member: "y" });
	const reader = fileTensorReader();
	expect((await reader.read(path, file)).shape).toEqual([2, 3]);
	await expectRefused(reader.read(path, { ...file, sha256: "0".repeat(64) }), "SHA-256");
});

it("files of several tensors either read or refuse any bytes, and never anything else", async () => {
	const others = [oracle.safetensors.file, polygraphy.inputs].map(bytesOf);
	const seeds = [npz(0), npz(1), npz(2), ...others];
	const fuzzed = fc.asyncProperty(damaged(seeds, true), async ({ which, bytes }) => {
		const name = ["a.safetensors", "a.json"][which - 3] ?? "a.npz";
		const reading = read(name, bytes, { ...y, member: which === 4 ? "x" : "y" });
		const got = await reading.catch((error: unknown) => error);
		expect(got instanceof ConfigError || (got as Tensor).data.length === 24).toBe(true);
	});
	await fc.assert(fuzzed, { numRuns: 150 });
});

it.each(oracle.small)(
	"numbers of 8 and 4 bits are what ml_dtypes says: every pattern of $dtype",
	({ dtype, values }) => {
		const packed = values.length === 16;
		const patterns = packed
			? Uint8Array.from({ length: 8 }, (_, i) => 2 * i + ((2 * i + 1) << 4))
			: Uint8Array.from(values, (_, i) => i);
		const tensor: Tensor = { dtype: dtype as DType, shape: [values.length], data: patterns };
		expect([...float64Reader(tensor)(0, values.length)]).toEqual(values.map(Number));
		if (packed) expect([...float64Reader(tensor)(3, 4)]).toEqual(values.slice(3, 7).map(Number));
	},
);

it.each(oracle.small)("numbers of 8 and 4 bits are read from .npy and .pb, and written: $dtype", (entry) => {
	const file = { path: "y", sha256: "", dtype: entry.dtype as DType, shape: entry.shape };
	expectTensor(decodeTensor(bytesOf(entry.npy), { ...file, format: "npy" }), entry);
	expectTensor(decodeTensor(bytesOf(entry.proto), { ...file, format: "tensor-proto" }), entry);
	expectTensor(decodeTensor(bytesOf(entry.typed), { ...file, format: "tensor-proto" }), {
		...entry,
		data: entry.typedData,
	});
	expect(base64(encodeNpy(fromBase64(entry.dtype, entry.shape, entry.data)))).toBe(entry.npy);
});

const { images } = oracle;
const png = bytesOf(images.png);
const same: Preprocess = { layout: "hwc", scale: 1 };
const square: PngKind = { width: 12, height: 12, depth: 8, colour: 0, interlaced: false };
const small = pngHeader(square);
const idat = (bytes: number) => pngChunk("IDAT", deflateSync(new Uint8Array(bytes)));
const iend = pngChunk("IEND", new Uint8Array());
const jpeg = bytesOf(images.jpeg);
const frameAt = Buffer.from(jpeg).indexOf("ffc00011", "hex");
const scanAt = Buffer.from(jpeg).indexOf("ffda", "hex");
const spliced = (at: number, ...parts: Uint8Array[]) =>
	Buffer.concat([jpeg.subarray(0, at), ...parts, jpeg.subarray(at)]);

function jpegOfColours(colours: number) {
	const size = 8 + 3 * colours;
	const head = [0xff, 0xc0, size >> 8, size & 255, 8, 0, 8, 0, 8, colours];
	const components = Array.from({ length: colours }, (_, id) => [id, 0x11, 0]).flat();
	return Buffer.from([0xff, 0xd8, ...head, ...components, 0xff, 0xd9]);
}

async function hashOf(name: string, bytes: Uint8Array, rest: Described) {
	const error: unknown = await read(name, bytes, rest).catch((caught: unknown) => caught);
	const fix = error instanceof ConfigError ? error.fix : undefined;
	return /"tensorSha256": "(\w{64})"/.exec(fix ?? "")?.[1] ?? String(error);
}

async function taken(name: string, bytes: Uint8Array, rest: Described) {
	return read(name, bytes, { ...rest, tensorSha256: await hashOf(name, bytes, rest) });
}

const whole = { dtype: "uint8", shape: [13, 17, 3], preprocess: same };

it("images are read from PNG to the byte, and report the hash that the manifest is to hold", async () => {
	const tensor = await taken("a.png", png, whole);
	expect(base64(tensor.data)).toBe(images.pixels);
	expect(await hashOf("a.png", png, whole)).toBe(sha256(bytesOf(images.pixels)));
});

const depths: Readonly<Record<number, readonly number[]>> = {
	0: [1, 2, 4, 8, 16],
	2: [8, 16],
	3: [1, 2, 4, 8],
	4: [8, 16],
	6: [8, 16],
};
const kinds = Object.entries(depths).flatMap(([colour, bits]) =>
	bits.map((depth) => ({ depth, colour: Number(colour) })),
);
it.each(kinds)("images are read from PNG as pngjs reads them: colour $colour, $depth bits", async (kind) => {
	for (const [width, height] of [
		[13, 11],
		[1, 1],
		[3, 20],
	] as const) {
		let seed = width;
		const bytes = writePng({ ...kind, width, height, interlaced: false }, () => {
			seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
			return (seed >> 16) & 255;
		});
		const tensor = await taken("a.png", bytes, { ...whole, shape: [height, width, 3] });
		expect([...tensor.data]).toEqual([...PNG.sync.read(bytes).data].filter((_, at) => at % 4 !== 3));
	}
});

it("images are read from JPEG as libjpeg does, but for rounding", async () => {
	const tensor = await taken("a.jpg", jpeg, whole);
	const wanted = bytesOf(images.jpegPixels);
	const off = tensor.data.map((value, i) => Math.abs(value - (wanted[i] ?? 0)));
	expect(Math.max(...off)).toBeLessThanOrEqual(3);
});

it("images are resized, cropped and normalised by the written formula", async () => {
	const preprocess: Preprocess = {
		resize: [20, 24],
		crop: [11, 10],
		mean: [0.485, 0.456, 0.406],
		std: [0.229, 0.224, 0.225],
		layout: "nchw",
	};
	const tensor = await taken("a.png", png, { dtype: "float32", shape: [1, 3, 11, 10], preprocess });
	const values = float64Reader(tensor)(0, images.normal.length);
	for (const [i, value] of values.entries()) expect(value).toBeCloseTo(images.normal[i] ?? Number.NaN, 5);
});

it("images keep their proportion if one side is named, and are padded by a larger crop", async () => {
	const preprocess: Preprocess = { resize: 26, crop: [40, 34], scale: 1, layout: "hwc" };
	const tensor = await taken("a.png", png, { dtype: "uint8", shape: [40, 34, 3], preprocess });
	expect([...tensor.data.subarray(0, 34 * 3 * 7)].every((value) => value === 0)).toBe(true);
	expect(tensor.data[34 * 3 * 7 + 3 * 2]).toBeGreaterThan(0);
});

const pngOf = (...chunks: Uint8Array[]) => Buffer.concat([pngSignature, ...chunks, iend]);
const sized = (side: number) => pngHeader({ ...square, width: side, height: side });
const huge = { preprocess: { ...same, resize: [16384, 16384] }, shape: [16384, 16384, 3] };
const fill = (from: number, to: number, value: number, bytes: Uint8Array) =>
	bytes.slice().fill(value, from, to);
it.each<[string, Uint8Array, string, object?]>([
	["a hash that is another", png, "a tensor of SHA-256 000", { tensorSha256: "0".repeat(64) }],
	["no preprocess", png, "how the image becomes a tensor", { preprocess: undefined }],
	["a shape that preprocessing does not give", png, "got uint8 [13, 17, 3]", { shape: [3, 13, 17] }],
	["another dtype", png, "float32 or uint8", { dtype: "float16" }],
	["a cut image", png.subarray(0, 60), "a complete PNG image"],
	["no image", new Uint8Array(50), "a PNG or JPEG image"],
	["a bomb", fill(16, 24, 255, png), "pixels, got 4294967295 × 4294967295"],
	["a size that no memory holds", png, "got 16384 × 16384", huge],
	["a second header", pngOf(small, sized(30_000), idat(5)), "a second IHDR"],
	["more pixels than the header says", pngOf(small, idat(1e6)), "a complete PNG image"],
	["fewer pixels than the header says", pngOf(small, idat(99)), "99 bytes of pixels where"],
	["interlacing", writePng({ ...square, interlaced: true }, () => 0), "an interlaced image"],
	["too few pixels for a large header", pngOf(sized(4096), idat(5)), "too few for the size in the header"],
	["a JPEG of two frames", spliced(frameAt, jpeg.subarray(frameAt, frameAt + 19)), "a second frame"],
	[
		"a JPEG of many scans",
		spliced(scanAt, ...Array(40).fill(jpeg.subarray(scanAt, -2))),
		"more than 32 scans",
	],
	[
		"a large JPEG of few bytes",
		fill(frameAt + 5, frameAt + 9, 15, jpeg),
		"too few for the size in the header",
	],
	["a JPEG of 200 colours", jpegOfColours(200), "200 colour components"],
	// jpeg-js reads a whole table, whatever the segment's length says, and so goes on at another place.
	[
		"a JPEG with a frame behind a table too short",
		spliced(frameAt, Uint8Array.of(0xff, 0xdb, 0, 4, 0, 0)),
		"a broken segment db",
	],
])("images are refused with the reason: %s", async (_, bytes, words, rest) => {
	await expectRefused(read("a.png", bytes, { ...whole, ...rest }), words);
});

it("images either read or refuse any bytes, and never anything else", async () => {
	const fuzzed = fc.asyncProperty(damaged([png, jpeg]), async ({ which, bytes }) => {
		const reading = read(which === 0 ? "a.png" : "a.jpg", bytes, whole);
		await expect(reading).rejects.toBeInstanceOf(ConfigError);
	});
	await fc.assert(fuzzed, { numRuns: 150 });
});

it("a file of several tensors that changes between two reads gives the tensors that it holds now", async () => {
	const path = join(temporaryFolder(), "changing.json");
	const reader = fileTensorReader();
	const arrayOf = (value: number) => ({ array: base64(encodeNpy(float32([value]))) });
	for (const x of [1, 33]) {
		const text = JSON.stringify([{ x: arrayOf(x), y: arrayOf(x + 1) }]);
		writeFileSync(path, text);
		const heldOf = async (member: string) => {
			const file = { path, sha256: sha256(Buffer.from(text)), dtype: "float32" as const, shape: [1], member };
			return float64Reader(await reader.read(path, file))(0, 1)[0];
		};
		expect([await heldOf("x"), await heldOf("y")]).toEqual([x, x + 1]);
	}
});
