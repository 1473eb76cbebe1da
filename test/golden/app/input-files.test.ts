import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DType } from "../../../generated/golden.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import {
	fileNamesOf,
	findTensor,
	lineOf,
	readStored,
	severalEndings,
} from "../../../src/golden/app/input-files.ts";
import type { InputPort } from "../../../src/golden/app/inputs.ts";
import { readCases } from "../../../src/golden/app/stored-cases.ts";
import oracle from "../../oracles/golden-formats.json" with { type: "json" };
import { float32 } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";
import { zipOf } from "../../support/zip-writer.ts";

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, "base64"));

function store(name: string, bytes: Uint8Array) {
	const path = join(temporaryFolder(), name);
	writeFileSync(path, bytes);
	return path;
}

const expected = (name: string, dtype = "float32") => ({ name, dtype: dtype as DType, shape: [1, 2, 3] });

const stored = [
	...oracle.npz.flatMap(({ file, members }) =>
		Object.entries(members).map(([member, entry]) => ({ ending: "npz", file, member, entry })),
	),
	...Object.entries(oracle.safetensors.members).map(([member, entry]) => {
		return { ending: "safetensors", file: oracle.safetensors.file, member, entry };
	}),
	{ ending: "json", file: oracle.polygraphy.inputs, member: "x", entry: oracle.polygraphy.y },
];

it.each(stored)("readStored reads $member of .$ending in the file's own layout", async (one) => {
	const { dtype, shape, data } = one.entry;
	// numpy has no letters for the types of ml_dtypes: there the golden's own dtype says what it is.
	const tensor = await readStored(store(`a.${one.ending}`, bytesOf(one.file)), expected(one.member, dtype));
	expect({ ...tensor, data: Buffer.from(tensor.data).toString("base64") }).toEqual({ dtype, shape, data });
});

it("readStored refuses damaged files and Git LFS pointers", async () => {
	const pointer = new TextEncoder().encode(
		`version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 4\n`,
	);
	for (const ending of ["npy", "npz", "safetensors", "json", "pb", "raw"]) {
		const read = (bytes: Uint8Array) => readStored(store(`a.${ending}`, bytes), expected("x"));
		await expect(read(pointer)).rejects.toThrow(/Git LFS pointer/);
		await expect(read(new Uint8Array(7))).rejects.toMatchObject({ code: "tensor-invalid" });
	}
});

describe("a file that holds all tensors of a case", () => {
	const archive = zipOf([
		{ name: "a.npy", content: encodeNpy(float32([1, 2])) },
		{ name: "b.npy", content: encodeNpy(float32([3])) },
	]);

	it("is found beside the case's folder", async () => {
		const path = store("night.npz", archive);
		expect(await findTensor([dirname(path)], ["night"], severalEndings)).toBe(path);
		expect(await findTensor([dirname(path)], ["night.npz"], severalEndings)).toBeNull();
	});

	it("is a case to record, for a model of several inputs too", async () => {
		const path = store("night.npz", archive);
		const inputs = ["a", "b"].map((name) => ({ ...expected(name), axes: null, sizes: null }));
		const recipes = { inputs, seed: 1, byInput: new Map() };
		const from = { cwd: "/", modelFolder: "/", preprocessing: undefined, recipes };
		expect((await readCases([path], from)).cases).toMatchObject([
			{ id: "night", inputs: { a: { shape: [2] }, b: { shape: [1] } } },
		]);
	});
});

it("a tensor whose name no file can have is found under its name with underscores, as trtexec writes it", async () => {
	const path = store("save_model_scale_0.tmp_1.npy", new Uint8Array());
	expect(await findTensor([dirname(path)], fileNamesOf(["save_model/scale_0.tmp_1"], 0, "out"))).toBe(path);
});

it("a name with underscores is not taken if two tensors would share it", () => {
	const names = ["a/b", "a:b", "c/d"];
	expect(fileNamesOf(names, 0, "out")).not.toContain("a_b");
	expect(fileNamesOf(names, 2, "in")).toEqual(["c/d", expect.stringMatching(/^in-c-d-/), "input_2", "c_d"]);
});

it.each<[string, InputPort["axes"], InputPort["sizes"], number[]]>([
	["tokens of an open length", ["batch", "tokens"], [1, null], [1, 7]],
	["a row beside the batch of the config", ["batch", 7], [8, 7], [1, 7]],
	["a column", [7, 1], [7, 1], [7, 1]],
	["chunks of one row", ["time", 7], [null, 7], [1, 7]],
])("a line of tokens takes %s", (_, axes, sizes, shape) => {
	expect(lineOf({ name: "x", axes, sizes }, "a.txt").shapeOf(7)).toEqual(shape);
});

it("a line of tokens refuses two long axes that the model fixes", () => {
	const refuse = () => lineOf({ name: "x", axes: [8, 7], sizes: [8, 7] }, "a.txt");
	expect(refuse).toThrow("it has to have one long axis");
});
