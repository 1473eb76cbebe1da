import { expect, it } from "vitest";
import { readPipeline } from "../../../../src/host/formats/gitlab/pipeline.ts";

const [sha, source, base] = ["a", "b", "c"].map((letter) => letter.repeat(40));
const job = { GITLAB_CI: "true", CI_COMMIT_SHA: sha, CI_DEFAULT_BRANCH: "main", CI_PIPELINE_ID: "12" };
const request = {
	CI_PIPELINE_SOURCE: "merge_request_event",
	CI_MERGE_REQUEST_IID: "7",
	CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
	CI_MERGE_REQUEST_DIFF_BASE_SHA: base,
	CI_MERGE_REQUEST_PROJECT_ID: "3",
	CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "3",
};
const pull = { kind: "pull-request", number: 7, headSha: sha, baseRef: "main", baseSha: base, isFork: false };
const push = { CI_PIPELINE_SOURCE: "push", CI_COMMIT_BRANCH: "main" };

it.each([
	["a merge request", request, pull],
	["a fork", { ...request, CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "4" }, { ...pull, isFork: true }],
	[
		"merged results",
		{ ...request, CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: source },
		{ ...pull, headSha: source, mergeSha: sha },
	],
	[
		"no base",
		{ ...request, CI_MERGE_REQUEST_DIFF_BASE_SHA: "-x" },
		{ kind: "other", name: "pull_request", sha },
	],
	[
		"a push",
		{ ...push, CI_COMMIT_BEFORE_SHA: base },
		{ kind: "push", ref: "main", before: base, after: sha },
	],
	["a new branch", { ...push, CI_COMMIT_BEFORE_SHA: "0".repeat(40) }, { kind: "push", before: null }],
	["a tag", { CI_PIPELINE_SOURCE: "push", CI_COMMIT_TAG: "v1" }, { kind: "tag", tag: "v1", sha }],
	[
		"a schedule",
		{ CI_PIPELINE_SOURCE: "schedule", CI_COMMIT_BRANCH: "main" },
		{ kind: "schedule", ref: "main" },
	],
	["a run by hand", { CI_PIPELINE_SOURCE: "web", CI_COMMIT_BRANCH: "x" }, { kind: "dispatch", ref: "x" }],
])("GitLab's variables of %s name the event", (_, variables, event) => {
	expect(readPipeline({ ...job, ...variables })?.event).toMatchObject(event);
});

it("outside of GitLab there is no pipeline", () => expect(readPipeline({})).toBeNull());
