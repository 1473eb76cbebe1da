import fc from "fast-check";
import { expect, it } from "vitest";
import {
	flagFault,
	onnxFilesOf,
	onTensorRt,
	ownedFlags,
} from "../../../src/core/config/tensorrt-settings.ts";
import { engineOf, loaded, refusalOf, withModel } from "./load.ts";

it("settings of TensorRT are empty by default", () => {
	expect(engineOf("golden: g.json").tensorrt).toEqual({ plugins: [], flags: [] });
});

it("settings of TensorRT come from the model unless the engine has its own", () => {
	const shared = "workspace: 2GiB, optimization-level: 2, plugins: [a.so], flags: [--best1]";
	expect(engineOf(shared).tensorrt).toMatchObject({
		workspaceBytes: 2 * 1024 ** 3,
		optimizationLevel: 2,
		plugins: [{ path: "a.so", dynamic: false, pointer: "/models/net/plugins/0" }],
		flags: ["--best1"],
	});
	const own =
		"engines: { e: { precision: fp16, workspace: 500MB, plugins: [{ path: ./b.so, dynamic: true }], flags: [], optimization-level: 0 } }";
	expect(engineOf(`${shared}, ${own}`).tensorrt).toMatchObject({
		workspaceBytes: 5e8,
		optimizationLevel: 0,
		plugins: [{ path: "b.so", dynamic: true, pointer: "/models/net/engines/e/plugins/0/path" }],
		flags: [],
	});
});

it("layers fall back to the GPU only if dla allows it", () => {
	const { tensorrt } = engineOf("engines: { e: { precision: int8, dla: { core: 1 } } }");
	expect(tensorrt.dla).toEqual({ core: 1, gpuFallback: false });
});

it.each([
	["device: 1\n", {}, "1"],
	["device: MIG-41-a\n", {}, "MIG-41-a"],
	["device: 1\n", { device: "GPU-12" }, "GPU-12"],
	["", { device: "0" }, "0"],
	["", {}, undefined],
])("the GPU of %j with the input %j is %j", (more, inputs, device) => {
	expect(loaded(withModel("golden: g.json", more), inputs).device).toBe(device);
});

const profiles =
	"dims: { seq: { min: 1, opt: 64, max: 128 } }, profiles: [{ batch: 1 }, { batch: { min: 2, opt: 8, max: 32 }, seq: 16 }]";

it("there is one optimization profile, made of dims, if the file names none", () => {
	const engine = engineOf("dims: { batch: { min: 1, opt: 2, max: 3 } }");
	expect(engine.profiles).toEqual([engine.dims]);
});

it("optimization profiles stand over dims, which is then what some profile holds", () => {
	const engine = engineOf(profiles);
	expect(engine.profiles).toEqual([
		{ seq: { min: 1, opt: 64, max: 128 }, batch: { min: 1, opt: 1, max: 1 } },
		{ seq: { min: 16, opt: 16, max: 16 }, batch: { min: 2, opt: 8, max: 32 } },
	]);
	expect(engine.dims).toEqual({ seq: { min: 1, opt: 64, max: 128 }, batch: { min: 1, opt: 1, max: 32 } });
});

it.each([
	["{ batch: 1 }", { seq: 64, batch: 1 }],
	["{ batch: 4 }", { seq: 16, batch: 4 }],
	["{ seq: 16 }", { seq: 16, batch: 1 }],
	["{ seq: 16, batch: 32 }", { seq: 16, batch: 32 }],
])("optimization profiles give %s the optima of the first that holds it", (workload, dims) => {
	expect(engineOf(`${profiles}, workloads: [${workload}]`).workloads[0]?.dims).toEqual(dims);
});

it("a user's flag or plugin may be called __proto__ without harm", () => {
	expect(flagFault(["--__proto__=1"], 0)).not.toBeNull();
	expect(engineOf("plugins: [__proto__]").tensorrt.plugins).toHaveLength(1);
});

it("a user's flag never passes if trtgate sets it itself, whatever its value", () => {
	fc.assert(
		fc.property(fc.constantFrom(...ownedFlags.keys()), fc.string({ maxLength: 8 }), (flag, value) => {
			expect(flagFault([`${flag}=${value}`], 0)).not.toBeNull();
		}),
	);
});

const withFiles = (files: string) => `engines: { fp16: { precision: fp16, onnx: { ${files} } } }`;
const engineOn = (files: string, version: string) =>
	onTensorRt(loaded(withModel(withFiles(files))), version).models[0]!.engines[0]!;

const migrated = '"<10": old.onnx, 10: ./a/../ten.onnx, ">=11": new.onnx';

it.each([
	["8.6.1", "old.onnx"],
	["9.3", "old.onnx"],
	["10.0", "ten.onnx"],
	["10.16.1", "ten.onnx"],
	["11.2.1", "new.onnx"],
	["12", "new.onnx"],
])("TensorRT %s builds %s", (version, onnx) => {
	expect(engineOn(migrated, version).onnx).toBe(onnx);
});

it("until the version is known, the model's own file counts; Git LFS fetches all of them", () => {
	const engine = loaded(withModel(withFiles(migrated))).models[0]!.engines[0]!;
	expect(engine.onnx).toBe("net.onnx");
	expect(onnxFilesOf(engine).sort()).toEqual(["net.onnx", "new.onnx", "old.onnx", "ten.onnx"]);
});

it("every version up to a bound has one file, and every other the other one", () => {
	const majors = fc.integer({ min: 1, max: 99 });
	fc.assert(
		fc.property(majors, majors, (bound, major) => {
			const { onnx } = engineOn(`"<${bound}": a.onnx, ">=${bound}": b.onnx`, `${major}.1`);
			expect(onnx).toBe(major < bound ? "a.onnx" : "b.onnx");
		}),
	);
});

it("a version without a file is one error that names the ranges and a fix", () => {
	const config = loaded(withModel(withFiles('"<11": a.onnx, "12": b.onnx')));
	let caught: unknown;
	try {
		onTensorRt(config, "11.2.1");
	} catch (error) {
		caught = error;
	}
	expect(caught).toMatchObject({
		code: "config-value",
		message: 'net/fp16 has no ONNX file for TensorRT 11.2.1; its `onnx` names files for "12", "<11".',
		location: { path: "trtgate.yml", line: 3 },
		fix: 'Add one, such as "11": models/net.onnx.',
	});
});

it.each([
	['"~11": a.onnx', "config-value", "is no such range"],
	['"11.2": a.onnx', "config-value", 'such as "11", "<11" or ">=11"'],
	['"<11": a.onnx, "10": b.onnx', "config-value", 'overlaps with "10"'],
	['">=10": a.onnx, "11": b.onnx', "config-value", 'overlaps with "11"'],
	['"<11": ../a.onnx', "path-outside-workspace", "out of the workspace"],
	['"<11": /a.onnx', "path-outside-workspace", "absolute"],
	['"<11": a.plan', "config-value", "an engine by its name"],
	['"<11": 3', "config-schema", "files by version"],
	["", "config-schema", "at least 1 entry"],
])("the files { %s } are refused", (files, code, says) => {
	const found = refusalOf(withFiles(files));
	expect(found).toMatchObject({ code });
	expect(found.pointer).toContain("/models/net/engines/fp16/onnx");
	expect(found.message).toContain(says);
});

it("anything else is refused with what the key takes", () => {
	expect(refusalOf("engines: { fp16: { precision: fp16, onnx: [a.onnx] } }").message).toContain(
		'a path, or files by version such as { "<11": a.onnx, "11": b.onnx }',
	);
});
