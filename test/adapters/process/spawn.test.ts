import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type ProcessOptions, runProcess } from "../../../src/adapters/process/spawn.ts";
import { program } from "../../support/ort-jobs.ts";
import { expectFault, temporaryFolder } from "../../support/project.ts";
import { gone } from "../../support/until.ts";

const node = process.execPath;
const run = (argv: readonly string[], options: Partial<ProcessOptions> = {}) =>
	runProcess({ timeoutMs: 600_000, argv: [node, ...argv], ...options });
const script = (text: string, options: Partial<ProcessOptions> = {}) => run(["-e", text], options);
const folder = temporaryFolder(afterAll);
const well = { state: "exited", exitCode: 0 };

it("passes arguments without a shell and keeps the child's output", async () => {
	const logPath = join(folder, "deep", "echo.log");
	const text = "console.log(process.argv[1]); console.error('two'); process.exit(3)";
	const record = await run(["-e", text, "$HOME `id` ; 'x'"], { logPath, captureBytes: 100 });
	expect(record).toMatchObject({ state: "exited", exitCode: 3, signal: null, problem: "", logPath });
	expect([...record.tail].sort()).toEqual(["$HOME `id` ; 'x'", "two"]);
	expect(record.stdout).toBe("$HOME `id` ; 'x'\n");
	expect(readFileSync(logPath, "utf8")).toContain("two\n");
	expect(record.wallMs).toBeGreaterThan(5);
});

it("gives the child its input, folder and environment", async () => {
	const text =
		"process.stdin.pipe(process.stdout); console.log(process.cwd(), process.env.ONLY, process.env.HOME)";
	const record = await script(text, { stdin: "hello\n", cwd: "/", env: { ONLY: "this" } });
	expect([...record.tail].sort()).toEqual(["/ this undefined", "hello"]);
	const unread = await script("0", { stdin: "x".repeat(1_000_000) });
	expect(unread).toMatchObject(well);
});

it("hands over its pipes, and logs only errors", async () => {
	const logPath = join(folder, "talk.log");
	const text =
		"process.stdin.on('data', (x) => process.stdout.write(x + '?')).on('end', () => console.error('bye'))";
	let heard = "";
	const talk: ProcessOptions["talk"] = ({ input, output }) => {
		input.write("one");
		output.on("data", (chunk) => {
			heard += String(chunk);
			if (heard.endsWith("one?")) input.end("two");
		});
	};
	const record = await script(text, { logPath, captureBytes: 100, talk });
	expect(heard).toBe("one?two?");
	expect(record).toMatchObject({ ...well, tail: ["bye"], stdout: "" });
	expect(readFileSync(logPath, "utf8")).toBe("bye\n");
});

it("outlives a conversation in which the child hangs up", async () => {
	const talk: ProcessOptions["talk"] = ({ input }) => void input.write(new Uint8Array(1_000_000));
	expect(await script("process.exit(4)", { talk })).toMatchObject({ state: "exited", exitCode: 4 });
});

it.each<[string, string[], object]>([
	["at its timeout", ["sleeper"], { state: "timed-out", signal: "SIGTERM", tail: ["asleep"] }],
	["that ignores SIGTERM", ["sleeper", "deaf"], { state: "timed-out", signal: "SIGKILL" }],
])("kills a child %s", async (_, [name = "", ...args], record) => {
	const options = { timeoutMs: 3_000, graceMs: args.length === 0 ? 2_000 : 200 };
	expect(await run([program(name), ...args], options)).toMatchObject(record);
});

it.each<[string, string[], number, object]>([
	["at a timeout", [], 3_000, { state: "timed-out" }],
	["that holds the pipes of a child that has left", ["leave"], 600_000, well],
])("ends a grandchild %s", async (_, args, timeoutMs, end) => {
	const record = await run([program("forker"), ...args], { timeoutMs });
	expect(record).toMatchObject(end);
	expect(await gone(Number(record.tail[0]))).toBe(true);
});

it("stops at an abort, and starts nothing after one", async () => {
	const stop = new AbortController();
	const { signal } = stop;
	const stopped = await run([program("sleeper")], { signal, onLine: () => stop.abort() });
	expect(stopped.state).toBe("aborted");
	const problem = "interrupted before the start";
	expect(await run([program("sleeper")], { signal })).toMatchObject({ state: "aborted", problem });
});

it.each(["/no/such/program", "no\0de"])("reports that %j did not start", async (name) => {
	const record = await run([], { argv: [name] });
	expect(record.state).toBe("not-started");
	expect(record.problem).not.toBe("");
});

it("bounds log and lines under a flood", async () => {
	const logPath = join(folder, "flood.log");
	const lines: number[] = [];
	const bounds = { logCapBytes: 1024 * 1024, tailLines: 5 };
	const onLine = (line: string) => lines.push(line.length);
	const record = await run([program("flooder"), "24"], { logPath, ...bounds, onLine });
	expect(record).toMatchObject(well);
	expect(record.tail).toHaveLength(5);
	expect(record.tail.at(-1)).toBe("flood over");
	expect(lines).toHaveLength(24 * 1024 + 1);
	expect(statSync(logPath).size).toBeLessThan(1024 * 1024 + 100);
	expect(readFileSync(logPath, "latin1")).toMatch(/the log was cut here, after 1048576 bytes\]\n$/);
});

it("cuts a flood without a newline into lines of sane length", async () => {
	let longest = 0;
	const onLine = (line: string) => {
		longest = Math.max(longest, line.length);
	};
	await run([program("flooder"), "4", "one-line"], { onLine });
	expect(longest).toBe(4_000);
});

it("keeps noise out of log and tail, and passes on all lines", async () => {
	const logPath = join(folder, "noise.log");
	const seen: string[] = [];
	const record = await script('console.log("noise 1\\nkept 1\\nnoise 2"); console.error("noise 3")', {
		logPath,
		isNoise: (line, stream) => stream === "out" && line.startsWith("noise"),
		onLine: (line, noise) => seen.push(`${noise ? "noise" : "kept"}: ${line}`),
	});
	expect(seen.toSorted()).toEqual(["kept: kept 1", "kept: noise 3", "noise: noise 1", "noise: noise 2"]);
	expect(record.tail.toSorted()).toEqual(["kept 1", "noise 3"]);
	expect(readFileSync(logPath, "utf8").trim().split("\n").toSorted()).toEqual(["kept 1", "noise 3"]);
});

it("refuses a log that cannot be written, and reports that the disk is full", async () => {
	await expectFault(script("0", { logPath: join(node, "x.log") }), "output-unwritable");
	const flooded = script("console.log('x'.repeat(100000))", { logPath: "/dev/full" });
	await expectFault(flooded, "disk-full", /^No space left for \/dev\/full \(ENOSPC\)\.$/);
});
