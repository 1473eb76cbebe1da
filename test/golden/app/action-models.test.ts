import { expect, it } from "vitest";
import { checkInputs, checkTrust, chooseTargets } from "../../../src/golden/app/action-models.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import { loaded } from "../../core/config/load.ts";
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

function configOf(models: Record<string, string | null>) {
	const lines = Object.entries(models).map(
		([name, golden]) => `  ${name}: { onnx: m.onnx${golden === null ? "" : `, golden: ${golden}`} }\n`,
	);
	return loaded(`version: 1\nmodels:\n${lines.join("")}`);
}

const config = configOf({ net: "golden/net/golden.json", other: "golden/other/golden.json", none: null });

it.each([
	["", ["net", "other"]],
	["net", ["net"]],
	["other, net", ["other", "net"]],
	["net\n\n other \nnet,", ["net", "other"]],
])("the models to record of %j are %j", (names, expected) => {
	expect(chooseTargets(config, names).map(({ model }) => model.name)).toEqual(expected);
});

const golden = "g/golden.json";
it.each<[string, Parameters<typeof configOf>[0], string, RegExp]>([
	["a name that is not there", { net: golden }, "nett", /has no model "nett"/],
	["a name of JavaScript", { net: golden }, "__proto__", /has no model "__proto__"/],
	["a model without a golden", { net: null }, "net", /"net" has no golden/],
	["a config without goldens", { net: null }, "", /No model of trtgate\.yml has a golden/],
	[
		"a golden of another name",
		{ net: "g/net.json" },
		"",
		/is g\/net\.json, but .* must be named golden\.json/,
	],
	["one golden of two models", { a: golden, b: golden }, "", /"a" and "b" share the golden g/],
])("the models to record refuses %s", (_, models, names, says) => {
	expect(() => chooseTargets(configOf(models), names)).toThrow(says);
});
