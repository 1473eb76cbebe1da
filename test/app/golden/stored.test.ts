// Stored tensors in every format that states its own layout, against their own libraries (test/oracles/golden-formats.py).
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DType } from "../../../generated/golden.ts";
import { fileStore } from "../../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../../src/adapters/files/tensor-reader.ts";
import { type Expected, findCaseFile, readStored } from "../../../src/app/golden/stored.ts";
import { readCases } from "../../../src/app/golden/stored-cases.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import oracle from "../../oracles/golden-formats.json" with { type: "json" };
import { float32 } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";
import { zipOf } from "../../support/zip-writer.ts";

const ports = { files: fileStore(), tensors: fileTensorReader() };
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));

function store(name: string, bytes: Uint8Array): string {
	const path = join(temporaryFolder(), name);
	writeFileSync(path, bytes);
	return path;
}

const expected = (name: string, dtype = "float32"): Expected => ({
	name,
	dtype: dtype as DType,
	shape: [1, 2, 3],
});

const stored = [
	...oracle.npz.flatMap(({ file, members }) =>
		Object.entries(members).map(([member, entry]) => ({ ending: "npz", file, member, entry })),
	),
	...Object.entries(oracle.safetensors.members).map(([member, entry]) => ({
		ending: "safetensors",
		file: oracle.safetensors.file,
		member,
		entry,
	})),
	{ ending: "json", file: oracle.polygraphy.inputs, member: "x", entry: oracle.polygraphy.y },
];

it.each(stored)(
	"readStored reads $member of .$ending in the file's own layout",
	async ({ ending, file, member, entry }) => {
		// numpy has no letters for the types of ml_dtypes: there the golden's own dtype says what it is.
		const tensor = await readStored(
			store(`a.${ending}`, bytesOf(file)),
			expected(member, entry.dtype),
			ports,
		);
		expect({ ...tensor, data: Buffer.from(tensor.data).toString("base64") }).toEqual({
			dtype: entry.dtype,
			shape: entry.shape,
			data: entry.data,
		});
	},
);

it("readStored refuses what is no such file, and a pointer of Git LFS", async () => {
	const pointer = new TextEncoder().encode(
		`version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 4\n`,
	);
	for (const ending of ["npy", "npz", "safetensors", "json"]) {
		await expect(readStored(store(`a.${ending}`, pointer), expected("x"), ports)).rejects.toThrow(
			/Git LFS pointer/,
		);
		await expect(
			readStored(store(`a.${ending}`, new Uint8Array(7)), expected("x"), ports),
		).rejects.toMatchObject({
			code: "tensor-invalid",
		});
	}
});

describe("a file that holds all tensors of a case", () => {
	const archive = zipOf([
		{ name: "a.npy", content: encodeNpy(float32([1, 2])) },
		{ name: "b.npy", content: encodeNpy(float32([3])) },
	]);

	it("a file that holds all tensors of a case is found beside the case's folder", async () => {
		const path = store("night.npz", archive);
		expect(await findCaseFile(path.replace(/\.npz$/, ""))).toBe(path);
		expect(await findCaseFile(path)).toBeNull();
	});

	it("a file that holds all tensors of a case is a case to record, for a model of several inputs too", async () => {
		const path = store("night.npz", archive);
		const { cases } = await readCases(
			[path],
			[
				{ ...expected("a"), axes: null, sizes: null },
				{ ...expected("b"), axes: null, sizes: null },
			],
			{ cwd: "/", ports, modelFolder: "/", preprocessing: undefined, recipes: new Map(), seed: 1 },
		);
		expect(cases).toMatchObject([{ id: "night", inputs: { a: { shape: [2] }, b: { shape: [1] } } }]);
	});
});
