import fc from "fast-check";
import { expect, it } from "vitest";
import {
	cachePrefix,
	cacheWriteRefusal,
	isUntrustedRun,
	type RunEvent,
} from "../../../../src/host/formats/github/event.ts";
import { artifactName, otherNames, slug } from "../../../../src/host/formats/github/names.ts";

it.each([
	["trtgate.yml", "gate", "trtgate-gate"],
	["vision/trtgate.yml", "l4", "trtgate-vision-trtgate-l4"],
	["gates.yaml", "H200 · fp16", "trtgate-gates-H200-fp16"],
	["trtgate.yml", '"../../etc|<>*?:\r\n', "trtgate-etc"],
	["trtgate.yml", "日本", "trtgate"],
])("artifactName of %s and %s is %s", (config, job, name) =>
	expect(artifactName("trtgate", { config, job })).toBe(name),
);

it("artifactName is one that GitHub takes, whatever users write", () => {
	const text = fc.string({ unit: "binary" });
	fc.assert(
		fc.property(text, text, (config, job) => {
			expect(artifactName("trtgate", { config, job })).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]*$/);
			expect(slug(job)).toMatch(/^[A-Za-z0-9._-]{0,100}$/);
		}),
	);
});

it("otherNames keep the ending", () => {
	expect(otherNames("trtgate-gate", 2).slice(0, 3)).toEqual([
		"trtgate-gate",
		"trtgate-gate-attempt2",
		"trtgate-gate-attempt2-2",
	]);
	expect(otherNames("report-gate.html", 1)[1]).toBe("report-gate-attempt1.html");
});

const machine = { os: "linux", arch: "x64", gpu: "NVIDIA H200", driverBranch: "580", tensorrt: "10.15.1" };

it("cachePrefix holds all that must be the same", () => {
	expect(cachePrefix("timing", { ...machine, mig: "Disabled" })).toBe(
		"trtgate-timing-v1-linux-x64-NVIDIA-H200-580-10.15.1-",
	);
	expect(cachePrefix("engines", { ...machine, mig: "1g.18gb" })).toBe(
		"trtgate-engines-v1-linux-x64-NVIDIA-H200-1g.18gb-580-10.15.1-",
	);
	expect(cachePrefix("timing", { ...machine, gpu: `a,b${"c".repeat(2000)}` })).toMatch(/^[\w.-]{1,401}$/);
});

it.each(["os", "gpu", "driverBranch", "tensorrt"])("cachePrefix is none if the %s is not known", (name) => {
	expect(cachePrefix("timing", { ...machine, [name]: "" })).toBeNull();
});

const event = (more: Partial<Extract<RunEvent, { kind: "pull-request" }>>): RunEvent => ({
	kind: "pull-request",
	number: 1,
	headSha: "a".repeat(40),
	baseRef: "main",
	baseSha: "b".repeat(40),
	isFork: false,
	...more,
});
const queued: RunEvent = { kind: "merge-group", headSha: "", baseSha: "", baseRef: "main" };
const caused: RunEvent = { kind: "workflow-run", runId: 1, headSha: "" };

it.each<[string, RunEvent, string, string | undefined, boolean]>([
	["a push", { kind: "push", ref: "main", before: null, after: "", isForced: false }, "push", "write", true],
	["a night", { kind: "schedule", ref: "main", sha: "" }, "schedule", undefined, true],
	["a pull request of the repository", event({}), "pull_request", "write", true],
	["a merge group", queued, "merge_group", undefined, true],
	["a fork's pull request", event({ isFork: true }), "pull_request", "write", false],
	["a fork under pull_request_target", event({ isFork: true }), "pull_request_target", "write", false],
	["any pull_request_target", event({}), "pull_request_target", "write", false],
	["a run that another caused", caused, "workflow_run", "write", false],
	["a comment", { kind: "other", name: "issue_comment", sha: "" }, "issue_comment", "write", false],
	["an event that we do not know", { kind: "other", name: "", sha: "" }, "new_event", "write", false],
	["a token that only reads", event({}), "pull_request", "read", false],
	["a token that may do nothing", event({}), "pull_request", "none", false],
])("the cache is written by %s: as it should be", (_, run, eventName, cacheMode, may) => {
	expect(cacheWriteRefusal(run, { eventName, cacheMode }) === null).toBe(may);
});

it("the machine's cache is separate from that of runs by outsiders", () => {
	expect(isUntrustedRun(event({ isFork: true }), "pull_request")).toBe(true);
	expect(isUntrustedRun(event({}), "pull_request")).toBe(false);
	expect(isUntrustedRun(caused, "workflow_run")).toBe(true);
});
