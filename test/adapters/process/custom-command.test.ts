import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { customCommands, userShell } from "../../../src/adapters/process/custom-command.ts";
import { createProcesses } from "../../../src/adapters/process/processes.ts";
import { float32 } from "../../support/golden-tensors.ts";
import { temporaryFolder } from "../../support/project.ts";

const folder = temporaryFolder(afterAll);

const honest = `
import { readFileSync } from "node:fs";
const [scale, odd, ...paths] = process.argv.slice(2);
const [expected, got] = paths.map((path) => {
	const bytes = readFileSync(path);
	const data = 10 + bytes.readUInt16LE(8);
	return new Float32Array(bytes.buffer.slice(bytes.byteOffset + data, bytes.byteOffset + bytes.length));
});
const about = JSON.parse(readFileSync(0, "utf8"));
const value = Math.max(...expected.map((x, i) => Math.abs(x - got[i]))) * Number(scale);
console.log("loading a network …");
console.log(JSON.stringify({ value, detail: about.case + " " + about.output + " " + process.cwd() + odd }));
`;

let scripts = 0;

function run(source: string, options: { args?: string[]; timeoutMs?: number; program?: string } = {}) {
	scripts += 1;
	const script = join(folder, `${scripts}.mjs`);
	writeFileSync(script, source);
	const processes = createProcesses({ env: { PATH: process.env["PATH"] } });
	const { program = process.execPath, args = [], timeoutMs = 600_000 } = options;
	return customCommands(processes).run({
		command: { name: "mine", command: [program, script, ...args], timeoutMs },
		cwd: folder,
		scratchFolder: join(folder, "scratch"),
		about: {
			...{ schemaVersion: 1, comparator: "mine", golden: "net@1", case: "a; rm -rf $HOME", output: "y" },
			...{ model: "net", engine: "fp16", precision: "fp16", tolerance: 1 },
		},
		expected: float32([1, 2, 3]),
		got: float32([1, 2.5, 3]),
	});
}

it("customCommands pass on tensors, case and arguments, and read the answer", async () => {
	expect(await run(honest, { args: ["2", "$(id) `id` * ; id"] })).toEqual({
		state: "answered",
		pass: true,
		value: 1,
		detail: `a; rm -rf $HOME y ${folder}$(id) \`id\` * ; id`,
	});
	expect(readdirSync(join(folder, "scratch"))).toEqual([]);
});

it.each<[string, string, { timeoutMs?: number; program?: string }, string]>([
	["crashes", "throw new Error('no network')", {}, "expected 0 or 1"],
	["hangs", "setInterval(() => {}, 1000)", { timeoutMs: 400 }, "took longer than 0.4 s and was killed"],
	["is not there", "", { program: "/nowhere/program" }, "did not start"],
	["ends itself by a signal", "process.kill(process.pid, 'SIGKILL')", {}, "ended by SIGKILL"],
	["answers with nonsense", 'console.log(\'{"value":null,"pass":"yes"}\')', {}, "its pass is"],
	["talks without end", "process.stdout.write('{'.repeat(3e6))", {}, "not a JSON object"],
])("customCommands get no answer from a program that %s", async (_, source, options, message) => {
	const answer = await run(source, options);
	// A program that crashes exits with 1 in Node, which is a plain no.
	if (source.startsWith("throw")) expect(answer).toEqual({ state: "answered", pass: false, value: null });
	else expect(answer).toMatchObject({ state: "failed", message: expect.stringContaining(message) });
});

const options = { cwd: folder, logPath: join(folder, "prepare.log"), timeoutMs: 600_000 };
const shell = (command: string, more: { timeoutMs?: number } = {}) =>
	userShell(createProcesses()).run({ command, env: [] }, { ...options, ...more });

it("userShell runs several commands in the folder and keeps the log", async () => {
	const result = await shell("pwd\necho two >made && cat made");
	expect(result).toEqual({ state: "done" });
	expect(readFileSync(options.logPath, "utf8")).toMatch(/trtgate-\w+\ntwo\n$/);
});

it.each(["false\necho never", "false | cat\necho never"])(
	"userShell stops %j at the first command that fails",
	async (command) => {
		const message = "The prepare command ended with exit code 1.";
		const result = await shell(command);
		expect(result).toMatchObject({ state: "failed", failure: { code: "tool-crashed", message } });
		expect(readFileSync(options.logPath, "utf8")).not.toContain("never");
	},
);

it("userShell kills a command that does not end", async () => {
	const result = await shell("sleep 60 & wait", { timeoutMs: 300 });
	const message = "The prepare command did not finish within 0.3 s and was killed.";
	expect(result).toMatchObject({ failure: { code: "tool-timeout", message } });
});
