import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import {
	commandEnvironment,
	quickProject,
	readResult,
	temporaryFolder,
	untimed,
} from "../support/project.ts";

type Sink = "kept" | "/dev/full" | "closed pipe";
interface Sinks {
	stdout?: Sink;
	stderr?: Sink;
}

async function runInto(
	argv: readonly string[],
	cwd: string,
	{ stdout = "kept", stderr = "kept", entryPoint = "cli.js" }: Sinks & { entryPoint?: string },
) {
	const full = openSync("/dev/full", "w");
	const stdio: StdioOptions = [
		"ignore",
		stdout === "/dev/full" ? full : "pipe",
		stderr === "/dev/full" ? full : "pipe",
	];
	const env = commandEnvironment({ cwd, env: { XDG_CACHE_HOME: join(cwd, ".cache") } });
	const child = spawn(process.execPath, [resolve("dist", entryPoint), ...argv], { cwd, env, stdio });
	closeSync(full);
	if (stdout === "closed pipe") child.stdout?.destroy();
	if (stderr === "closed pipe") child.stderr?.destroy();
	let said = "";
	child.stdout?.resume();
	child.stderr?.setEncoding("utf8").on("data", (text) => (said += text));
	const exit = await new Promise<number | null>((done) => child.on("close", done));
	return { exit, said };
}

const log =
	"[01/01/2026-00:00:00] [E] [TRT] Error Code 2: OutOfMemory\n&&&& FAILED TensorRT.trtexec [TensorRT v100600]\n";
const pairs = JSON.stringify({
	pairs: Array.from({ length: 5 }, (_, turn) => ({ base: 1 + turn / 1000, head: 1 + turn / 1000 })),
});

function project(): string {
	return quickProject(temporaryFolder(), {
		"trtgate.yml": untimed(),
		"pairs.json": pairs,
		"log.txt": log,
		"bad.onnx": "fixture:unsupported-op.onnx",
	});
}

const reports: [string, number][] = [
	["verdict pairs.json", 0],
	["preflight model.onnx", 0],
	["preflight bad.onnx --tensorrt 10.6 --json", 1],
	["diagnose log.txt", 0],
	["golden inspect golden/golden.json", 0],
	["golden check golden/golden.json --outputs golden", 1],
	["run --dry-run", 0],
	["doctor --json", 0],
	["--help", 0],
];

describe.each<Sink>(["/dev/full", "closed pipe"])("a stdout that is %s", (stdout) => {
	// Each of them writes to the same stream in the same way, so some will do for the second sink.
	it.each(stdout === "/dev/full" ? reports : reports.slice(0, 3))(
		"a lost stdout loses the report of `%s`, which is nowhere else: never green",
		async (command, kept) => {
			const { exit, said } = await runInto(command.split(" "), project(), { stdout });
			expect(exit, said).toBe(kept === 0 ? 3 : kept);
			if (kept === 0) expect(said).toMatch(/^runner: .*\((ENOSPC|EPIPE)\).*\[output-lost\]/m);
		},
	);

	it("a lost stdout does not change the outcome of a gate, whose report is in files", async () => {
		const cwd = project();
		const lost = { stdout, stderr: stdout };
		const { exit, said } = await runInto(["run", "--out", "out"], cwd, lost);
		expect(exit, said).toBe(0);
		expect(readResult(join(cwd, "out")).outcome).toBe("pass");
		expect((await runInto([], cwd, { ...lost, entryPoint: "main.js" })).exit).toBe(0);
		expect((await runInto(["report", "out", "--json"], cwd, lost)).exit).toBe(0);
		expect((await runInto(["run", "--config", "nowhere.yml"], cwd, lost)).exit).toBe(2);
	});
});

it("a lost stderr loses no result", async () => {
	const cwd = project();
	for (const stderr of ["/dev/full", "closed pipe"] as const)
		for (const [command, kept] of reports.slice(0, 3))
			expect((await runInto(command.split(" "), cwd, { stderr })).exit, command).toBe(kept);
});
