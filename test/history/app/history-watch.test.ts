import { expect, it } from "vitest";
import { isOfMain } from "../../../src/history/app/history-watch.ts";

it.each([
	[undefined, true],
	[{ kind: "schedule", ref: "main", sha: "", defaultBranch: "main" }, true],
	[{ kind: "dispatch", ref: "main", sha: "" }, true],
	[{ kind: "dispatch", ref: "feature", sha: "", defaultBranch: "main" }, false],
	[{ kind: "push", ref: "main", before: null, after: "", isForced: false, defaultBranch: "main" }, true],
	[{ kind: "push", ref: "feature", before: null, after: "", isForced: false, defaultBranch: "main" }, false],
	[{ kind: "tag", tag: "v1", sha: "" }, false],
	[{ kind: "merge-group", headSha: "", baseSha: "", baseRef: "main" }, false],
] as const)("a run of %j is one of the main branch: %s", (event, isIt) => {
	expect(isOfMain(event)).toBe(isIt);
});
