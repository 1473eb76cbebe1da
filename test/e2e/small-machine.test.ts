import { describe, expect, it } from "vitest";
import {
	type AtEnd,
	distWithFaultyWorker,
	expectExit,
	gateFolders,
	quickConfig,
	twoProjects,
} from "../support/project.ts";

const arms = (files: Record<string, string> = {}, atEnd?: AtEnd): string =>
	twoProjects(files, { "model.onnx": "fixture:reexported.onnx", ...files }, atEnd);

/** No more address space than the process has, and a little: the rest of the gate runs without a limit. */
const fullMachine = `const { execFileSync } = await import("node:child_process");
const taken = Number(/VmSize:\\s*(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
execFileSync("prlimit", ["--pid", String(process.pid), "--as=" + (taken + 16_384) * 1024]);
await import("./worker-real.js");`;

it("a machine whose memory does not hold the runtime is the runner's fault: exit 3", async ({
	onTestFinished,
}) => {
	const dist = distWithFaultyWorker("build", fullMachine, onTestFinished);
	const { run, result } = await gateFolders(arms({}, onTestFinished), { dist });
	expectExit(run, 3);
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
	const runnersFault = [3, { outcome: "error", failureKind: "runner" }] as const;
	const failure = [1, { outcome: "fail" }] as const;
	it.for([
		["cannot start the runtime in the head", onHead(notStarted), generous, ...runnersFault],
		["runs out of memory on both sides", outOfMemory, generous, ...runnersFault],
		["runs out of memory only in the head", onHead(outOfMemory), generous, ...failure],
		["takes too long on both sides", forEver, "1s", ...runnersFault],
		["takes too long only in the head", onHead(forEver), generous, ...failure],
	] as const)("a build that %s", async ([_, misbehave, limit, exit, outcome], { expect, onTestFinished }) => {
		const cwd = arms(
			{ "trtgate.yml": quickConfig.replace("threads: 1", `threads: 1, build-timeout: ${limit}`) },
			onTestFinished,
		);
		const dist = distWithFaultyWorker("build", misbehave, onTestFinished);
		const { run, result } = await gateFolders(cwd, { dist });
		expectExit(run, exit);
		expect(result).toMatchObject(outcome);
	});
});
