import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { timesKeys } from "../../src/formats/trtexec/export-times.ts";
import { expectRefusal, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { profiledArm } from "../support/recorded-engines.ts";
import { gateReplay } from "../support/replay/gate.ts";

const block = "block1 + block1.relu";
const weights = "weights changed: 4,608 → 18,432 values";

function engineFolders(comparison: string): string {
	const folder = temporaryFolder();
	for (const arm of ["base", "head"] as const) writeProject(join(folder, arm), profiledArm(comparison, arm));
	return folder;
}

it("trtgate diff explains a slower engine as text, Markdown, JSON and HTML", async () => {
	const cwd = engineFolders("slower-head");
	const diff = (...options: string[]) =>
		runCli(["diff", "base", "head", "--gpu", "H200", ...options], { cwd });
	const text = await diff("--engine-ms", "0.0279,0.02903");
	expect(text).toMatchObject({ exit: 0, stderr: "" });
	expect(text.stdout).toContain(`+0.89 ± 0.34 µs: ${block} – ${weights}`);
	expect(text.stdout).toContain("of +1.13 µs of the timed runs");
	const markdown = (await diff("--format", "markdown")).stdout;
	expect(markdown.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
	expect(markdown).toContain("Next: `trtgate diff base head`");
	const { comparisons } = JSON.parse((await diff("--format", "json")).stdout);
	expect(comparisons[0].diff).toMatchObject({ isSameStructure: false, unchanged: { groups: 7, of: 10 } });
	const html = (await diff("--format", "html")).stdout;
	expect(html).toContain(`<code>${block}</code>`);
	expect(html).toContain("graph of the head");
	expect(html).not.toMatch(/(?:src|href)="?http/);
});

it("trtgate diff finds no difference between two builds of one model", async () => {
	const { stdout } = await runCli(["diff", "base", "head"], { cwd: engineFolders("same-model") });
	expect(stdout).toContain("No difference in structure; the same kernels.");
});

it("trtgate diff accepts layers only, a single file, and a model beside them", async () => {
	const cwd = engineFolders("slower-head");
	const headline = async (base: string, head: string) =>
		(await runCli(["diff", base, head], { cwd })).stdout.split("\n")[1];
	const timed = await headline("base/layers.json", "head/layers.json");
	expect(timed).toContain(block);
	for (const arm of ["base", "head"]) {
		writeFileSync(
			join(cwd, arm, "model.onnx"),
			gunzipSync(readFileSync(`examples/recorded/${arm}/models/classifier.onnx.gz`)),
		);
	}
	expect(await headline("base", "head")).toBe(timed);
	rmSync(join(cwd, "base", "profile.json"));
	const { stdout } = await runCli(["diff", "base", "head"], { cwd });
	expect(stdout).toMatch(/block1 \+ block1\.relu .*\n +weights changed: 4,608 → 18,432 values/);
	expect(stdout).not.toContain("±");
	for (const [format, shown] of [
		["markdown", `| \`${block}\` | weights changed`],
		["json", '"account": null'],
		["html", `<code>${block}</code>`],
		["html", "node groups that changed: base → head"],
	] as const) {
		expect((await runCli(["diff", "base", "head", "--format", format], { cwd })).stdout, format).toContain(
			shown,
		);
	}
	for (const arm of ["base", "head"]) renameSync(join(cwd, arm, "model.onnx"), join(cwd, `${arm}.onnx`));
	const page = async (...options: string[]) =>
		(await runCli(["diff", "base", "head", "--format", "html", ...options], { cwd })).stdout;
	expect(await page("--onnx", "base.onnx,head.onnx")).toContain(`<code>${block}</code>`);
	expect(await page()).toContain("graph of the head");
});

it("trtgate diff names engines that only one side has", async () => {
	const cwd = engineFolders("same-model");
	for (const [arm, other] of [
		["base", "old"],
		["head", "new"],
	] as const) {
		for (const name of ["det", other])
			cpSync(join(cwd, arm), join(cwd, "all", arm, name), { recursive: true });
	}
	const { stdout, stderr } = await runCli(["diff", "base", "head"], { cwd: join(cwd, "all") });
	expect(stdout).toMatch(/^base → head: det\n/);
	expect(stderr).toBe('Not compared, because only one side has them: "old", "new".\n');
	for (const arm of ["base", "head"])
		cpSync(join(cwd, arm), join(cwd, "all", arm, "seg"), { recursive: true });
	const timed = await runCli(["diff", "base", "head", "--engine-ms", "1,2"], { cwd: join(cwd, "all") });
	expect(timed.stderr).toContain("--engine-ms gives the times of one engine; here are 2.");
});

it("trtgate diff reads the files of TensorRT Engine Explorer, and what whole inferences take", async () => {
	const cwd = engineFolders("slower-head");
	const expected = (await runCli(["diff", "base", "head", "--engine-ms", "0.0279,0.02903"], { cwd })).stdout;
	for (const [arm, computeMs] of [
		["base", 0.0279],
		["head", 0.02903],
	] as const) {
		renameSync(join(cwd, arm, "layers.json"), join(cwd, arm, "net.onnx.engine.graph.json"));
		renameSync(join(cwd, arm, "profile.json"), join(cwd, arm, "net.onnx.engine.profile.json"));
		const times = Object.fromEntries(timesKeys.map((key) => [key, key === "computeMs" ? computeMs : 1]));
		writeFileSync(join(cwd, arm, "net.onnx.engine.timing.json"), JSON.stringify([times, times]));
		writeFileSync(join(cwd, arm, "net.onnx.engine.profile.metadata.json"), '{"performance_summary": {}}');
	}
	expect((await runCli(["diff", "base", "head"], { cwd })).stdout).toBe(expected);
	const files = ["base/net.onnx.engine.graph.json", "head/net.onnx.engine.graph.json"] as const;
	expect((await runCli(["diff", ...files], { cwd })).stdout.split("\n")[1]).toBe(expected.split("\n")[1]);
	writeFileSync(join(cwd, "head", "net.onnx.engine.timing.json"), '[ { "startEnqMs" : 1');
	expect((await runCli(["diff", "base", "head"], { cwd })).stderr).toMatch(
		/timing\.json cannot be used\. The times file is truncated\./,
	);
});

type Files = Partial<Record<"layers.json" | "profile.json" | "model.onnx" | "net.plan", string | null>>;

const otherProfile =
	'[\n  { "count" : 1 }\n, { "name" : "other", "timeMs" : 1, "averageMs" : 1, "medianMs" : 1, "percentage" : 1 }\n]\n';

it.each<[string, readonly string[], Files, RegExp]>([
	["three times", ["diff", "base", "head", "--engine-ms", "1,2,3"], {}, /two times such as 0\.569,0\.606/],
	["a folder of several engines", ["diff", ".", "head"], {}, /several engines.*\[engine-missing\]/s],
	[
		"a path that leads nowhere",
		["diff", "nowhere", "head"],
		{},
		/nowhere is not a usable engine.*\[engine-missing\]/s,
	],
	...["net.plan", "model.onnx"].map((file): [string, readonly string[], Files, RegExp] => [
		file,
		["diff", `cut/${file}`, "head"],
		{ [file]: "ftrt" },
		/ is not a usable engine: Its layers are needed.*`trtgate cost` compares models.*\[engine-missing\].*--exportLayerInfo/s,
	]),
	[
		"another format",
		["diff", "base", "head", "--format", "pdf"],
		{},
		/--format is "pdf"; expected one of text, markdown, json, html/,
	],
	[
		"missing layers",
		["diff", "cut", "head"],
		{ "layers.json": null },
		/cut is not a usable engine: It contains no layers\.json\. /,
	],
	[
		"layers that are cut off",
		["diff", "cut", "head"],
		{ "layers.json": '{"Layers": [' },
		/cut\/layers\.json .*not JSON\. \[engine-unreadable\]/,
	],
	[
		"layers of no layers",
		["diff", "head", "cut"],
		{ "layers.json": "{}" },
		/cut\/layers\.json .*no list of layers\. \[engine-unreadable\]/,
	],
	[
		"a profile that is cut off",
		["diff", "cut", "head"],
		{ "profile.json": '[{"count": 3' },
		/cut\/profile\.json .*\[engine-unreadable\]/,
	],
	[
		"a profile of another engine",
		["diff", "base", "cut"],
		{ "profile.json": otherProfile },
		/another engine: 1 of its 1 layers are not in .*\[engine-unreadable\]/,
	],
	[
		"layers in UTF-16",
		["diff", "base", "cut"],
		{ "layers.json": "\u{feff}{\u0000" },
		/cut\/layers\.json .*not JSON\. \[engine-unreadable\]/,
	],
	[
		"a model that is cut off",
		["diff", "head", "cut"],
		{ "model.onnx": "\u0008\u0007\u003a\u007f" },
		/cut\/model\.onnx is .*\[model-unreadable\]/,
	],
])("trtgate diff refuses %s, once", async (_, argv, files, message) => {
	const cwd = engineFolders("same-model");
	cpSync(join(cwd, "head"), join(cwd, "cut"), { recursive: true });
	for (const [name, text] of Object.entries(files)) {
		if (text === null) rmSync(join(cwd, "cut", name));
		else writeFileSync(join(cwd, "cut", name), text);
	}
	const run = await runCli(argv, { cwd });
	expectRefusal(run, message);
	expect(run.stderr.match(/\[[a-z]+-[a-z]+\]/g)?.length ?? 1).toBe(1);
});

it("trtgate explain shows where the time of one engine goes", async () => {
	const cwd = engineFolders("slower-head");
	const { stdout, exit } = await runCli(["explain", "head", "--gpu", "H200"], { cwd });
	expect(exit).toBe(0);
	expect(stdout).toMatch(
		/15 layers, 10 kernels \(10 fp16\), 1 reformat; 100 % of the profiled time belongs to ONNX nodes/,
	);
	expect(stdout).toMatch(/stem \+ stem\.relu +[\d.]+ +[\d.]+ % +fp16/);
	const as = async (format: string) =>
		(await runCli(["explain", "head", "--format", format], { cwd })).stdout;
	expect(await as("markdown")).toMatch(/\| `block1 \+ block1\.relu` \| [\d.]+ \| [\d.]+\s% \| fp16 \|/);
	expect(await as("html")).toMatch(/<code>block1 \+ block1\.relu<\/code><\/th><td class="n"[^>]*>[\d.]+</);
	expect(JSON.parse(await as("json")).engines[0]).toMatchObject({ title: "head", summary: { layers: 15 } });
});

it("trtgate diff reads a result's engines and draws their groups of ONNX nodes", async () => {
	const { folder: cwd } = await gateReplay({ comparison: "slower-head" });
	const { stdout } = await runCli(["diff", "out", "out", "--format", "json"], { cwd });
	const [{ title, diff }] = JSON.parse(stdout).comparisons;
	expect(title).toBe("out: base → head");
	expect(diff.graph).toMatchObject({
		groups: expect.arrayContaining([expect.objectContaining({ label: block })]),
	});
});

it("trtgate explain gives JSON of a result that explains nothing, too", async () => {
	const cwd = temporaryFolder();
	cpSync("golden-schema/examples/result/valid/all-green.json", join(cwd, "result.json"));
	const { stdout } = await runCli(["explain", ".", "--format", "json"], { cwd });
	expect(JSON.parse(stdout)).toEqual({ comparisons: [] });
});
