import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findCalibrationData } from "../../src/adapters/files/calibration-data.ts";
import { fileStore } from "../../src/adapters/files/store.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import { prepare } from "../../src/stages/prepare.ts";
import { isIdentical } from "../../src/stages/workloads.ts";
import { loaded, withModel } from "../core/config/load.ts";
import { fakeEngine, silent } from "../support/fakes.ts";
import { folderWith, temporaryFolder } from "../support/project.ts";

const both =
	"precision: int8, plugins: [lib/a.so, { path: lib/b.so, dynamic: true }], calibration: net.cache";

async function prepareHead(
	path: string,
	engine = both,
	{
		text = withModel(`engines: { e: { ${engine} } }`),
		backend = "tensorrt" as "tensorrt" | "onnxruntime",
		base = undefined as string | undefined,
	} = {},
) {
	const specs = engineSpecs(loaded(text));
	const folder = { arm: "head", path, source: { label: "head" } } as const;
	const rest = { hasBaseConfig: true, backend, logFolder: "", timeoutMs: 1 } as const;
	const other = { arm: "base", path: `${base}/sub`, root: base, source: { label: "base" } } as const;
	const sides = [{ folder, specs }, ...(base === undefined ? [] : [{ folder: other, specs: [] }])];
	const input = { sides, ...rest };
	const { model } = fakeEngine("head", "a");
	const ports = {
		...{ models: { read: async () => model }, files: fileStore(), progress: silent },
		calibrationData: findCalibrationData,
	};
	for await (const one of prepare(input, ports as unknown as Parameters<typeof prepare>[1])) return one;
	throw new Error("nothing was prepared");
}

it("prepare gives absolute paths and digests of plugins and calibration caches", async () => {
	const folder = folderWith({ "lib/a.so": "a", "lib/b.so": "b", "net.cache": "c" });
	const sha256 = expect.stringMatching(/^[0-9a-f]{64}$/);
	expect(await prepareHead(folder)).toMatchObject({
		state: "ready",
		assets: {
			plugins: [
				{ path: join(folder, "lib/a.so"), dynamic: false, sha256 },
				{ path: join(folder, "lib/b.so"), dynamic: true, sha256 },
			],
			calibration: { path: join(folder, "net.cache"), sha256: expect.stringMatching(/^2e7d2c03a9507ae2/) },
		},
	});
});

const onData = (from: string) =>
	`precision: int8, golden: golden.json, calibration: { from: ${from}, cases: 1 }`;

it("prepare gives the cases that an engine is calibrated on: its golden's, or another's", async () => {
	const text = readFileSync("test/fixtures/project/golden/golden.json", "utf8");
	const folder = folderWith({ "golden.json": text, "other/golden.json": text });
	for (const [from, path] of [
		["golden", folder],
		["other/golden.json", join(folder, "other")],
	] as const) {
		const calibration = { path, cases: [{ id: expect.any(String) }], sha256: expect.any(String) };
		expect(await prepareHead(folder, onData(from))).toMatchObject({
			state: "ready",
			assets: { calibration },
		});
	}
});

it("prepare complains of calibration data that is missing, damaged or outside", async () => {
	const folder = folderWith({ "cases/a.npy": "?" });
	symlinkSync("/etc", join(folder, "link"));
	const faults = ["gone", "cases", "link"].map(async (from) => {
		const prepared = await prepareHead(folder, onData(from));
		return prepared.state === "broken" && prepared.arm === "head" && prepared.fault.code;
	});
	expect(await Promise.all(faults)).toEqual(["asset-missing", "tensor-invalid", "path-outside-workspace"]);
});

it.each([
	["plugin library lib/b.so", "missing", { "lib/a.so": "a", "net.cache": "c" }],
	["calibration cache net.cache", "missing", { "lib/a.so": "a", "lib/b.so": "b" }],
	["calibration cache net.cache", "an empty file", { "lib/a.so": "a", "lib/b.so": "b", "net.cache": "" }],
	["plugin library lib/a.so", "missing", { "lib/a.so/folder": "" }],
])("prepare complains of the %s that is %s", async (what, state, files) => {
	expect(await prepareHead(folderWith(files))).toMatchObject({
		state: "broken",
		fault: { code: "asset-missing", message: `The ${what} of net/e is ${state}.` },
	});
});

it("prepare gives the digest of a plan that is there, and complains of one that is not", async () => {
	const own = "precision: fp16, build: { plan: net.plan }";
	const folder = folderWith({ "net.plan": "p" });
	const plan = { path: join(folder, "net.plan"), sha256: expect.stringMatching(/^148de9c5a7a44d19/) };
	expect(await prepareHead(folder, own)).toMatchObject({ state: "ready", assets: { plugins: [], plan } });
	expect(await prepareHead(temporaryFolder(), own)).toMatchObject({
		state: "broken",
		fault: { code: "asset-missing", message: "The plan net.plan of net/e is missing." },
	});
	// It is written later.
	const built = "precision: fp16, build: { command: make, plan: net.plan }";
	expect(await prepareHead(temporaryFolder(), built)).toMatchObject({
		state: "ready",
		assets: { plugins: [] },
	});
});

it("prepare reads the inputs of an engine without an ONNX file from its golden, for TensorRT only", async () => {
	const golden = readFileSync("test/fixtures/project/golden/golden.json", "utf8");
	const folder = folderWith({ "golden.json": golden, "net.plan": "p" });
	const engine = "{ e: { precision: fp16, build: { plan: net.plan } } }";
	const text = `version: 1\nmodels:\n  net: { golden: golden.json, engines: ${engine} }\n`;
	const [one] = JSON.parse(golden).cases;
	const prepared = await prepareHead(folder, "", { text });
	const { sha256, onnx } = prepared.state === "ready" ? prepared.model : { sha256: "", onnx: null };
	expect(sha256).toBe(JSON.parse(golden).model.sha256);
	expect(onnx?.graph.inputs.map(({ name }) => name)).toEqual(Object.keys(one.inputs));
	expect(onnx?.graph.outputs.map(({ name }) => name)).toEqual(Object.keys(one.outputs));
	expect(await prepareHead(folder, "", { text, backend: "onnxruntime" })).toMatchObject({
		state: "broken",
		fault: { code: "model-missing", message: expect.stringContaining("no ONNX file") },
	});
});

it("prepare follows no link out of the workspace", async () => {
	const folder = temporaryFolder();
	symlinkSync("/etc/hostname", join(folder, "a.so"));
	const prepared = await prepareHead(folder, "precision: fp16, plugins: [a.so]");
	expect(prepared).toMatchObject({ state: "broken", fault: { code: "path-outside-workspace" } });
});

it("prepare takes no file of the base's checkout for the head's", async () => {
	const workspace = folderWith({ "model.onnx": "slow", "out/worktrees/base/lib/a.so": "a" });
	const base = join(workspace, "out/worktrees/base");
	symlinkSync("out/worktrees/base/lib/a.so", join(workspace, "a.so"));
	const leads = { code: "path-outside-workspace", message: expect.stringContaining(" leads to ") };
	for (const plugin of ["a.so", "out/worktrees/base/lib/a.so"]) {
		const asked = prepareHead(workspace, `precision: fp16, plugins: [${plugin}]`, { base });
		expect(await asked).toMatchObject({ state: "broken", fault: leads });
	}
	const own = await prepareHead(base, "precision: fp16, plugins: [lib/a.so]", { base: workspace });
	expect(own.state).toBe("ready");
});

const engine = (hash: string, plugin?: string) => ({
	...fakeEngine("head", hash),
	...(plugin && { assets: { plugins: [{ path: "a.so", sha256: plugin, dynamic: false }] } }),
});

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
