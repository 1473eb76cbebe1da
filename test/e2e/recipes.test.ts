import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
	expectExit,
	type Gated,
	gateFolders,
	runCli,
	temporaryFolder,
	twoProjects,
	untimed,
} from "../support/project.ts";
import { type Change, gateReplay } from "../support/replay/gate.ts";

const reports = ["terminal", "report.md", "report.html", "junit.xml"];

function compare(base: string, head: string): Promise<Gated> {
	const files = { "wrong.onnx": "fixture:wrong.onnx", "copy.onnx": "fixture:model.onnx" };
	return gateFolders(twoProjects({ ...files, "trtgate.yml": base }, { ...files, "trtgate.yml": head }));
}

const config = untimed();
const prepared = (file: string): string =>
	config.replace("    onnx: model.onnx", `    onnx: made.onnx\n    prepare: cp ${file} made.onnx`);

it.each([
	[
		"onnx names another file",
		config,
		config.replace("onnx: model.onnx", "onnx: wrong.onnx"),
		{ what: "onnx", base: "model.onnx", head: "wrong.onnx" },
	],
	[
		"prepare makes another file",
		prepared("model.onnx"),
		prepared("wrong.onnx"),
		{ what: "prepare", base: "cp model.onnx made.onnx", head: "cp wrong.onnx made.onnx" },
	],
])("a head whose %s fails its golden, and the base's own engine does not", async (_, base, head, row) => {
	const { run, result, report } = await compare(base, head);
	expectExit(run, 1);
	expect(result.golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
	expect(result.golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
	expect(result.recipeChanges).toEqual([{ model: "net", engine: "fp32", rows: [row] }]);
	for (const name of reports) expect(report(name), name).not.toMatch(/did not cause|pre-existing/);
	for (const name of ["terminal", "report.md", "report.html"]) expect(report(name), name).toContain(row.head);
});

it("a head whose onnx names another file of the same content is compared with the base's, and passes", async () => {
	const { run, result } = await compare(config, config.replace("onnx: model.onnx", "onnx: copy.onnx"));
	expectExit(run, 0);
	expect(result).toMatchObject({
		outcome: "pass",
		recipeChanges: [{ rows: [{ what: "onnx", base: "model.onnx", head: "copy.onnx" }] }],
	});
});

it("a head whose engine takes fewer sizes than the base's fails its interface", async () => {
	const { run, result } = await compare(config, config.replace("max: 4", "max: 2"));
	expectExit(run, 1);
	expect(result.gates.filter(({ status }) => status === "fail")).toMatchObject([
		{ gate: "interface", model: "net", engine: "fp32" },
	]);
	expect(result.interfaceChanges).toMatchObject([
		{
			rows: [
				{
					side: "size",
					base: { name: "batch", shape: "1 to 4, optimum 2" },
					head: { name: "batch", shape: "1 to 2, optimum 2" },
				},
			],
		},
	]);
	expect(result.recipeChanges).toMatchObject([{ rows: [{ what: "dims.batch" }] }]);
});

const named = (model: string, engine: string, onnx: string): string =>
	config.replace(
		"  net:\n    onnx: model.onnx",
		`  ${model}:\n    onnx: ${onnx}\n    engines: { ${engine}: { precision: fp32 } }`,
	);

it("a head that renames its model, engine and file is compared with what it was, and says so", async () => {
	const { run, result, report } = await compare(
		named("net", "fp32", "model.onnx"),
		named("network", "plain", "copy.onnx"),
	);
	expectExit(run, 0);
	expect(result).toMatchObject({ outcome: "pass", recipeChanges: [{ was: "net/fp32" }] });
	expect(result.gates.filter(({ gate }) => gate === "coverage")).toEqual([]);
	expect(result.builds.map(({ arm, state }) => [arm, state])).toEqual([
		["base", "built"],
		["head", "built"],
	]);
	for (const name of ["terminal", "report.md", "report.html"])
		expect(report(name), name).toContain("net/fp32");
});

it("a head that renames an engine and breaks it fails against the old one", async () => {
	const { run, result } = await compare(
		named("net", "fp32", "model.onnx"),
		named("network", "plain", "wrong.onnx"),
	);
	expectExit(run, 1);
	expect(result).toMatchObject({ recipeChanges: [{ model: "network", engine: "plain", was: "net/fp32" }] });
	expect(result.golden).toMatchObject(Array(2).fill({ model: "network", state: "mismatch" }));
	expect(result.golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
});

const fast: Change["config"] = [
	["pairs: [5, 8]", "pairs: [5]"],
	[", unchanged-models: rebuild", ""],
];

const gated = (change: Change): Promise<Gated> => gateReplay({ comparison: "same-model" }, change);

it("a head with another optimization level and workspace is built and timed on its own, and every report says what differs", async () => {
	const headConfig = [
		["{ precision: fp16 }", "{ precision: fp16, optimization-level: 0, workspace: 1MiB }"],
	] as const;
	const { run, result, report } = await gated({ config: fast, headConfig });
	expectExit(run, 0);
	expect(result.recipeChanges).toEqual([
		{
			...{ model: "net", engine: "fp16" },
			rows: [
				{ what: "optimization-level", base: "3", head: "0" },
				{ what: "workspace", base: "TensorRT's default", head: "1 MiB" },
			],
		},
	]);
	expect(result.builds.map(({ arm, state, sharedWithBase = false }) => [arm, state, sharedWithBase])).toEqual(
		[
			["base", "built", false],
			["head", "built", false],
		],
	);
	expect(result.workloads[0]?.latency).toMatchObject({ pairs: 5 });
	for (const name of reports) {
		const words = report(name).replace(/\s+/g, " ");
		// JUnit has gates alone.
		if (name !== "junit.xml") expect(words, name).toContain("optimization-level");
		expect(words, name).not.toContain("the same model and settings");
	}
});

describe("a head with another precision", () => {
	const limits = (int8: string): Change => ({
		config: [
			...fast,
			["fp16: { precision: fp16 }", "trt: { precision: fp16 }"],
			[
				"cache: {",
				// The recorded engine of both sides is the one in fp16.
				`gates: { golden: { relative-l2: { fp16: 0.005, int8: ${int8} } }, precision-coverage: { fail: off } }\ncache: {`,
			],
		],
		headConfig: [["trt: { precision: fp16 }", "trt: { precision: int8 }"]],
	});

	it("a head with another precision is compared in speed, and each side has its own golden limit", async () => {
		const { run, result } = await gated(limits("0.05"));
		expectExit(run, 0);
		expect(result.recipeChanges).toMatchObject([
			{ rows: [{ what: "precision", base: "fp16", head: "int8" }] },
		]);
		expect(result.workloads).toMatchObject([{ verdict: "unchanged" }]);
		expect(
			result.golden.map(({ state, checks: [check] }) => [state, check?.allowed, check?.baseAllowed]),
		).toEqual(Array(2).fill(["match", 0.05, 0.005]));
	});

	it("a head with another precision that exceeds its limit fails if the base is within its own", async () => {
		const { run, result, report } = await gated(limits("0.0001"));
		expectExit(run, 1);
		expect(result.golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
		for (const name of ["terminal", "report.md", "report.html"])
			expect(report(name).replace(/\s+/g, " "), name).toContain("its own limit 5e-3");
	});
});

it("explain names another recipe beside the workload, as the first cause to look at", async () => {
	const cwd = temporaryFolder();
	await runCli(["demo", "--recorded", "--out", "demo"], { cwd });
	const path = join(cwd, "demo/result.json");
	const rows = [{ what: "optimization-level", base: "3", head: "0" }];
	const recipeChanges = [{ model: "classifier", engine: "fp16", rows }];
	writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), recipeChanges }));
	const run = await runCli(["explain", "demo"], { cwd });
	expect(run.stdout).toContain("classifier · fp16 · batch 8 (Built differently: optimization-level 3 → 0)");
});
