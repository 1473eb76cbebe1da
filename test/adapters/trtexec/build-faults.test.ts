import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bed, recorded } from "../../support/replay/bed.ts";
import type { ReplayFault } from "../../support/replay/install.ts";

type Fault = Omit<ReplayFault, "step">;
const builds: [what: string, fault: Fault, code: string, kind: string, state?: string][] = [
	["is refused", recorded("build", "fail-shape-wrong-channels"), "profile-axis-mismatch", "refusal"],
	["finds no GPU memory", recorded("build", "fail-gpu-memory-build"), "gpu-memory-build", "runner"],
	[
		"says PASSED of an assumed shape",
		recorded("build", "build-classifier-no-shapes"),
		"shape-assumed",
		"refusal",
	],
	["leaves a plan of 0 bytes and says PASSED", { do: "zero-plan" }, "plan-missing", "runner"],
	["leaves no plan and says PASSED", { do: "no-plan" }, "plan-missing", "runner"],
	["hangs in silence", { do: "hang" }, "timed-out", "runner", "timed-out"],
	["hangs and takes no SIGTERM", { do: "hang-deaf" }, "timed-out", "runner", "timed-out"],
	["is killed without a word", { do: "kill", signal: "SIGKILL" }, "killed", "runner"],
	["dies of SIGSEGV without a word", { do: "kill", signal: "SIGSEGV" }, "crashed", "runner"],
	["is another version than at the start", { do: "other-version" }, "version-changed", "runner"],
	["prints bytes that are no text and fails", { do: "invalid-utf8" }, "unknown", "runner"],
	["ends at once with exit code 0", { do: "silent" }, "plan-missing", "runner"],
	["floods its log with 200 MB", { do: "flood", bytes: 200e6 }, "unknown", "runner"],
];

it.each(builds)(
	"a build that %s does not count as an engine",
	async (_what, fault, code, kind, state = "refused") => {
		const faults = [{ step: "build", ...fault } as const];
		const { backend, job, folder } = bed({ comparison: "slower-head", faults });
		const asked = await job();
		const timeoutMs = state === "timed-out" ? 1000 : asked.timeoutMs;
		const record = await backend.build({ ...asked, timeoutMs });
		expect(record).toMatchObject({ state, failure: { code, kind, fix: expect.stringMatching(/\S/) } });
		expect(statSync(record.log ?? join(folder, "none")).size).toBeLessThan(70e6);
	},
);
