import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import lock from "../../../package-lock.json" with { type: "json" };
import {
	ortVersion,
	pinnedNative,
	pinnedWasm,
	wasmFolder,
} from "../../../src/adapters/onnxruntime/runtime.ts";
import { wasmSource } from "../../support/ort-jobs.ts";
import { expectFault, sha256, temporaryFolder, writeProject } from "../../support/project.ts";

const wasm = Buffer.from("\0asm and so on");
const module = Buffer.from("export {}");
const api = Buffer.from("export const x = 1");
const pin = (name: string, bytes: Buffer) => ({ name, bytes: bytes.length, sha256: sha256(bytes) });
const pinned = { wasm: pin("x.wasm", wasm), module: pin("x.mjs", module), api: pin("api.mjs", api) };
const name = `ort-${ortVersion}-${pinned.wasm.sha256.slice(0, 12)}`;
const second = join(tmpdir(), `trtgate-${userInfo().uid}`, name);

let folder = "";
let source = { wasmFolder: "", cacheFolder: "", pinned };
beforeEach(() => {
	folder = temporaryFolder();
	source = { wasmFolder: join(folder, "dist/ort"), cacheFolder: join(folder, "cache/deep"), pinned };
	writeProject(source.wasmFolder, { "x.wasm.gz": gzipSync(wasm), "x.mjs": module, "api.mjs": api });
});
afterEach(() => rmSync(second, { recursive: true, force: true }));

it("wasmFolder unpacks once and finds it again", async () => {
	const found = await wasmFolder(source);
	expect(found).toBe(join(source.cacheFolder, name));
	expect(readFileSync(join(found, "x.wasm"))).toEqual(wasm);
	const { mtimeMs } = statSync(join(found, "x.wasm"));
	expect(await wasmFolder(source)).toBe(found);
	expect(statSync(join(found, "x.wasm")).mtimeMs).toBe(mtimeMs);
	expect(readdirSync(source.cacheFolder)).toEqual([name]);
});

it("wasmFolder uses a folder that has the uncompressed file", async () => {
	writeFileSync(join(source.wasmFolder, "x.wasm"), wasm);
	expect(await wasmFolder(source)).toBe(source.wasmFolder);
});

it.each(["x.wasm", "x.mjs", "api.mjs"])("wasmFolder replaces a cached %s that was damaged", async (file) => {
	const found = await wasmFolder(source);
	writeFileSync(join(found, file), "half");
	expect(await wasmFolder(source)).toBe(found);
	expect(readFileSync(join(found, "x.wasm"))).toEqual(wasm);
	expect(readFileSync(join(found, "x.mjs"))).toEqual(module);
	expect(readdirSync(source.cacheFolder)).toEqual([name]);
});

it("wasmFolder uses the temporary folder if the cache cannot be written", async () => {
	const file = join(folder, "file");
	writeFileSync(file, "");
	const found = await wasmFolder({ ...source, cacheFolder: file });
	expect(found).toBe(second);
	expect(readFileSync(join(found, "x.wasm"))).toEqual(wasm);
});

it.each([
	["absent", "x.wasm.gz", null, "tool-missing"],
	["absent", "x.mjs", null, "tool-missing"],
	["cut short", "x.wasm.gz", gzipSync(wasm).subarray(0, 12), "tool-output"],
	["another", "x.wasm.gz", gzipSync("other"), "tool-output"],
	["endless", "x.wasm.gz", gzipSync(Buffer.alloc(10_000_000)), "tool-output"],
	["another", "x.mjs", Buffer.from("import 'evil'"), "tool-output"],
	["another", "api.mjs", Buffer.from("import 'evil'"), "tool-output"],
] as const)("wasmFolder refuses to run a file that is %s: %s", async (...[, file, content, code]) => {
	if (content === null) rmSync(join(source.wasmFolder, file));
	else writeFileSync(join(source.wasmFolder, file), content);
	await expectFault(wasmFolder(source), code, file.replace(".gz", ""));
});

it("the pinned files are those that ship", () => {
	for (const file of Object.values(pinnedWasm)) {
		const path = join(wasmSource, file.name);
		const bytes = file === pinnedWasm.wasm ? gunzipSync(readFileSync(`${path}.gz`)) : readFileSync(path);
		expect(pin(file.name, bytes)).toEqual(file);
	}
});

it("the pinned files are of the version in the lock file, the native ones too", () => {
	const locked = lock.packages["node_modules/onnxruntime-common"];
	const versions = pinnedNative.map(({ version }) => version);
	expect([ortVersion, ...versions]).toEqual(Array(3).fill(locked.version));
	expect(pinnedNative.find((one) => one.name === "onnxruntime-common")?.sha512).toBe(
		locked.integrity.replace("sha512-", ""),
	);
});
