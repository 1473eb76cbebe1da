import fc from "fast-check";
import { expect, it } from "vitest";
import { parseRunEvent, type RunEvent } from "../../../../src/host/formats/github/event.ts";
import { isRefName } from "../../../../src/host/formats/github/names.ts";
import {
	mergeGroup,
	pullRequest,
	push,
	release,
	repository,
	schedule,
	sender,
	workflowDispatch,
	workflowRun,
} from "../../../support/event-payloads.ts";

const [head, base, merge, other] = ["a", "b", "c", "d"].map((digit) => digit.repeat(40)) as [
	string,
	string,
	string,
	string,
];
const zeros = "0".repeat(40);
const pull = { kind: "pull-request", number: 7, headSha: head, baseRef: "main", baseSha: base } as const;
const same = { ...pull, mergeSha: merge, isFork: false } as const;
const onMerge = { sha: merge, ref: "refs/pull/7/merge" };
const bot = { login: "dependabot[bot]", id: 49_699_333, type: "Bot" };

interface Case {
	what: string;
	name: string;
	payload: unknown;
	run: { sha: string; ref: string };
	event: RunEvent;
}

const cases: Case[] = [
	{
		what: "a pull request of the same repository",
		name: "pull_request",
		payload: pullRequest({ head, base, merge: other }),
		run: onMerge,
		event: same,
	},
	{
		what: "a new push to a pull request",
		name: "pull_request",
		payload: pullRequest({ head, base }, { action: "synchronize" }),
		run: onMerge,
		event: same,
	},
	{
		what: "a pull request of a fork",
		name: "pull_request",
		payload: pullRequest(
			{ head, base },
			{ headRef: "main", headRepository: repository("stranger/engines", 80_002) },
		),
		run: onMerge,
		event: { ...same, isFork: true },
	},
	{
		what: "a pull request whose fork was deleted",
		name: "pull_request",
		payload: pullRequest({ head, base }, { headRepository: null }),
		run: onMerge,
		event: { ...same, isFork: true },
	},
	{
		what: "a draft by Dependabot",
		name: "pull_request",
		payload: pullRequest({ head, base }, { headRef: "dependabot/pip/torch-2.9.1", draft: true, user: bot }),
		run: onMerge,
		event: { ...same },
	},
	{
		what: "a pull request in the base's context",
		name: "pull_request_target",
		payload: pullRequest({ head, base, merge: other }),
		run: { sha: base, ref: "refs/heads/main" },
		event: { ...same, mergeSha: other },
	},
	{
		what: "a pull request that cannot be merged",
		name: "pull_request_target",
		payload: pullRequest({ head, base, merge: null }),
		run: { sha: base, ref: "refs/heads/main" },
		event: { ...pull, isFork: false },
	},
	{
		what: "a push",
		name: "push",
		payload: push("refs/heads/main", base, head),
		run: { sha: head, ref: "refs/heads/main" },
		event: { kind: "push", ref: "main", before: base, after: head, isForced: false, defaultBranch: "main" },
	},
	{
		what: "a forced push",
		name: "push",
		payload: push("refs/heads/topic/x", base, head, { forced: true }),
		run: { sha: head, ref: "refs/heads/topic/x" },
		event: { kind: "push", ref: "topic/x", before: base, after: head, isForced: true, defaultBranch: "main" },
	},
	{
		what: "a push of a new branch",
		name: "push",
		payload: push("refs/heads/topic", zeros, head),
		run: { sha: head, ref: "refs/heads/topic" },
		event: { kind: "push", ref: "topic", before: null, after: head, isForced: false, defaultBranch: "main" },
	},
	{
		what: "the push of an annotated tag",
		name: "push",
		payload: push("refs/tags/v1.2.0", zeros, other),
		run: { sha: head, ref: "refs/tags/v1.2.0" },
		event: { kind: "tag", tag: "v1.2.0", sha: head },
	},
	{
		what: "a published release",
		name: "release",
		payload: release("v1.2.0"),
		run: { sha: head, ref: "refs/tags/v1.2.0" },
		event: { kind: "tag", tag: "v1.2.0", sha: head },
	},
	{
		what: "the clock",
		name: "schedule",
		payload: schedule(),
		run: { sha: head, ref: "refs/heads/main" },
		event: { kind: "schedule", ref: "main", sha: head },
	},
	{
		what: "a hand",
		name: "workflow_dispatch",
		payload: workflowDispatch("refs/heads/topic"),
		run: { sha: head, ref: "refs/heads/topic" },
		event: { kind: "dispatch", ref: "topic", sha: head },
	},
	{
		what: "a hand, on a tag",
		name: "workflow_dispatch",
		payload: workflowDispatch("refs/tags/v2"),
		run: { sha: head, ref: "refs/tags/v2" },
		event: { kind: "tag", tag: "v2", sha: head },
	},
	{
		what: "the merge queue",
		name: "merge_group",
		payload: mergeGroup(head, base),
		run: { sha: head, ref: `refs/heads/gh-readonly-queue/main/pr-7-${base}` },
		event: { kind: "merge-group", headSha: head, baseSha: base, baseRef: "main" },
	},
	{
		what: "another workflow's end",
		name: "workflow_run",
		payload: workflowRun(head),
		run: { sha: base, ref: "refs/heads/main" },
		event: { kind: "workflow-run", runId: 9_876_543_210, headSha: head },
	},
	{
		what: "the end of a workflow of a fork that is gone",
		name: "workflow_run",
		payload: workflowRun(head, { head_repository: null, run_attempt: undefined, conclusion: null }),
		run: { sha: base, ref: "refs/heads/main" },
		event: { kind: "workflow-run", runId: 9_876_543_210, headSha: head },
	},
	{
		what: "an event of another kind",
		name: "issue_comment",
		payload: { action: "created", comment: { body: "/gate" }, sender },
		run: { sha: head, ref: "refs/heads/main" },
		event: { kind: "other", name: "issue_comment", sha: head },
	},
];

it.each(cases)("parseRunEvent reads $what", ({ name, payload, run, event }) => {
	expect(parseRunEvent(name, JSON.parse(JSON.stringify(payload)), run)).toEqual(event);
});

it.each([
	["a base branch that is an option", pullRequest({ head, base }, { baseRef: "--upload-pack=touch x" })],
	["a base branch of two lines", pullRequest({ head, base }, { baseRef: "main\nevil" })],
	["a base branch that is a range", pullRequest({ head, base }, { baseRef: "main..evil" })],
	["a hash that is none", pullRequest({ head: "HEAD~1", base })],
	["a null hash", pullRequest({ head, base: zeros })],
	[
		"a number that is none",
		{
			...pullRequest({ head, base }),
			number: 1e99,
			pull_request: { head: { sha: head }, base: { sha: base, ref: "main" } },
		},
	],
	["a text in place of the pull request", { number: 7, pull_request: "x" }],
	["a list", []],
	["nothing", null],
	["fields of the prototype", JSON.parse('{"__proto__":{"pull_request":{"number":7}}}')],
])("parseRunEvent takes no pull request with %s", (_, payload) => {
	expect(parseRunEvent("pull_request", payload, onMerge)).toEqual({
		kind: "other",
		name: "pull_request",
		sha: merge,
	});
});

it("parseRunEvent reads a pull request whose head branch git would not allow", () => {
	const payload = pullRequest({ head, base }, { headRef: "`$(x)`\u0007" });
	expect(parseRunEvent("pull_request", payload, onMerge)).toEqual(same);
});

it("parseRunEvent takes an unknown repository for a fork", () => {
	const payload = pullRequest({ head, base }, { headRepository: { id: "70001", full_name: "../engines" } });
	expect(parseRunEvent("pull_request", payload, onMerge)).toEqual({ ...same, isFork: true });
});

it.each([
	["push", push("refs/heads/a b", base, head)],
	["push", push("refs/notes/x", base, head)],
	["release", release("-x")],
	["merge_group", { merge_group: { head_sha: head, base_sha: base, base_ref: "main" } }],
	["workflow_run", { workflow_run: { id: -1, head_sha: head, event: "push" } }],
])("parseRunEvent makes a %s that is odd another event", (name, payload) => {
	expect(parseRunEvent(name, payload, { sha: head, ref: "refs/notes/x" })).toEqual({
		kind: "other",
		name,
		sha: head,
	});
});

it("parseRunEvent keeps no name and no hash that are odd", () => {
	expect(parseRunEvent("a b\n", {}, { sha: "HEAD", ref: "" })).toEqual({ kind: "other", name: "", sha: "" });
});

it("parseRunEvent throws at no payload, and keeps only short lines", () => {
	const names = fc.constantFrom(
		"pull_request",
		"push",
		"release",
		"schedule",
		"workflow_dispatch",
		"merge_group",
		"workflow_run",
		"x",
	);
	const texts = fc.oneof(fc.string(), fc.constantFrom(head, "main", "refs/heads/main", "x".repeat(5000)));
	const keys = [
		"pull_request",
		"head",
		"base",
		"sha",
		"ref",
		"number",
		"merge_group",
		"head_sha",
		"base_ref",
		"workflow_run",
		"id",
		"release",
		"tag_name",
	];
	const trees = fc.letrec((tie) => ({
		tree: fc.oneof(
			{ maxDepth: 4 },
			texts,
			fc.integer(),
			fc.constant(null),
			fc.dictionary(fc.constantFrom(...keys), tie("tree")),
		),
	})).tree;
	fc.assert(
		fc.property(names, trees, texts, texts, (name, payload, sha, ref) => {
			const event = parseRunEvent(name, payload, { sha, ref });
			for (const value of Object.values(event)) {
				if (typeof value === "string") expect(value).toMatch(/^[^\n\r\u0000]{0,255}$/u);
			}
		}),
		{ numRuns: 500 },
	);
});

it.each(["main", "feature/x", "v1.2.0", "dependabot/npm_and_yarn/@types/node-24", "größe", "a@b", "x.y"])(
	"isRefName takes %s",
	(name) => {
		expect(isRefName(name)).toBe(true);
	},
);

it.each([
	"",
	"@",
	"-x",
	"a b",
	"a..b",
	"a~1",
	"a^",
	"a:b",
	"a?",
	"a*",
	"a[b",
	"a\\b",
	"a@{1}",
	"/a",
	"a/",
	"a//b",
	".a",
	"a/.b",
	"a.lock",
	"a.",
])("isRefName refuses %j", (name) => expect(isRefName(name)).toBe(false));

it("isRefName refuses what is longer than GitHub allows", () => {
	expect(isRefName("ä".repeat(127))).toBe(true);
	expect(isRefName("ä".repeat(128))).toBe(false);
});
