import { spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { outputOf } from "../support/child-output.ts";
import {
	type AtEnd,
	distWithFaultyWorker,
	quickConfig,
	readResult,
	runCli,
	twoProjects,
} from "../support/project.ts";

const arms = (files: Record<string, string> = {}, atEnd?: AtEnd): string =>
	twoProjects(files, { "model.onnx": "fixture:reexported.onnx", ...files }, atEnd);

const argv = ["run", "--base", "base", "--head", "head", "--out", "out"];

it("a machine whose memory does not hold the runtime is the runner's fault: exit 3", async () => {
	const cwd = arms();
	const program = [
		"-c",
		'ulimit -v 1500000; exec "$@"',
		"sh",
		process.execPath,
		resolve("dist/cli.js"),
		...argv,
	];
	const env = {
		PATH: process.env["PATH"] ?? "",
		HOME: cwd,
		XDG_CACHE_HOME: join(cwd, ".cache"),
		NO_COLOR: "1",
	};
	const run = await outputOf(spawn("sh", program, { cwd, env, stdio: ["ignore", "pipe", "pipe"] }));
	expect(run.exit, run.stdout + run.stderr).toBe(3);
	const result = readResult(join(cwd, "out"));
	expect(result).toMatchObject({ outcome: "error", failureKind: "runner" });
	// By its version, Node refuses the memory or ends itself.
	expect(result.builds).not.toEqual([]);
	for (const { failure } of result.builds)
		expect(["ort-not-started", "tool-crashed"]).toContain(failure?.code);
	expect(run.stdout).not.toContain("refused");
});

const outOfMemory = 'write(JSON.stringify({ kind: "failed", message: "std::bad_alloc" })); process.exit(1);';
/** Longer than what a build takes on a loaded machine. */
const generous = "10s";
const forEver = "await new Promise((end) => setTimeout(end, 600_000));";
const onHead = (misbehave: string): string =>
	`if (job.modelPath.includes("/head/")) { ${misbehave} } else await import("./worker-real.js");`;

/** ONNX Runtime's message below a limit on the address space. */
const notStarted =
	'write(JSON.stringify({ kind: "failed", message: "no available backend found. ERR: [wasm] RangeError: WebAssembly.Memory(): could not allocate memory" })); process.exit(1);';

describe.concurrent("a build", () => {
	it.for<[string, string, string, number, object]>([
		[
			"cannot start the runtime in the head",
			onHead(notStarted),
			generous,
			3,
			{ outcome: "error", failureKind: "runner" },
		],
		[
			"runs out of memory on both sides",
			outOfMemory,
			generous,
			3,
			{ outcome: "error", failureKind: "runner" },
		],
		["runs out of memory only in the head", onHead(outOfMemory), generous, 1, { outcome: "fail" }],
		["takes too long on both sides", forEver, "1s", 3, { outcome: "error", failureKind: "runner" }],
		["takes too long only in the head", onHead(forEver), generous, 1, { outcome: "fail" }],
	])("a build that %s", async ([_, misbehave, limit, exit, outcome], { expect, onTestFinished }) => {
		const cwd = arms(
			{ "trtgate.yml": quickConfig.replace("threads: 1", `threads: 1, build-timeout: ${limit}`) },
			onTestFinished,
		);
		const run = await runCli(argv, { cwd, dist: distWithFaultyWorker("build", misbehave, onTestFinished) });
		expect(run.exit, run.stdout + run.stderr).toBe(exit);
		expect(readResult(join(cwd, "out"))).toMatchObject(outcome);
	});
});
