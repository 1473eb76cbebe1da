import fc from "fast-check";
import { expect, it } from "vitest";
import { flagFault, ownedFlags } from "../../../src/core/config/tensorrt-settings.ts";
import { engineOf, loaded, withModel } from "./load.ts";

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
