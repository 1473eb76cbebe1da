// Files that an engine needs beside its model: found inside the workspace, or complained of by name.
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileStore } from "../../src/adapters/files/store.ts";
import { ConfigError } from "../../src/core/errors.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import type { BuiltEngine } from "../../src/ports/backend.ts";
import { missingAsset, readAssets } from "../../src/stages/prepare.ts";
import { isIdentical } from "../../src/stages/workloads.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { temporaryFolder, writeProject } from "../support/project.ts";

function specOf(engine: string) {
	const [spec] = engineSpecs(loaded(withModel(`engines: { e: ${engine} }`)));
	if (spec === undefined) throw new Error("no engine");
	return spec;
}

const both = specOf(
	"{ precision: int8, plugins: [lib/a.so, { path: lib/b.so, dynamic: true }], calibration: net.cache }",
);

it("readAssets gives absolute paths and digests", async () => {
	const folder = writeProject(temporaryFolder(), { "lib/a.so": "a", "lib/b.so": "b", "net.cache": "c" });
	const read = await readAssets(both, folder, fileStore());
	if (read.state !== "ready") throw new Error(read.path);
	expect(read.assets.plugins.map(({ path, dynamic }) => [path, dynamic])).toEqual([
		[join(folder, "lib/a.so"), false],
		[join(folder, "lib/b.so"), true],
	]);
	expect(read.assets.calibration).toEqual({
		path: join(folder, "net.cache"),
		sha256: expect.stringMatching(/^2e7d2c03a9507ae2/),
	});
});

it.each([
	["lib/b.so", { "lib/a.so": "a", "net.cache": "c" }, /plugin library lib\/b\.so of net\/e is missing/],
	["net.cache", { "lib/a.so": "a", "lib/b.so": "b" }, /calibration cache net\.cache of net\/e is missing/],
	[
		"net.cache",
		{ "lib/a.so": "a", "lib/b.so": "b", "net.cache": "" },
		/calibration cache net\.cache of net\/e is an empty file/,
	],
	["lib/a.so", { "lib/a.so/folder": "" }, /plugin library lib\/a\.so of net\/e is missing/],
])("readAssets misses %s", async (path, files, says) => {
	const read = await readAssets(both, writeProject(temporaryFolder(), files), fileStore());
	if (read.state === "ready") throw new Error("nothing is missed");
	expect(read.path).toBe(path);
	expect(missingAsset(read, both)).toMatchObject({
		code: "asset-missing",
		message: expect.stringMatching(says),
	});
});

it("readAssets follows no link out of the workspace", async () => {
	const folder = temporaryFolder();
	symlinkSync("/etc/hostname", join(folder, "a.so"));
	await expect(
		readAssets(specOf("{ precision: fp16, plugins: [a.so] }"), folder, fileStore()),
	).rejects.toThrow(ConfigError);
});

const engine = (engineSha256: string, plugin?: string) =>
	({
		record: { engineSha256 },
		...(plugin === undefined
			? {}
			: { assets: { plugins: [{ path: "a.so", sha256: plugin, dynamic: false }] } }),
	}) as unknown as BuiltEngine;

it.each([
	["the same plan", engine("p"), engine("p"), true],
	["other plans", engine("p"), engine("q"), false],
	["the same plan with the same plugin", engine("p", "x"), engine("p", "x"), true],
	["the same plan with another plugin", engine("p", "x"), engine("p", "y"), false],
	["the same plan with a plugin of one side", engine("p"), engine("p", "y"), false],
])("isIdentical of %s", (_what, base, head, same) => {
	const { measure } = loaded(withModel("golden: g.json"));
	expect(isIdentical({ base, head }, measure)).toBe(same);
	expect(isIdentical({ base, head }, { ...measure, identicalEngines: "measure" })).toBe(false);
	expect(isIdentical({ head }, measure)).toBe(false);
});
