import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fileStore } from "../../src/adapters/files/store.ts";
import { userShell } from "../../src/adapters/process/custom-command.ts";
import { createProcesses } from "../../src/adapters/process/processes.ts";
import { getPlan } from "../../src/stages/own-plan.ts";
import { folderWith } from "../support/project.ts";

const processes = createProcesses({ env: { PATH: process.env["PATH"] } });
const lent = { HF_TOKEN: "secret" };
const ports = {
	files: fileStore(),
	shell: userShell(processes, (names) => (names.includes("HF_TOKEN") ? lent : {})),
};

function planIn(
	folder: string,
	build: { command?: string; env?: string[]; plan?: string },
	timingCache?: string,
) {
	const job = {
		id: "net/e",
		folder,
		logPath: join(folder, "logs/build.log"),
		timeoutMs: 600_000,
		timingCache,
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

it("getPlan names the file of kernel timings, if there is one", async () => {
	const folder = folderWith({ "out/a": "" });
	const build = { command: 'printf "<$TRTGATE_TIMING_CACHE>" > out/net.plan' };
	const written = async (timings?: string) => readFileSync(await planIn(folder, build, timings), "utf8");
	expect(await written("/cache/net.timing")).toBe("</cache/net.timing>");
	expect(await written()).toBe("<>");
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
