import { join } from "node:path";
import { expect, it } from "vitest";
import { execCommand } from "../../../src/adapters/process/exec.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { temporaryFolder, writeScript } from "../../support/project.ts";

const usual = {
	env: { PATH: process.env["PATH"] ?? "" },
	timeoutMs: 60_000,
	signal: new AbortController().signal,
};
const sh = (script: string): [string, ...string[]] => ["sh", "-c", script];

it.each<[string, Partial<Parameters<typeof execCommand>[0]>, object]>([
	[
		"keeps the start of the output, and the last lines of both streams",
		{ argv: sh("echo one; echo two; echo three >&2; exit 4"), captureBytes: 5 },
		{
			...{ state: "exited", exitCode: 4, stdout: "one\nt", problem: "" },
			tail: expect.arrayContaining(["one", "two", "three"]),
		},
	],
	[
		"gives the command its own variables alone",
		{ argv: sh('echo "[$HOME]"'), captureBytes: 9 },
		{ stdout: "[]\n" },
	],
	["knows a death by signal", { argv: sh("kill -9 $$") }, { state: "signalled", exitCode: null }],
	[
		"names a program that is missing on the command's own PATH",
		{ argv: ["git", "--version"], env: { PATH: "/nowhere" } },
		{ state: "not-started", problem: "git is not installed" },
	],
	[
		"looks in no folder of PATH that depends on the current one",
		{ argv: ["biome", "--version"], env: { PATH: ":.:node_modules/.bin" } },
		{ state: "not-started", problem: "biome is not installed" },
	],
	[
		"leaves a command that takes too long to itself",
		{ argv: sh("sleep 5"), timeoutMs: 1 },
		{ state: "timed-out", problem: "it was abandoned" },
	],
	[
		"starts nothing once the run was cancelled",
		{ argv: sh("exit 1"), signal: AbortSignal.abort() },
		{ state: "aborted" },
	],
])("%s", async (_, run, record) => {
	expect(await execCommand({ ...usual, argv: sh("true"), ...run })).toMatchObject(record);
});

it("finds a program in a folder with blanks, and passes arguments as they are", async () => {
	const folder = join(temporaryFolder(), "my programs");
	writeScript(join(folder, "say"), 'printf "%s|" "$@"');
	const processes = createProcesses({ env: { PATH: `${folder}:/bin` } });
	const argv: [string, ...string[]] = ["say", 'a "b" c', "$HOME", "", "--x='1 2'"];
	expect(await processes.exec({ argv, env: {}, timeoutMs: 60_000, captureBytes: 99 })).toMatchObject({
		stdout: `a "b" c|$HOME||--x='1 2'|`,
	});
	expect(processes.childMs()).toBeGreaterThan(0);
});
