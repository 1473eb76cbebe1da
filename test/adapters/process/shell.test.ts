// How the user's prepare command is run, and how its faults are told.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { userShell } from "../../../src/adapters/process/custom-command.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "trtgate-shell-"));
afterAll(() => rmSync(folder, { recursive: true }));
const options = { cwd: folder, logPath: join(folder, "prepare.log"), timeoutMs: 600_000 };
const prepare = (command: string) => ({ command, env: [] });

it("userShell runs several commands in the folder and keeps the log", async () => {
	const result = await userShell(createProcesses()).run(prepare("pwd\necho two >made && cat made"), options);
	expect(result).toEqual({ state: "done" });
	expect(readFileSync(options.logPath, "utf8")).toMatch(/trtgate-shell-\w+\ntwo\n$/);
});

it.each([
	["false\necho never", "The prepare command ended with exit code 1."],
	["false | cat\necho never", "The prepare command ended with exit code 1."],
	["exit 7", "The prepare command ended with exit code 7."],
])("userShell stops %j at the first command that fails", async (command, message) => {
	const result = await userShell(createProcesses()).run(prepare(command), options);
	expect(result).toMatchObject({ state: "failed", failure: { code: "tool-crashed", message } });
	expect(readFileSync(options.logPath, "utf8")).not.toContain("never");
});

it("userShell shows the last lines of a command that failed", async () => {
	const result = await userShell(createProcesses()).run(prepare("echo out of luck >&2; exit 2"), options);
	expect(result).toMatchObject({ failure: { excerpt: ["out of luck"], log: options.logPath } });
});

it("userShell kills a command that does not end", async () => {
	const result = await userShell(createProcesses()).run(prepare("sleep 60 & wait"), { ...options, timeoutMs: 300 });
	expect(result).toMatchObject({
		failure: { code: "tool-timeout", message: "The prepare command did not finish within 0.3 s and was killed." },
	});
});
