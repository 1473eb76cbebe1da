import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findCalibrationData } from "../../../src/adapters/files/calibration-data.ts";
import { encodeNpy } from "../../../src/formats/tensor/npy.ts";
import { temporaryFolder } from "../../support/project.ts";
import { float32 } from "../../support/tensorrt-worker.ts";

const x = { name: "x", dtype: "float32" } as const;
const npy = (value: number, rows = 1) => encodeNpy(float32([rows, 1], new Array(rows).fill(value)));
const golden = "examples/quickstart/head/golden/detector/golden.json";

function folderWith(files: Record<string, Uint8Array | string>): string {
	const folder = temporaryFolder();
	for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
	return folder;
}

it("findCalibrationData takes a folder's files by number, in their own shape, and other files not", async () => {
	const files = { "x10.npy": npy(3), "x2.npy": npy(2, 2), "README.md": "", ".a.npy": "" };
	const path = folderWith(files);
	const found = await findCalibrationData({ path, inputs: [x] });
	expect(found.path).toBe(path);
	expect(found.cases.map(({ id, inputs }) => [id, inputs["x"]?.shape])).toEqual([
		["x2.npy", [2, 1]],
		["x10.npy", [1, 1]],
	]);
	const [first] = (await findCalibrationData({ path, inputs: [x], most: 1 })).cases;
	expect(first).toEqual(found.cases[0]);
});

it("findCalibrationData hashes what is in the files, and not where they are", async () => {
	const hashOf = async (files: Record<string, Uint8Array>, most?: number) =>
		(await findCalibrationData({ path: folderWith(files), inputs: [x], most })).sha256;
	const one = await hashOf({ "a.npy": npy(1), "b.npy": npy(2) });
	expect(await hashOf({ "c.npy": npy(1), "d.npy": npy(2) })).toBe(one);
	const others = [
		await hashOf({ "a.npy": npy(2), "b.npy": npy(1) }),
		await hashOf({ "a.npy": npy(1), "b.npy": npy(3) }),
		await hashOf({ "a.npy": npy(1), "b.npy": npy(2) }, 1),
	];
	expect(new Set([one, ...others]).size).toBe(4);
});

it("findCalibrationData takes the inputs of a golden's first cases", async () => {
	const all = await findCalibrationData({ path: golden, inputs: [] });
	expect(all.path).toBe("examples/quickstart/head/golden/detector");
	expect(all.cases.length).toBeGreaterThan(1);
	const first = await findCalibrationData({ path: golden, inputs: [], most: 1 });
	expect(first.cases).toEqual(all.cases.slice(0, 1));
	expect(first.sha256).not.toBe(all.sha256);
});

const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 1\n`;

it.each<[string, Record<string, string>, RegExp]>([
	["an empty folder", {}, /expected a folder of tensor files, got none/],
	["a damaged file", { "a.npy": "?" }, /a\.npy: expected /],
	["a Git LFS pointer", { "a.npy": pointer }, /got a Git LFS pointer/],
])("findCalibrationData refuses %s", async (_, files, message) => {
	await expect(findCalibrationData({ path: folderWith(files), inputs: [x] })).rejects.toMatchObject({
		code: "tensor-invalid",
		message: expect.stringMatching(message),
	});
});

it("findCalibrationData refuses links, folders, and one tensor for several inputs", async () => {
	const folder = folderWith({});
	symlinkSync("/etc/hostname", join(folder, "a.npy"));
	const wanted = { path: folder, inputs: [x] };
	await expect(findCalibrationData(wanted)).rejects.toThrow(
		"expected a regular file, got a link or a folder",
	);
	const nested = folderWith({});
	mkdirSync(join(nested, "a.npy"));
	await expect(findCalibrationData({ ...wanted, path: nested })).rejects.toThrow("a regular file");
	const one = folderWith({ "a.npy": npy(1) });
	const two = [x, { ...x, name: "z" }];
	await expect(findCalibrationData({ path: one, inputs: two })).rejects.toThrow("the model's 2 inputs");
	await expect(findCalibrationData({ path: join(one, "gone"), inputs: [x] })).rejects.toMatchObject({
		code: "golden-missing",
	});
});
