import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { recordedText } from "../formats/trtexec/recorded.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { expectRefusal, runCli, temporaryFolder, writeProject } from "../support/project.ts";

function diagnose(...argv: string[]) {
	return runCli(["diagnose", ...argv], { cwd: temporaryFolder() });
}

function plainLog(name: string, folder = temporaryFolder()): string {
	return join(writeProject(folder, { "trtexec.log": recordedText(name) }), "trtexec.log");
}

it.each([
	["10.6/fail-bad-truncated", "1", "onnx-unreadable"],
	["10.6/perf-classifier-graph", "0", "unverified"],
	["10.6/info-help", "0", "ok"],
])(
	"diagnose says of the log %s with exit code %s that it is %s, as its schema has it",
	async (name, exit, code) => {
		const run = await diagnose(plainLog(name), "--exit-code", exit, "--json");
		const said = JSON.parse(run.stdout);
		expectSchema(said, "diagnose");
		expect(said.code).toBe(code);
		expect(run.exit).toBe(0);
	},
);

it("diagnose shows people the code, the reason, what to do, and the numbered lines of the log", async () => {
	const path = plainLog("10.6/fail-bad-unsupported-op");
	const run = await diagnose(path, "--exit-code", "1");
	expect(run.stdout).toMatch(/^operator-unsupported .*\nFix: .+\n/);
	const [, number = "", text = ""] = /^ +(\d+) │ (.*)$/m.exec(run.stdout) ?? [];
	expect(readFileSync(path, "utf8").split("\n")[Number(number) - 1]).toContain(text.slice(0, 100));
	expect(run.exit).toBe(0);
});

it("diagnose trusts the exit code or signal that it is given", async () => {
	const path = plainLog("10.6/perf-classifier-graph");
	expect((await diagnose(path, "--signal", "kill")).stdout).toMatch(/^killed /);
	const unknown = await diagnose(path, "--exit-code", "9");
	expect(unknown.stdout).toMatch(/^unknown /);
	expect(unknown.exit).toBe(1);
});

it.each([
	[["none.log"], /There is no log of trtexec at none\.log\./],
	[["."], /\. cannot be read: it is a folder; expected a log of trtexec/],
	[[resolve("README.md"), "--exit-code", "many"], /--exit-code is "many"; expected a whole number/],
	[[resolve("README.md"), "--signal", "9"], /--signal is "9"; expected a name such as SIGKILL/],
	[[], /Expected LOG/],
])("diagnose refuses %j with exit code 2", async (argv, says) => {
	expectRefusal(await diagnose(...argv), says);
});

it.each<[string, Record<string, string | number>, string, RegExp]>([
	[
		"fail-bad-too-big",
		{ "models/bad-too-big.onnx": "model" },
		"tensor-too-big",
		/"z" has the shape \[300000, 300000\]: at least 335 GiB/,
	],
	["fail-bad-too-big", {}, "unverified", /Not checked.*the tensors of models\/bad-too-big\.onnx/],
	[
		"fail-input-wrong-size",
		{ "inputs/classifier-0-images.bin": 49_152 },
		"input-file-longer",
		/49152 bytes, but input "images" takes 24576/,
	],
	["fail-input-wrong-size", {}, "unverified", /Not checked.*the size of inputs\/classifier-0-images\.bin/],
])("diagnose looks at the files of %s that lie beside it: %j", async (name, files, code, says) => {
	const root = temporaryFolder();
	for (const [path, content] of Object.entries(files)) {
		mkdirSync(join(root, path, ".."), { recursive: true });
		if (typeof content === "number") writeFileSync(join(root, path), Buffer.alloc(content));
		else cpSync(join("test/fixtures", path), join(root, path));
	}
	const said = JSON.parse(
		(await diagnose(plainLog(`10.6/${name}`, root), "--exit-code", "0", "--json")).stdout,
	);
	expect(said).toMatchObject({ code, title: expect.stringMatching(says) });
	expect(said.title).not.toContain("did what it was asked to");
});

it("diagnose names input, flag and both ranks of a shape that TensorRT refuses", async () => {
	const folder = temporaryFolder();
	const model = "models/classifier.onnx";
	cpSync(join("test/fixtures", model), join(folder, model), { recursive: true });
	const shapes = "--minShapes=images:3x32x32 --optShapes=images:4x3x32x32 --maxShapes=images:8x3x32x32";
	const command = `TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=${model} ${shapes} --saveEngine=x.plan`;
	const refusal = "[11/21/2026-08:04:27] [E] Required optimization profile is invalid";
	const log = `&&&& RUNNING ${command}\n${refusal}\n&&&& FAILED ${command}\n`;
	writeFileSync(join(folder, "trtexec.log"), log);
	expect((await diagnose(join(folder, "trtexec.log"), "--exit-code", "1")).stdout).toMatch(
		/^profile-rank-mismatch +--minShapes gives input "images" 3 dimensions \(3x32x32\), but the model's input has 4\./,
	);
});

it("diagnose says of a log whose start is missing that it was not checked", async () => {
	for (const text of ["no log", recordedText("10.6/perf-classifier-graph").replace(/^.*\n/, "")]) {
		const path = join(writeProject(temporaryFolder(), { "cut.log": text }), "cut.log");
		expect((await diagnose(path, "--exit-code", "0")).stdout).toMatch(
			/^unverified .*: the start of trtexec's log/,
		);
	}
});

it("diagnose finds the failure in a log whose last run passed", async () => {
	const text = recordedText("10.6/fail-bad-truncated") + recordedText("10.6/perf-classifier-graph");
	const path = join(writeProject(temporaryFolder(), { "both.log": text }), "both.log");
	expect((await diagnose(path)).stdout).toMatch(/^onnx-unreadable /);
});

it("diagnose names the signal that ended trtexec", async () => {
	const path = plainLog("10.6/fail-terminated-build");
	expect((await diagnose(path, "--signal", "HUP")).stdout).toMatch(/^terminated .*\(SIGHUP\)/);
});

it("diagnose reads a binary log to its end", async () => {
	const path = join(temporaryFolder(), "noise.log");
	writeFileSync(path, Buffer.alloc(3e6, 0xff));
	expect((await diagnose(path, "--exit-code", "1")).exit).toBe(1);
});
