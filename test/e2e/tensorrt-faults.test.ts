// Builds by a trtexec that fails, lies or misbehaves, through the built bundle: recorded failures and scripted ones.
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { gateReplay } from "../support/replay/gate.ts";
import type { ReplayFault } from "../support/replay/install.ts";

const gate = (fault: ReplayFault, config: readonly (readonly [string, string])[] = [], version = "100600") =>
	gateReplay({ comparison: "slower-head", faults: [fault], version }, { config });

/** The base still builds within it on a loaded machine. */
const impatient = [["build-timeout: 5m", "build-timeout: 4s"]] as const;

/** Recorded builds that failed: the verdict on the model (exit 1) or the machine's fault (exit 3). */
const recordedBuilds: readonly (readonly [recording: string, code: string, exit: 1 | 3])[] = [
	["10.6/fail-bad-custom-op", "plugin-not-found", 1],
	["10.6/fail-bad-io-format", "io-format-invalid", 1],
	["10.6/fail-bad-missing-tensor", "tensor-missing", 1],
	["10.6/fail-bad-not-onnx", "onnx-unreadable", 1],
	["10.6/fail-bad-shape-mismatch", "node-shapes-conflict", 1],
	["10.6/fail-bad-truncated", "onnx-unreadable", 1],
	["10.6/fail-bad-unsupported-op", "operator-unsupported", 1],
	["10.6/fail-device-index", "device-index-unknown", 3],
	["10.6/fail-gpu-memory-build", "gpu-memory-build", 3],
	["10.6/fail-negative-workspace", "flag-value-invalid", 1],
	["10.6/fail-no-gpu", "no-gpu", 3],
	["10.6/fail-no-parser-library", "parser-library-missing", 3],
	["10.6/fail-no-such-model", "onnx-file-missing", 1],
	["10.6/fail-save-no-folder", "save-failed", 3],
	["10.6/fail-shape-out-of-order", "profile-order", 1],
	["10.6/fail-shape-static-input", "shape-on-static-model", 1],
	["10.6/fail-shape-unknown-input", "shape-name-unknown", 1],
	["10.6/fail-shape-wrong-channels", "profile-axis-mismatch", 1],
	["10.6/fail-unknown-flag", "flag-unknown", 1],
	["10.6/fail-workspace-tiny", "workspace-too-small", 1],
	["10.6/fail-terminated-build", "terminated", 3],
	["10.6/fail-interrupted-build", "interrupted", 3],
	["10.6/fail-empty-value", "onnx-path-empty", 1],
	["10.6/build-classifier-version-compatible", "lean-runtime-missing", 3],
	// These three said PASSED.
	["10.6/build-classifier-no-shapes", "shape-assumed", 1],
	["10.6/build-classifier-strongly-typed-with-fp16", "precision-ignored", 1],
	["10.6/fail-bad-future-opset", "opset-unknown", 1],
	["10.15/build-classifier-fp32", "builder-resource-missing", 3],
	["10.15/fail-bad-missing-weights", "external-weights-missing", 1],
	["10.15/fail-plugin-missing-file", "plugin-library-missing", 1],
	["11.2/build-classifier-fp32", "kernel-library-invalid", 3],
];

/** What `--help` names when the gate begins: the version of the recording. */
const banners: Readonly<Record<string, string>> = { "10.6": "100600", "10.15": "101501", "11.2": "110100" };

describe("a recorded build that failed", () => {
	it.each(recordedBuilds)("%s is reported as %s and ends with exit code %i", async (recording, code, exit) => {
		const version = recording.split("/", 1)[0] ?? "";
		const config = version === "11.2" ? ([["precision: fp16", "precision: fp32"]] as const) : [];
		const { run, result } = await gate({ step: "build", arm: "head", do: "recording", recording }, config, banners[version]);
		const head = result.builds.find((build) => build.arm === "head");
		expect(head?.failure?.code, run.stdout).toBe(code);
		expect(head?.state).toBe("refused");
		expect(head?.failure?.fix).toMatch(/\S/);
		expect(run.exit).toBe(exit);
		expect(result.failureKind).toBe(exit === 3 ? "runner" : undefined);
		expect(result.builds.find((build) => build.arm === "base")?.state).toBe("built");
		expect(run.stdout).toContain(head?.failure?.title.slice(0, 20));
	});
});

interface BuildRow {
	what: string;
	fault: Omit<ReplayFault, "step">;
	code: string;
	exit: 1 | 3;
	state?: "refused" | "timed-out";
}

const builds: BuildRow[] = [
	{ what: "leaves a plan of 0 bytes and says PASSED", fault: { do: "zero-plan" }, code: "plan-empty", exit: 3 },
	{ what: "leaves no plan and says PASSED", fault: { do: "no-plan" }, code: "plan-missing", exit: 3 },
	{ what: "hangs in silence", fault: { do: "hang" }, code: "timed-out", exit: 1, state: "timed-out" },
	{ what: "hangs and takes no SIGTERM", fault: { do: "hang-deaf" }, code: "timed-out", exit: 1, state: "timed-out" },
	{ what: "is killed without a word", fault: { do: "kill", signal: "SIGKILL" }, code: "killed", exit: 3 },
	{ what: "dies of SIGSEGV without a word", fault: { do: "kill", signal: "SIGSEGV" }, code: "crashed", exit: 3 },
	{ what: "dies of SIGABRT without a word", fault: { do: "kill", signal: "SIGABRT" }, code: "crashed", exit: 3 },
	{ what: "is another version than at the start", fault: { do: "other-version" }, code: "version-changed", exit: 3 },
	{ what: "prints bytes that are no text and fails", fault: { do: "invalid-utf8" }, code: "unknown", exit: 3 },
	{ what: "ends at once with exit code 0", fault: { do: "silent" }, code: "plan-missing", exit: 3 },
	{ what: "floods its log with 200 MB", fault: { do: "flood", bytes: 200e6 }, code: "unknown", exit: 3 },
];

describe("a build that", () => {
	it.each(builds)("$what is no engine", async ({ fault, code, exit, state }) => {
		const { run, result, folder } = await gate({ step: "build", arm: "head", ...fault }, fault.do.startsWith("hang") ? impatient : []);
		const head = result.builds.find((build) => build.arm === "head");
		expect([head?.failure?.code, head?.state], run.stdout + run.stderr).toEqual([code, state ?? "refused"]);
		expect(run.exit, run.stdout).toBe(exit);
		expect(result.errors.length > 0, "the runner's fault").toBe(exit === 3);
		if (state === "timed-out")
			expect(head?.failure?.title).toMatch(/within its limit of 4.0 s \(measure\.build-timeout\) and was stopped\.$/);
		expect(statSync(head?.log ?? join(folder, "none")).size).toBeLessThan(70e6);
	});
});
