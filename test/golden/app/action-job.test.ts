// Which runs may change goldens, and which inputs the golden action refuses.
import { expect, it } from "vitest";
import { checkInputs, checkTrust } from "../../../src/golden/app/action-job.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { pullRequest, push, repository, schedule, workflowRun } from "../../support/event-payloads.ts";

const shas = { head: "1".repeat(40), base: "2".repeat(40) };
const fork = repository("stranger/engines", 80_002);
const trust = (name: string, payload: object) =>
	checkTrust(parseRunEvent(name, payload, { sha: shas.head, ref: "refs/heads/main" }), name);

it.each<[string, string, object, string]>([
	["a fork's pull request", "pull_request", pullRequest(shas, { headRepository: fork }), "a fork's"],
	["a deleted fork's pull request", "pull_request", pullRequest(shas, { headRepository: null }), "a fork's"],
	["pull_request_target", "pull_request_target", pullRequest(shas), "pull_request_target"],
	["pull_request_review", "pull_request_review", pullRequest(shas), "pull_request_review"],
	["workflow_run", "workflow_run", workflowRun(shas.head), "workflow_run"],
	["issue_comment", "issue_comment", { comment: { body: "/record" } }, "issue_comment"],
])(
	"the golden action refuses a run for %s, which outsiders may trigger or change",
	(_, event, payload, says) => {
		expect(() => trust(event, payload)).toThrow(says);
	},
);

it.each<[string, object]>([
	["pull_request", pullRequest(shas)],
	["push", push("refs/heads/main", shas.base, shas.head)],
	["schedule", schedule()],
	["repository_dispatch", { action: "record" }],
	["workflow_dispatch", {}],
])("the golden action records in a run for %s of the repository's own", (event, payload) => {
	expect(() => trust(event, payload)).not.toThrow();
});

it.each([
	["an empty reason", { reason: " " }, /Input reason is empty/],
	["an invalid branch", { branch: "a b" }, /Input branch is "a b", which is not a valid branch name/],
	["a base that is an option", { base: "--upload-pack=x" }, /Input base is/],
])("the golden action refuses %s", (_, inputs, says) => {
	expect(() => checkInputs({ reason: "Why.", branch: "trtgate/goldens", base: "", ...inputs })).toThrow(says);
});
