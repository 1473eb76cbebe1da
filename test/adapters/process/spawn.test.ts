import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type ProcessOptions, runProcess } from "../../../src/adapters/process/spawn.ts";
import { until } from "../../support/until.ts";

const node = process.execPath;
const run = (options: Omit<ProcessOptions, "timeoutMs"> & { timeoutMs?: number }) =>
	runProcess({ timeoutMs: 600_000, ...options });
const folder = mkdtempSync(join(tmpdir(), "trtgate-spawn-"));
const program = (name: string): string => join(import.meta.dirname, "../../support/programs", `${name}.mjs`);
afterAll(() => rmSync(folder, { recursive: true }));

function alive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
	} catch {
		return false;
	}
}

async function gone(pid: number): Promise<boolean> {
	await until(() => !alive(pid));
	return true;
}

it("runProcess passes arguments without a shell and keeps the child's output", async () => {
	const logPath = join(folder, "deep", "echo.log");
	const script = "console.log(process.argv[1]); console.error('two'); process.exit(3)";
	const record = await run({
		argv: [node, "-e", script, "$HOME `id` ; 'x'"],
		logPath,
		captureBytes: 100,
	});
	expect(record).toMatchObject({ state: "exited", exitCode: 3, signal: null, problem: "", logPath });
	expect([...record.tail].sort()).toEqual(["$HOME `id` ; 'x'", "two"]);
	expect(record.stdout).toBe("$HOME `id` ; 'x'\n");
	expect(readFileSync(logPath, "utf8")).toContain("two\n");
	expect(record.wallMs).toBeGreaterThan(5);
});

it("runProcess gives the child its input, folder and environment", async () => {
	const script =
		"process.stdin.pipe(process.stdout); console.log(process.cwd(), process.env.ONLY, process.env.HOME)";
	const record = await run({
		argv: [node, "-e", script],
		stdin: "hello\n",
		cwd: "/",
		env: { ONLY: "this" },
	});
	expect([...record.tail].sort()).toEqual(["/ this undefined", "hello"]);
});

it("runProcess hands over its pipes, and logs only errors", async () => {
	const logPath = join(folder, "talk.log");
	const script =
		"process.stdin.on('data', (x) => process.stdout.write(x + '?')).on('end', () => console.error('bye'))";
	let heard = "";
	const record = await run({
		argv: [node, "-e", script],
		logPath,
		captureBytes: 100,
		talk({ input, output }) {
			input.write("one");
			output.on("data", (chunk) => {
				heard += String(chunk);
				if (heard.endsWith("one?")) input.end("two");
			});
		},
	});
	expect(heard).toBe("one?two?");
	expect(record).toMatchObject({ state: "exited", exitCode: 0, tail: ["bye"], stdout: "" });
	expect(readFileSync(logPath, "utf8")).toBe("bye\n");
});

it("runProcess outlives a conversation in which the child hangs up", async () => {
	const record = await run({
		argv: [node, "-e", "process.exit(4)"],
		talk: ({ input }) => void input.write(new Uint8Array(1_000_000)),
	});
	expect(record).toMatchObject({ state: "exited", exitCode: 4 });
});

it("runProcess kills a child at its timeout", async () => {
	const record = await run({ argv: [node, program("sleeper")], timeoutMs: 3_000 });
	expect(record).toMatchObject({ state: "timed-out", signal: "SIGTERM", tail: ["asleep"] });
});

it("runProcess kills a child that ignores SIGTERM once the grace is over", async () => {
	const record = await run({
		argv: [node, program("sleeper"), "deaf"],
		timeoutMs: 3_000,
		graceMs: 200,
	});
	expect(record).toMatchObject({ state: "timed-out", signal: "SIGKILL" });
});

it("runProcess ends the whole group: no grandchild outlives a timeout", async () => {
	const record = await run({ argv: [node, program("forker")], timeoutMs: 3_000 });
	expect(record.state).toBe("timed-out");
	expect(await gone(Number(record.tail[0]))).toBe(true);
});

it("runProcess does not wait for a grandchild that holds the pipes", async () => {
	const record = await run({ argv: [node, program("forker"), "leave"] });
	expect(record).toMatchObject({ state: "exited", exitCode: 0 });
	expect(await gone(Number(record.tail[0]))).toBe(true);
});

it("runProcess stops at an abort, and starts nothing after one", async () => {
	const stop = new AbortController();
	const running = run({
		argv: [node, program("sleeper")],
		signal: stop.signal,
		onLine: () => stop.abort(),
	});
	expect((await running).state).toBe("aborted");
	const never = await run({
		argv: [node, program("sleeper")],
		signal: stop.signal,
	});
	expect(never).toMatchObject({ state: "aborted", problem: "interrupted before the start" });
});

it.each([
	["a program that is not there", ["/no/such/program"] as const],
	["a name with a zero byte", ["no\0de"] as const],
])("runProcess reports that %s did not start", async (_what, argv) => {
	const record = await run({ argv: [argv[0]], timeoutMs: 1_000 });
	expect(record.state).toBe("not-started");
	expect(record.problem).not.toBe("");
});

it("runProcess bounds log and lines under a flood", async () => {
	const logPath = join(folder, "flood.log");
	const lines: number[] = [];
	const record = await run({
		argv: [node, program("flooder"), "24"],
		logPath,
		logCapBytes: 1024 * 1024,
		tailLines: 5,
		onLine: (line) => lines.push(line.length),
	});
	expect(record).toMatchObject({ state: "exited", exitCode: 0 });
	expect(record.tail).toHaveLength(5);
	expect(record.tail.at(-1)).toBe("flood over");
	expect(lines).toHaveLength(24 * 1024 + 1);
	expect(statSync(logPath).size).toBeLessThan(1024 * 1024 + 100);
	expect(readFileSync(logPath, "latin1")).toMatch(/the log was cut here, after 1048576 bytes\]\n$/);
});

it("runProcess cuts a flood without a newline into lines of sane length", async () => {
	let longest = 0;
	await run({
		argv: [node, program("flooder"), "4", "one-line"],
		onLine: (line) => {
			longest = Math.max(longest, line.length);
		},
	});
	expect(longest).toBe(4_000);
});

it("runProcess keeps noise out of log and tail, and passes on all lines", async () => {
	const logPath = join(folder, "noise.log");
	const seen: string[] = [];
	const record = await run({
		argv: [node, "-e", 'console.log("noise 1\\nkept 1\\nnoise 2"); console.error("noise 3")'],
		logPath,
		isNoise: (line, stream) => stream === "out" && line.startsWith("noise"),
		onLine: (line, noise) => seen.push(`${noise ? "noise" : "kept"}: ${line}`),
	});
	expect(seen.toSorted()).toEqual(["kept: kept 1", "kept: noise 3", "noise: noise 1", "noise: noise 2"]);
	expect(record.tail.toSorted()).toEqual(["kept 1", "noise 3"]);
	expect(readFileSync(logPath, "utf8").trim().split("\n").toSorted()).toEqual(["kept 1", "noise 3"]);
});

it("runProcess refuses a log that cannot be written before the child starts", async () => {
	const refused = run({ argv: [node, "-e", "0"], timeoutMs: 1_000, logPath: join(node, "x.log") });
	await expect(refused).rejects.toMatchObject({ code: "output-unwritable" });
});

it("runProcess reports that the disk is full if the log no longer fits", async () => {
	const refused = run({
		argv: [node, "-e", "console.log('x'.repeat(100000))"],
		logPath: "/dev/full",
	});
	await expect(refused).rejects.toMatchObject({
		code: "disk-full",
		message: "No space left for /dev/full (ENOSPC).",
	});
});

it("runProcess does not mind a child that never reads a long input", async () => {
	const record = await run({
		argv: [node, "-e", "0"],
		stdin: "x".repeat(1_000_000),
	});
	expect(record).toMatchObject({ state: "exited", exitCode: 0 });
});
