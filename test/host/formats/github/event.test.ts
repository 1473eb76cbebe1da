import fc from "fast-check";
import { expect, it } from "vitest";
import { parseRunEvent, type RunEvent } from "../../../../src/host/formats/github/event.ts";
import { isRefName } from "../../../../src/host/formats/github/names.ts";
import {
	mergeGroup,
	pullRequest,
	push,
	release,
	schedule,
	sender,
	stranger,
	workflowDispatch,
	workflowRun,
} from "../../../support/event-payloads.ts";

const sha = (digit: string) => digit.repeat(40);
const [head, base, merge, other, zeros] = [sha("a"), sha("b"), sha("c"), sha("d"), sha("0")];
const pull = { kind: "pull-request", number: 7, headSha: head, baseRef: "main", baseSha: base } as const;
const same = { ...pull, mergeSha: merge, isFork: false } as const;
const onMerge = { sha: merge, ref: "refs/pull/7/merge" };
const caused = { kind: "workflow-run", runId: 9_876_543_210, headSha: head } as const;
const tagged = (tag: string): RunEvent => ({ kind: "tag", tag, sha: head });
const bot = { login: "dependabot[bot]", id: 49_699_333, type: "Bot" };

const main = { sha: head, ref: "refs/heads/main" };
const ofBase = { sha: base, ref: "refs/heads/main" };
const pushed = { kind: "push", before: base, after: head, isForced: false, defaultBranch: "main" } as const;
const onMain = { sha: head, defaultBranch: "main" } as const;
const fork = { headRef: "main", headRepository: stranger };
const dependabot = { headRef: "dependabot/pip/torch-2.9.1", draft: true, user: bot };
const pullOf = (options?: Parameters<typeof pullRequest>[1]) => pullRequest({ head, base }, options);
const at = (ref: string) => ({ sha: head, ref });
const topic = at("refs/heads/topic/x");

const cases: [name: string, payload: unknown, run: { sha: string; ref: string }, event: RunEvent][] = [
	["pull_request", pullRequest({ head, base, merge: other }), onMerge, same],
	["pull_request", pullOf({ action: "synchronize" }), onMerge, same],
	["pull_request", pullOf(fork), onMerge, { ...same, isFork: true }],
	["pull_request", pullOf({ headRepository: null }), onMerge, { ...same, isFork: true }],
	["pull_request", pullOf(dependabot), onMerge, same],
	["pull_request_target", pullRequest({ head, base, merge: other }), ofBase, { ...same, mergeSha: other }],
	["pull_request_target", pullRequest({ head, base, merge: null }), ofBase, { ...pull, isFork: false }],
	["push", push("refs/heads/main", base, head), main, { ...pushed, ref: "main" }],
	[
		"push",
		push(topic.ref, base, head, { forced: true }),
		topic,
		{ ...pushed, ref: "topic/x", isForced: true },
	],
	["push", push(topic.ref, zeros, head), topic, { ...pushed, ref: "topic/x", before: null }],
	// An annotated tag.
	["push", push("refs/tags/v1.2.0", zeros, other), at("refs/tags/v1.2.0"), tagged("v1.2.0")],
	["release", release("v1.2.0"), at("refs/tags/v1.2.0"), tagged("v1.2.0")],
	["schedule", schedule(), main, { kind: "schedule", ...onMain, ref: "main" }],
	["workflow_dispatch", workflowDispatch(topic.ref), topic, { kind: "dispatch", ...onMain, ref: "topic/x" }],
	["workflow_dispatch", workflowDispatch("refs/tags/v2"), at("refs/tags/v2"), tagged("v2")],
	[
		"merge_group",
		mergeGroup(head, base),
		at(`refs/heads/gh-readonly-queue/main/pr-7-${base}`),
		{ kind: "merge-group", headSha: head, baseSha: base, baseRef: "main" },
	],
	["workflow_run", workflowRun(head), ofBase, caused],
	[
		"workflow_run",
		workflowRun(head, { head_repository: null, run_attempt: undefined, conclusion: null }),
		ofBase,
		caused,
	],
	[
		"issue_comment",
		{ action: "created", comment: { body: "/gate" }, sender },
		main,
		{ kind: "other", name: "issue_comment", sha: head },
	],
];

it.each(cases)("parseRunEvent reads %s", (name, payload, run, event) => {
	expect(parseRunEvent(name, JSON.parse(JSON.stringify(payload)), run)).toEqual(event);
});

it.each([
	["a base branch that is an option", pullOf({ baseRef: "--upload-pack=touch x" })],
	["a base branch of two lines", pullOf({ baseRef: "main\nevil" })],
	["a base branch that is a range", pullOf({ baseRef: "main..evil" })],
	["a hash that is none", pullRequest({ head: "HEAD~1", base })],
	["a null hash", pullRequest({ head, base: zeros })],
	[
		"a number that is none",
		{
			...pullOf(),
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
	const payload = pullOf({ headRef: "`$(x)`\u0007" });
	expect(parseRunEvent("pull_request", payload, onMerge)).toEqual(same);
});

it("parseRunEvent takes an unknown repository for a fork", () => {
	const payload = pullOf({ headRepository: { id: "70001", full_name: "../engines" } });
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
	const names = fc.constantFrom("x", ...cases.map(([name]) => name));
	const texts = fc.oneof(fc.string(), fc.constantFrom(head, "main", "refs/heads/main", "x".repeat(5000)));
	const keys =
		"pull_request head base sha ref number merge_group head_sha base_ref workflow_run id release tag_name";
	const trees = fc.letrec((tie) => ({
		tree: fc.oneof(
			{ maxDepth: 4 },
			texts,
			fc.integer(),
			fc.constant(null),
			fc.dictionary(fc.constantFrom(...keys.split(" ")), tie("tree")),
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

it("isRefName takes what git takes, and nothing else", () => {
	const good = "main feature/x v1.2.0 dependabot/npm_and_yarn/@types/node-24 größe a@b x.y".split(" ");
	const bad = "@ -x a..b a~1 a^ a:b a? a* a[b a\\b a@{1} /a a/ a//b .a a/.b a.lock a.".split(" ");
	expect(good.filter((name) => !isRefName(name))).toEqual([]);
	expect(["", "a b", ...bad].filter(isRefName)).toEqual([]);
});

it("isRefName refuses what is longer than GitHub allows", () => {
	expect(isRefName("ä".repeat(127))).toBe(true);
	expect(isRefName("ä".repeat(128))).toBe(false);
});
