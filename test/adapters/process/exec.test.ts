import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { execCommand } from "../../../src/adapters/process/exec.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { temporaryFolder } from "../../support/project.ts";

const usual = {
	env: { PATH: process.env["PATH"] ?? "" },
	timeoutMs: 60_000,
	signal: new AbortController().signal,
};
const sh = (script: string): [string, ...string[]] => ["sh", "-c", script];

interface Row {
	what: string;
	run: Partial<Parameters<typeof execCommand>[0]>;
	record: object;
}

const rows: Row[] = [
	{
		what: "keeps the start of the output, and the last lines of both streams",
		run: { argv: sh("echo one; echo two; echo three >&2; exit 4"), captureBytes: 5 },
		record: {
			state: "exited",
			exitCode: 4,
			stdout: "one\nt",
			tail: expect.arrayContaining(["one", "two", "three"]),
			problem: "",
		},
	},
	{
		what: "gives the command its own variables alone",
		run: { argv: sh('echo "[$HOME]"'), captureBytes: 9 },
		record: { stdout: "[]\n" },
	},
	{
		what: "knows a death by signal",
		run: { argv: sh("kill -9 $$") },
		record: { state: "signalled", exitCode: null },
	},
	{
		what: "names a program that is missing on the command's own PATH",
		run: { argv: ["git", "--version"], env: { PATH: "/nowhere" } },
		record: { state: "not-started", problem: "git is not installed" },
	},
	{
		what: "looks in no folder of PATH that depends on the current one",
		run: { argv: ["biome", "--version"], env: { PATH: ":.:node_modules/.bin" } },
		record: { state: "not-started", problem: "biome is not installed" },
	},
	{
		what: "leaves a command that takes too long to itself",
		run: { argv: sh("sleep 5"), timeoutMs: 1 },
		record: { state: "timed-out", problem: "it was abandoned" },
	},
	{
		what: "starts nothing once the run was cancelled",
		run: { argv: sh("exit 1"), signal: AbortSignal.abort() },
		record: { state: "aborted" },
	},
];

it.each(rows)("$what", async ({ run, record }) => {
	expect(await execCommand({ ...usual, argv: sh("true"), ...run })).toMatchObject(record);
});

it("finds a program in a folder with blanks, and passes arguments as they are", async () => {
	const folder = join(temporaryFolder(), "my programs");
	mkdirSync(folder);
	writeFileSync(join(folder, "say"), '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 });
	const processes = createProcesses({ env: { PATH: `${folder}:/bin` } });
	const argv: [string, ...string[]] = ["say", 'a "b" c', "$HOME", "", "--x='1 2'"];
	expect(await processes.exec({ argv, env: {}, timeoutMs: 60_000, captureBytes: 99 })).toMatchObject({
		stdout: `a "b" c|$HOME||--x='1 2'|`,
	});
	expect(processes.childMs()).toBeGreaterThan(0);
});
