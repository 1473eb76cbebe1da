import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { OnnxRuntimeOptions } from "../../../src/adapters/onnxruntime/backend.ts";
import { installFakeNative } from "../../support/fake-native.ts";
import { float32 } from "../../support/golden-tensors.ts";
import { buildJob, builtEngine, countJob, inferOne, modelAt, testBackend } from "../../support/ort-jobs.ts";
import { expectFault, temporaryFolder } from "../../support/project.ts";

const folder = temporaryFolder(afterAll);
const nativeFolder = installFakeNative(join(folder, "installed"));
const native = { flavour: "native", nativeFolder } as const;
const empty = join(folder, "empty");
mkdirSync(empty);

async function nameOf(changes: Partial<OnnxRuntimeOptions>) {
	const facts = await testBackend(changes).facts();
	return `${facts.name} ${facts.version}`;
}

it.each([
	[
		"auto is WebAssembly, which can count work, even if a native folder is given",
		"auto",
		"(WebAssembly) 1.30.0",
	],
	["wasm is WebAssembly even if a native folder is given", "wasm", "(WebAssembly) 1.30.0"],
	["native prefers a given folder to a download", "native", "(native) 9.9.9"],
] as const)("the choice of runtime %s", async (_what, flavour, name) => {
	expect(await nameOf({ flavour, nativeFolder })).toBe(`ONNX Runtime ${name}`);
});

it("names the native runtime and its folder", async () => {
	const backend = testBackend(native);
	await backend.facts();
	const home = join(nativeFolder, "node_modules/onnxruntime-node");
	expect(backend.notes?.()).toEqual([`Models run on the native ONNX Runtime 9.9.9 at ${home}.`]);
	const shipped = testBackend({ flavour: "auto" });
	await shipped.facts();
	expect(shipped.notes?.()).toEqual([]);
});

it("refuses a given folder without an addon for this machine, and does not search its parents", async () => {
	const half = installFakeNative(join(folder, "half"), { addon: false });
	const below = join(nativeFolder, "below");
	mkdirSync(below, { recursive: true });
	for (const named of [half, below])
		await expectFault(
			nameOf({ ...native, nativeFolder: named }),
			"usage",
			`at ${join(named, "node_modules/onnxruntime-node")}.`,
		);
});

it("refuses a given folder in an action's checkout, even through a link", async () => {
	const link = join(folder, "link");
	symlinkSync(nativeFolder, link);
	for (const named of [nativeFolder, link])
		await expectFault(
			nameOf({ ...native, nativeFolder: named, untrustedFolder: folder }),
			"usage",
			"is in the workspace, where a pull request can change it",
		);
	expect(await nameOf({ ...native, nativeFolder: link, untrustedFolder: empty })).toBe(
		"ONNX Runtime (native) 9.9.9",
	);
});

describe("the native runtime", () => {
	const backend = testBackend(native);
	const modelOf = (text: string) => {
		const path = join(folder, `${text}.onnx`);
		writeFileSync(path, text);
		return modelAt(path);
	};

	it("uses the unchanged model as the engine", async () => {
		const engine = await builtEngine(backend, modelOf("plain"), join(folder, "plain"));
		expect(engine.record).toMatchObject({
			engineKind: "ONNX model with recipe",
			engineBytes: "plain".length,
			recipe: {
				runtime: "onnxruntime-node",
				version: "9.9.9",
				flavour: "native",
				optimisation: "all when loaded",
			},
		});
		expect(readFileSync(engine.path, "utf8")).toBe("plain");
	});

	it("refuses a model that does not load", async () => {
		const record = await backend.build(buildJob(modelOf("refuse"), join(folder, "refuse")));
		expect(record).toMatchObject({ state: "refused", failure: { code: "ort-unsupported-op" } });
	});

	it("passes halves as bits, as the addon expects", async () => {
		const engine = await builtEngine(backend, modelOf("half"), join(folder, "halves"));
		const x = { dtype: "float16", shape: [2], data: Uint8Array.of(0, 0x3c, 0, 0xc0) } as const;
		const result = await inferOne(backend, engine, { x }, folder);
		expect(result).toMatchObject({ cases: [{ outputs: { y: x } }] });
	});

	it("counts nothing, and says so", async () => {
		const engine = await builtEngine(backend, modelOf("echo"), join(folder, "uncounted"));
		const result = await backend.count?.(countJob(engine, folder));
		expect(result).toMatchObject({
			state: "absent",
			reason: expect.stringContaining("`onnxruntime: wasm` does"),
		});
	});

	it("answers a case with the bytes that it was given", async () => {
		const engine = await builtEngine(backend, modelOf("echo"), join(folder, "echo"));
		const x = float32([1, 2]);
		expect(await inferOne(backend, engine, { x }, folder)).toMatchObject({ cases: [{ outputs: { y: x } }] });
	});
});
