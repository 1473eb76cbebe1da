// Builds by a trtexec that fails, lies or misbehaves: recorded failures and scripted ones.
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bed } from "../../support/replay/bed.ts";
import type { ReplayFault } from "../../support/replay/install.ts";

/** Some of each kind; what every recorded run is called, test/formats/trtexec/diagnose.test.ts shows. */
const recordedBuilds: readonly (readonly [recording: string, code: string, kind: "refusal" | "runner"])[] = [
	["10.6/fail-shape-wrong-channels", "profile-axis-mismatch", "refusal"],
	["10.6/fail-gpu-memory-build", "gpu-memory-build", "runner"],
	["10.6/fail-interrupted-build", "interrupted", "runner"],
	// These two said PASSED.
	["10.6/build-classifier-no-shapes", "shape-assumed", "refusal"],
	["10.6/fail-bad-future-opset", "opset-unknown", "refusal"],
	["10.15/build-classifier-fp32", "builder-resource-missing", "runner"],
	["11.2/build-classifier-fp32", "kernel-library-invalid", "runner"],
];

const buildBy = (fault: Omit<ReplayFault, "step">) => ({
	...{ comparison: "slower-head" as const, faults: [{ step: "build" as const, ...fault }] },
});

/** trtexec's version in the recording. */
const versions: Readonly<Record<string, string>> = { "10.6": "10.6.0", "10.15": "10.15.1", "11.2": "11.1.0" };

it.each(recordedBuilds)(
	"a recorded build that failed %s is refused as %s, a %s",
	async (recording, code, kind) => {
		const version = recording.split("/", 1)[0] ?? "";
		const replay = buildBy({ do: "recording", recording });
		const { backend, job } = bed({ version: versions[version] ?? "", replay });
		const change = version === "11.2" ? { config: ["precision: fp16", "precision: fp32"] as const } : {};
		const failure = { code, kind, fix: expect.stringMatching(/\S/) };
		expect(await backend.build(await job(change))).toMatchObject({ state: "refused", failure });
	},
);

const builds: [what: string, fault: Omit<ReplayFault, "step">, code: string, kind: string, state?: string][] =
	[
		["leaves a plan of 0 bytes and says PASSED", { do: "zero-plan" }, "plan-missing", "runner"],
		["leaves no plan and says PASSED", { do: "no-plan" }, "plan-missing", "runner"],
		["hangs in silence", { do: "hang" }, "timed-out", "runner", "timed-out"],
		["hangs and takes no SIGTERM", { do: "hang-deaf" }, "timed-out", "runner", "timed-out"],
		["is killed without a word", { do: "kill", signal: "SIGKILL" }, "killed", "runner"],
		["dies of SIGSEGV without a word", { do: "kill", signal: "SIGSEGV" }, "crashed", "runner"],
		["dies of SIGABRT without a word", { do: "kill", signal: "SIGABRT" }, "crashed", "runner"],
		["is another version than at the start", { do: "other-version" }, "version-changed", "runner"],
		["prints bytes that are no text and fails", { do: "invalid-utf8" }, "unknown", "runner"],
		["ends at once with exit code 0", { do: "silent" }, "plan-missing", "runner"],
		["floods its log with 200 MB", { do: "flood", bytes: 200e6 }, "unknown", "runner"],
	];

it.each(builds)(
	"a build that %s does not count as an engine",
	async (_what, fault, code, kind, state = "refused") => {
		const { backend, job, folder } = bed({ replay: buildBy(fault) });
		const asked = await job();
		const timeoutMs = state === "timed-out" ? 1000 : asked.timeoutMs;
		const record = await backend.build({ ...asked, timeoutMs });
		expect(record).toMatchObject({ state, failure: { code, kind } });
		expect(statSync(record.log ?? join(folder, "none")).size).toBeLessThan(70e6);
	},
);
