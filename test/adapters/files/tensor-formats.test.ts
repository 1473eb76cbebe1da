// Files of several tensors, small numbers and images against their own libraries (test/oracles/golden-formats.py), and broken ones.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { PNG } from "pngjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DType, Preprocess, TensorFile } from "../../../generated/golden.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import type { Tensor } from "../../../src/core/golden/tensor/tensor.ts";
import { float64Reader } from "../../../src/core/golden/tensor/values.ts";
import { decodeTensor } from "../../../src/formats/tensor/decode.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import oracle from "../../oracles/golden-formats.json" with { type: "json" };
import { float32, fromBase64 } from "../../support/golden-tensors.ts";
import { type PngKind, pngChunk, pngHeader, pngSignature, writePng } from "../../support/png-writer.ts";

interface Entry {
	dtype: string;
	shape: readonly number[];
	data: string;
}

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "tensor-formats-"));
});
afterAll(() => rm(folder, { recursive: true }));

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function read(
	name: string,
	bytes: Uint8Array,
	rest: Omit<Partial<TensorFile>, "dtype" | "shape"> & { dtype: string; shape: readonly number[] },
): Promise<Tensor> {
	const path = join(folder, name);
	await writeFile(path, bytes);
	const file = {
		path: name,
		sha256: sha256(bytes),
		...rest,
		dtype: rest.dtype as DType,
		shape: [...rest.shape],
	};
	return fileTensorReader().read(path, file);
}

function expectTensor(tensor: Tensor, entry: Entry): void {
	expect({ ...tensor, data: Buffer.from(tensor.data).toString("base64") }).toEqual({
		dtype: entry.dtype,
		shape: entry.shape,
		data: entry.data,
	});
}

const plain = (entry: Entry): { dtype: string; shape: readonly number[] } => ({
	dtype: entry.dtype,
	shape: entry.shape,
});

describe("files of several tensors", () => {
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
		{ what: "inputs", file: polygraphy.inputs, wanted: polygraphy.y, rest: { member: "x" } },
		{
			what: "the second inputs",
			file: polygraphy.inputs,
			wanted: polygraphy.y1,
			rest: { member: "x", iteration: 1 },
		},
		{
			what: "results",
			file: polygraphy.results,
			wanted: polygraphy.y,
			rest: { member: "y", runner: "onnxrt" },
		},
		{
			what: "the second results of another runner",
			file: polygraphy.results,
			wanted: polygraphy.y2,
			rest: { member: "y", runner: "trt", iteration: 1 },
		},
		{ what: "inputs of old versions", file: polygraphy.legacy, wanted: polygraphy.y, rest: { member: "x" } },
	])("files of several tensors are read from Polygraphy's $what", async ({ file, wanted, rest }) => {
		expectTensor(await read("a.json", bytesOf(file), { ...plain(wanted), ...rest }), wanted);
	});

	const y = plain(polygraphy.y);
	const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
	const header = (text: string, values = 0): Uint8Array => {
		const out = new Uint8Array(8 + text.length + values);
		new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
		out.set(new TextEncoder().encode(text), 8);
		return out;
	};
	const place = (from: number, to: number): string =>
		JSON.stringify({ y: { dtype: "F32", shape: [2, 3], data_offsets: [from, to] } });
	it.each<{ what: string; name: string; bytes: Uint8Array; rest?: Partial<TensorFile>; words: string }>([
		{
			what: "an archive without the member",
			name: "a.npz",
			bytes: bytesOf(oracle.npz[2]?.file ?? ""),
			rest: { member: "z" },
			words: '"z", got "y"',
		},
		{
			what: "a cut archive",
			name: "a.npz",
			bytes: bytesOf(oracle.npz[0]?.file ?? "").subarray(0, -9),
			words: "not a ZIP archive",
		},
		{
			what: "an archive that is none",
			name: "a.npz",
			bytes: new Uint8Array(100),
			words: "not a ZIP archive",
		},
		{
			what: "a member that inflates beyond its tensor",
			name: "a.npz",
			bytes: bytesOf(oracle.npz[1]?.file ?? ""),
			rest: { member: "zeros", shape: [1] },
			words: "at most 10020 bytes",
		},
		{
			what: "no member's name",
			name: "a.npz",
			bytes: new Uint8Array(100),
			rest: { member: undefined as never },
			words: "the name of a tensor",
		},
		{
			what: "a safetensors header beyond any memory",
			name: "a.safetensors",
			bytes: new Uint8Array(20).fill(255),
			words: "a header of 18446744073709551615 bytes",
		},
		{
			what: "a safetensors header beyond the file",
			name: "a.safetensors",
			bytes: Uint8Array.of(99, 0, 0, 0, 0, 0, 0, 0, 1),
			words: "ends beyond the file",
		},
		{
			what: "a safetensors header that is no JSON",
			name: "a.safetensors",
			bytes: header("{,}"),
			words: "not a JSON object",
		},
		{
			what: "safetensors offsets beyond the file",
			name: "a.safetensors",
			bytes: header(place(0, 24)),
			words: "24 bytes inside the file",
		},
		{
			what: "safetensors offsets turned round",
			name: "a.safetensors",
			bytes: header(place(24, 0), 24),
			words: "data_offsets",
		},
		{
			what: "safetensors offsets of another size",
			name: "a.safetensors",
			bytes: header(place(0, 20), 24),
			words: "24 bytes inside",
		},
		{
			what: "the metadata of safetensors",
			name: "a.safetensors",
			bytes: header('{"__metadata__":{}}'),
			rest: { member: "__metadata__" },
			words: "got none",
		},
		{
			what: "results of two runners",
			name: "a.json",
			bytes: bytesOf(polygraphy.results),
			words: "results of one runner",
		},
		{
			what: "an iteration that is not there",
			name: "a.json",
			bytes: bytesOf(polygraphy.inputs),
			rest: { member: "x", iteration: 9 },
			words: "got 2 iterations",
		},
		{
			what: "a torch pickle",
			name: "a.json",
			bytes: json([{ y: { values: { array: "gAJ9", polygraphy_class: "Tensor" } } }]),
			words: "a pickle",
		},
		{
			what: "no base64",
			name: "a.json",
			bytes: json([{ y: { array: "a*==" } }]),
			words: "an array in base64",
		},
		{
			what: "other JSON",
			name: "a.json",
			bytes: json({ lst: 3 }),
			words: "Polygraphy's inputs or RunResults",
		},
		{ what: "no JSON", name: "a.json", bytes: Uint8Array.of(0xff, 0xfe), words: "invalid JSON" },
	])("files of several tensors are refused with the reason: $what", async ({ name, bytes, rest, words }) => {
		await expect(read(name, bytes, { ...y, member: "y", ...rest })).rejects.toMatchObject({
			code: "tensor-invalid",
			message: expect.stringContaining(words),
		});
	});

	it("files of several tensors are refused where the file's hash is another, also for the second tensor of it", async () => {
		const path = join(folder, "b.npz");
		await writeFile(path, bytesOf(oracle.npz[0]?.file ?? ""));
		const reader = fileTensorReader();
		const file: TensorFile = {
			path: "b.npz",
			sha256: sha256(bytesOf(oracle.npz[0]?.file ?? "")),
			dtype: "float32",
			shape: [2, 3],
			member: "y",
		};
		expect((await reader.read(path, file)).shape).toEqual([2, 3]);
		await expect(reader.read(path, { ...file, sha256: "0".repeat(64) })).rejects.toMatchObject({
			code: "tensor-invalid",
		});
	});

	it("files of several tensors either read or refuse any bytes, and never anything else", async () => {
		const seeds = [
			oracle.npz[0]?.file,
			oracle.npz[1]?.file,
			oracle.npz[2]?.file,
			oracle.safetensors.file,
			polygraphy.inputs,
		].map((text) => bytesOf(text ?? ""));
		const names = ["a.npz", "a.npz", "a.npz", "a.safetensors", "a.json"];
		const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
		await fc.assert(
			fc.asyncProperty(
				fc.nat(seeds.length - 1),
				fc.array(change, { maxLength: 4 }),
				fc.nat(64),
				async (which, changes, cut) => {
					const bytes = (seeds[which] ?? new Uint8Array()).slice(0, -cut || undefined);
					for (const [at, byte] of changes) bytes[bytes.length - 1 - (at % bytes.length)] = byte;
					try {
						expect(
							(await read(names[which] ?? "", bytes, { ...y, member: which === 4 ? "x" : "y" })).data.length,
						).toBe(24);
					} catch (error) {
						expect(error).toBeInstanceOf(ConfigError);
					}
				},
			),
			{ numRuns: 150 },
		);
	});
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
	expectTensor(decodeTensor(bytesOf(entry.npy), { ...file, format: "npy" }, "y"), entry);
	expectTensor(decodeTensor(bytesOf(entry.proto), { ...file, format: "tensor-proto" }, "y"), entry);
	expectTensor(decodeTensor(bytesOf(entry.typed), { ...file, format: "tensor-proto" }, "y"), {
		...entry,
		data: entry.typedData,
	});
	expect(Buffer.from(encodeNpy(fromBase64(entry.dtype, entry.shape, entry.data))).toString("base64")).toBe(
		entry.npy,
	);
});

describe("images", () => {
	const { images } = oracle;
	const png = bytesOf(images.png);
	const same: Preprocess = { layout: "hwc", scale: 1 };
	const square: PngKind = { width: 12, height: 12, depth: 8, colour: 0, interlaced: false };
	const small = pngHeader(square);
	const idat = (bytes: number): Buffer => pngChunk("IDAT", deflateSync(new Uint8Array(bytes)));
	const iend = pngChunk("IEND", new Uint8Array());
	const jpeg = bytesOf(images.jpeg);
	const frameAt = Buffer.from(jpeg).indexOf("ffc00011", "hex");
	const scanAt = Buffer.from(jpeg).indexOf("ffda", "hex");
	const spliced = (at: number, ...parts: Uint8Array[]): Buffer =>
		Buffer.concat([jpeg.subarray(0, at), ...parts, jpeg.subarray(at)]);

	function jpegOfColours(colours: number): Buffer {
		const size = 8 + 3 * colours;
		const head = [0xff, 0xc0, size >> 8, size & 255, 8, 0, 8, 0, 8, colours];
		return Buffer.from([
			0xff,
			0xd8,
			...head,
			...Array.from({ length: colours }, (_, id) => [id, 0x11, 0]).flat(),
			0xff,
			0xd9,
		]);
	}

	/** jpeg-js reads a whole table, whatever the segment's length says, and so goes on at another place. */
	function hiddenFrame(): Buffer {
		return spliced(frameAt, Uint8Array.of(0xff, 0xdb, 0, 4, 0, 0));
	}

	async function hashOf(name: string, bytes: Uint8Array, rest: Parameters<typeof read>[2]): Promise<string> {
		const error = await read(name, bytes, rest).catch((caught: unknown) => caught);
		return (
			(error instanceof ConfigError && /"tensorSha256": "(\w{64})"/.exec(error.fix ?? "")?.[1]) ||
			String(error)
		);
	}

	async function taken(name: string, bytes: Uint8Array, rest: Parameters<typeof read>[2]): Promise<Tensor> {
		return read(name, bytes, { ...rest, tensorSha256: await hashOf(name, bytes, rest) });
	}

	it("images are read from PNG to the byte, and report the hash that the manifest is to hold", async () => {
		const tensor = await taken("a.png", png, { dtype: "uint8", shape: [13, 17, 3], preprocess: same });
		expect(Buffer.from(tensor.data).toString("base64")).toBe(images.pixels);
		expect(await hashOf("a.png", png, { dtype: "uint8", shape: [13, 17, 3], preprocess: same })).toBe(
			sha256(bytesOf(images.pixels)),
		);
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
	it.each(kinds)(
		"images are read from PNG as pngjs reads them: colour $colour, $depth bits",
		async (kind) => {
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
				const tensor = await taken("a.png", bytes, {
					dtype: "uint8",
					shape: [height, width, 3],
					preprocess: same,
				});
				expect([...tensor.data]).toEqual([...PNG.sync.read(bytes).data].filter((_, at) => at % 4 !== 3));
			}
		},
	);

	it("images are read from JPEG as libjpeg does, but for rounding", async () => {
		const tensor = await taken("a.jpg", bytesOf(images.jpeg), {
			dtype: "uint8",
			shape: [13, 17, 3],
			preprocess: same,
		});
		const wanted = bytesOf(images.jpegPixels);
		expect(
			Math.max(...tensor.data.map((value, i) => Math.abs(value - (wanted[i] ?? 0)))),
		).toBeLessThanOrEqual(3);
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

	it("images have their channels turned round, made grey and put first or last", async () => {
		const pixels = bytesOf(images.pixels);
		const bgr = await taken("a.png", png, {
			dtype: "uint8",
			shape: [1, 3, 13, 17],
			preprocess: { layout: "nchw", colour: "bgr", scale: 1 },
		});
		expect([bgr.data[0], bgr.data[13 * 17 + 5]]).toEqual([pixels[2], pixels[5 * 3 + 1]]);
		const grey = await taken("a.png", png, {
			dtype: "float32",
			shape: [1, 13, 17],
			preprocess: { layout: "chw", colour: "grey", scale: 1 },
		});
		const [r, g, b] = pixels.subarray(30, 33);
		expect(float64Reader(grey)(10, 1)[0]).toBeCloseTo(
			0.299 * (r ?? 0) + 0.587 * (g ?? 0) + 0.114 * (b ?? 0),
			4,
		);
	});

	it("images keep their proportion where one side is named, and are padded by a larger crop", async () => {
		const preprocess: Preprocess = { resize: 26, crop: [40, 34], scale: 1, layout: "hwc" };
		const tensor = await taken("a.png", png, { dtype: "uint8", shape: [40, 34, 3], preprocess });
		expect([...tensor.data.subarray(0, 34 * 3 * 7)].every((value) => value === 0)).toBe(true);
		expect(tensor.data[34 * 3 * 7 + 3 * 2]).toBeGreaterThan(0);
	});

	it.each<{ what: string; bytes: Uint8Array; rest?: object; words: string }>([
		{
			what: "a hash that is another",
			bytes: png,
			rest: { tensorSha256: "0".repeat(64) },
			words: "a tensor of SHA-256 000",
		},
		{
			what: "no preprocess",
			bytes: png,
			rest: { preprocess: undefined },
			words: "how the image becomes a tensor",
		},
		{
			what: "a shape that preprocessing does not give",
			bytes: png,
			rest: { shape: [3, 13, 17] },
			words: "got uint8 [13, 17, 3]",
		},
		{ what: "another dtype", bytes: png, rest: { dtype: "float16" }, words: "float32 or uint8" },
		{ what: "a cut image", bytes: png.subarray(0, 60), words: "a complete PNG image" },
		{ what: "no image", bytes: new Uint8Array(50), words: "a PNG or JPEG image" },
		{
			what: "a bomb",
			bytes: Uint8Array.from(png, (byte, at) => (at >= 16 && at < 24 ? 255 : byte)),
			words: "pixels, got 4294967295 × 4294967295",
		},
		{
			what: "a size that no memory holds",
			bytes: png,
			rest: { preprocess: { ...same, resize: [16384, 16384] }, shape: [16384, 16384, 3] },
			words: "got 16384 × 16384",
		},
		{
			what: "a second header",
			bytes: Buffer.concat([
				pngSignature,
				small,
				pngHeader({ ...square, width: 30_000, height: 30_000 }),
				idat(5),
				iend,
			]),
			words: "a second IHDR",
		},
		{
			what: "more pixels than the header says",
			bytes: Buffer.concat([pngSignature, small, idat(1e6), iend]),
			words: "a complete PNG image",
		},
		{
			what: "fewer pixels than the header says",
			bytes: Buffer.concat([pngSignature, small, idat(99), iend]),
			words: "99 bytes of pixels where",
		},
		{
			what: "interlacing",
			bytes: writePng({ ...square, interlaced: true }, () => 0),
			words: "an interlaced image",
		},
		{
			what: "hardly any pixels for a large header",
			bytes: Buffer.concat([
				pngSignature,
				pngHeader({ ...square, width: 4096, height: 4096 }),
				idat(5),
				iend,
			]),
			words: "too few for the size in the header",
		},
		{
			what: "a JPEG of two frames",
			bytes: spliced(frameAt, jpeg.subarray(frameAt, frameAt + 19)),
			words: "a second frame",
		},
		{
			what: "a JPEG of many scans",
			bytes: spliced(scanAt, ...Array(40).fill(jpeg.subarray(scanAt, -2))),
			words: "more than 32 scans",
		},
		{
			what: "a large JPEG of few bytes",
			bytes: Uint8Array.from(jpeg, (byte, at) => (at >= frameAt + 5 && at < frameAt + 9 ? 0x0f : byte)),
			words: "too few for the size in the header",
		},
		{ what: "a JPEG of 200 colours", bytes: jpegOfColours(200), words: "200 colour components" },
		{
			what: "a JPEG with a frame behind a table too short",
			bytes: hiddenFrame(),
			words: "a broken segment db",
		},
	])("images are refused with the reason: $what", async ({ bytes, rest, words }) => {
		const file = { dtype: "uint8", shape: [13, 17, 3], preprocess: same, ...rest };
		await expect(read("a.png", bytes, file)).rejects.toMatchObject({
			code: "tensor-invalid",
			message: expect.stringContaining(words),
		});
	});

	it("images either read or refuse any bytes, and never anything else", async () => {
		const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
		await fc.assert(
			fc.asyncProperty(
				fc.constantFrom("a.png", "a.jpg"),
				fc.array(change, { maxLength: 4 }),
				fc.nat(64),
				async (name, changes, cut) => {
					const bytes = (name === "a.png" ? png : bytesOf(images.jpeg)).slice(0, -cut || undefined);
					for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
					await expect(
						read(name, bytes, { dtype: "uint8", shape: [13, 17, 3], preprocess: same }),
					).rejects.toBeInstanceOf(ConfigError);
				},
			),
			{ numRuns: 150 },
		);
	});
});

it("a file of several tensors that changes between two reads gives the tensors that it holds now", async () => {
	const path = join(folder, "changing.json");
	const reader = fileTensorReader();
	const npyOf = (value: number): string => Buffer.from(encodeNpy(float32([value]))).toString("base64");
	const text = (x: number, y: number): string =>
		JSON.stringify([
			{
				x: { array: npyOf(x), polygraphy_class: "ndarray" },
				y: { array: npyOf(y), polygraphy_class: "ndarray" },
			},
		]);
	const member = (name: string, of: string): TensorFile => ({
		path: "changing.json",
		sha256: sha256(Buffer.from(of)),
		dtype: "float32",
		shape: [1],
		format: "polygraphy",
		member: name,
	});
	for (const of of [text(1, 2), text(33, 44)]) {
		await writeFile(path, of);
		const [x, y] = [await reader.read(path, member("x", of)), await reader.read(path, member("y", of))];
		expect(float64Reader(x)(0, 1)[0]).toBe(of === text(1, 2) ? 1 : 33);
		expect(float64Reader(y)(0, 1)[0]).toBe(of === text(1, 2) ? 2 : 44);
	}
});
