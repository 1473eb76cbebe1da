import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { fileStore } from "../../src/adapters/files/store.ts";
import { fileTensorReader } from "../../src/adapters/files/tensor-reader.ts";
import { userShell } from "../../src/adapters/process/custom-command.ts";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { judgeBuild } from "../../src/core/gates/figures.ts";
import { engineSpecs } from "../../src/core/plan/plan.ts";
import { parseLayerInfo } from "../../src/formats/trtexec/layers.ts";
import type { BuildJob, BuiltEngine } from "../../src/ports/backend.ts";
import { build, getPlan, warnOfLayers } from "../../src/stages/build.ts";
import { buildConfig } from "../support/build-config.ts";
import { buildBuild } from "../support/build-result.ts";
import { silent } from "../support/fakes.ts";
import { folderWith } from "../support/project.ts";

const config = buildConfig();
const [spec] = engineSpecs(config);

const backend = {
	layersOf: async ({ path }: Pick<BuiltEngine, "path">) =>
		parseLayerInfo(
			JSON.parse(gunzipSync(readFileSync(`test/fixtures/engines/h200/${path}.json.gz`)).toString()).layers,
		),
};
const engineAt = (path: string, { tensorrt = "10.6.0", sha256 = path } = {}) => {
	const model = { sha256, onnx: { graph: null } };
	return { path, model, record: { recipe: { tensorrt } } } as unknown as BuiltEngine;
};
const warned = (base: string | null, head: string) =>
	warnOfLayers({ base: base === null ? undefined : engineAt(base), head: engineAt(head) }, backend);

it.each([
	[
		"det-consumer",
		"fusion-skipped",
		3,
		/^3 fusions skipped only in the head: .* Make sure only the next node/,
	],
	["yolo-consumer", "fusion-skipped", 3, /^3 fusions skipped only in the head: /],
	["det-island", "fp32-island", 7, /^7 products run in fp32 inside .* only in the head: .* Remove the cast/],
	["yolo-island", "fp32-island", 3, /^3 products run in fp32 inside/],
] as const)(
	"warnOfLayers finds what is new in %s, says what to try, and the build gate warns",
	async (head, kind, count, words) => {
		const warnings = await warned(`${head.split("-")[0]}-base`, head);
		expect(warnings).toEqual([{ class: kind, count, example: expect.stringMatching(words), isNew: true }]);
		const sides = { base: buildBuild({ arm: "base" }), head: buildBuild({ warnings }) };
		const gates = judgeBuild({ spec: spec!, ...sides, findings: [] }, config);
		const gate = gates.find((one) => one.gate === "build");
		expect(gate?.status).toBe("warn");
		expect(gate?.message).toMatch(words);
		expect(gate?.message).not.toContain("`");
	},
);

it("warnOfLayers finds nothing new in a rebuild, and in what the base has as well", async () => {
	expect(await warned("det-base", "det-rebuild")).toEqual([]);
	expect(await warned("det-island", "det-island")).toEqual([]);
});

it("warnOfLayers blames no model for fusions that another version chose", async () => {
	const found = (tensorrt: string, sha256: string) => {
		const [base, head] = [
			engineAt("det-base", { sha256: "a", tensorrt }),
			engineAt("det-consumer", { sha256 }),
		];
		return warnOfLayers({ base, head }, backend);
	};
	expect(await found("8.6.1", "a")).toEqual([]);
	expect(await found("8.6.1", "b")).toMatchObject([{ class: "fusion-skipped" }]);
});

it("warnOfLayers counts what a head without a base has, and the gate does not warn of it", async () => {
	const example = expect.stringMatching(/^8 products run in fp32 inside a half-precision engine: /);
	expect(await warned(null, "det-island")).toEqual([{ class: "fp32-island", count: 8, example }]);
	expect(await warnOfLayers({ base: undefined, head: engineAt("det-island") }, {})).toEqual([]);
});

const shell = { run: async () => ({ state: "done" }) as const };
const disk = { files: fileStore(), tensors: fileTensorReader(), shell };
const plainBuild = {
	...{ findings: [], strict: false, sharesUnchanged: false },
	...{ rebuilds: 1, folders: {}, outFolder: "out", timeoutMs: 1 },
};
const model = { path: "m.onnx", sha256: "0", external: [], onnx: { bytes: 1, graph: null } };
type Models = Parameters<typeof build>[0]["models"];

it("build names which build of an engine is running", async () => {
	const told: string[] = [];
	const progress = { ...silent, detail: (text: string) => void told.push(text) };
	const twice = {
		layersOf: () => Promise.resolve(null),
		async build(job: BuildJob) {
			job.onPhase?.("half-way");
			return buildBuild({ enginePath: "engine.plan" });
		},
	};
	const models = [{ state: "ready" as const, spec: spec!, arm: "head" as const, model }] as unknown as Models;
	const input = { ...plainBuild, models, rebuilds: 2 };
	for await (const _ of build(input, { ...disk, progress, backend: twice }));
	expect(told).toEqual(["build 1 of 2, half-way", "build 2 of 2", "build 2 of 2, half-way"]);
});

it.each([
	["fp16", [{ isNew: true }]],
	["fp32", [{}]],
])(
	"build compares the layers of a head at fp16 with those of a base at the same precision only: %s",
	async (precision, flags) => {
		const sideOf = (arm: "base" | "head", of: string) => ({
			...{ state: "ready", arm, model },
			spec: { ...spec!, engine: { ...spec!.engine, precision: of } },
		});
		const models = [sideOf("base", precision), sideOf("head", "fp16")] as unknown as Models;
		const recorded = {
			...backend,
			build: async ({ arm }: BuildJob) =>
				buildBuild({ arm, enginePath: arm === "base" ? "det-base" : "det-island" }),
		};
		const input = { ...plainBuild, models };
		const warnings: unknown[] = [];
		for await (const { record } of build(input, { ...disk, progress: silent, backend: recorded }))
			warnings.push(...record.warnings);
		expect(warnings).toMatchObject(flags.map((flag) => ({ class: "fp32-island", ...flag })));
		expect(warnings).toHaveLength(flags.length);
		if (precision === "fp32") expect(warnings[0]).not.toHaveProperty("isNew");
	},
);

const processes = createProcesses({ env: { PATH: process.env["PATH"] } });
const lent = { HF_TOKEN: "secret" };
const ports = {
	files: fileStore(),
	shell: userShell(processes, (names) => (names.includes("HF_TOKEN") ? lent : {})),
};

function planIn(
	folder: string,
	build: { command?: string; env?: string[]; plan?: string },
	variables: Record<string, string> = {},
) {
	const job = {
		id: "net/e",
		folder,
		logPath: join(folder, "logs/build.log"),
		timeoutMs: 600_000,
		variables,
	};
	return getPlan({ plan: "out/net.plan", pointer: "", ...build }, job, ports);
}

it.each([
	["is there already", { "out/net.plan": "p" }, {}],
	["a command writes", { "out/a": "" }, { command: "printf p > out/net.plan" }],
	["a command writes anew", { "out/net.plan": "old" }, { command: "printf p > out/net.plan" }],
	["a command puts in place with its old time", { p: "p", "out/a": "" }, { command: "cp -p p out/net.plan" }],
	[
		"a command writes with a token",
		{},
		{ command: 'mkdir out; printf "$HF_TOKEN" > out/net.plan', env: ["HF_TOKEN"] },
	],
])("getPlan takes a plan that %s", async (_what, files, build) => {
	const folder = folderWith(files);
	expect(await planIn(folder, build)).toBe(join(folder, "out/net.plan"));
});

it("getPlan gives the command its variables", async () => {
	const folder = folderWith({ "out/a": "" });
	const build = { command: 'printf "<$TRTGATE_TIMING_CACHE>" > out/net.plan' };
	const path = await planIn(folder, build, { TRTGATE_TIMING_CACHE: "/cache/net.timing" });
	expect(readFileSync(path, "utf8")).toBe("</cache/net.timing>");
});

const failed = "plan-failed";

it.each([
	["that is missing", {}, {}, failed, "The plan out/net.plan of net/e is missing."],
	["that is empty", { "out/net.plan": "" }, {}, failed, "is not a file, or empty."],
	["that is a folder", { "out/net.plan/a": "" }, {}, failed, "is not a file, or empty."],
	[
		"of a command that fails",
		{},
		{ command: "exit 3" },
		failed,
		"The build command of net/e ended with exit code 3.",
	],
	[
		"of a command that writes nothing",
		{},
		{ command: "true" },
		failed,
		"succeeded but wrote no out/net.plan.",
	],
	[
		"of an earlier build",
		{ "out/net.plan": "p" },
		{ command: "true" },
		failed,
		"succeeded but left the old out/net.plan.",
	],
	["of a command without its token", {}, { command: "set -u; : $HF_TOKEN" }, failed, "ended with exit code"],
	[
		"that a command writes outside",
		{ "out/a": "" },
		{ command: "ln -s /etc/hostname out/net.plan" },
		"path-outside-workspace",
		"out/net.plan leads to /etc/hostname, outside the workspace",
	],
])("getPlan refuses a plan %s", async (_what, files, build, code, message) => {
	const fault = { code, message: expect.stringContaining(message), fix: expect.stringMatching(/./) };
	await expect(planIn(folderWith(files as Record<string, string>), build)).rejects.toMatchObject(fault);
});

it("getPlan runs no command whose plan would already lie outside", async () => {
	const folder = folderWith({ "a/b": "" });
	symlinkSync("/etc", join(folder, "out"));
	const asked = planIn(folder, { command: "touch ran", plan: "out/hostname" });
	await expect(asked).rejects.toMatchObject({ code: "path-outside-workspace" });
	expect(await ports.files.size(join(folder, "ran"))).toBeNull();
});
