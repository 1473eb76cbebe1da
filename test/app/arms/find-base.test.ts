// Every event in real repositories: which commit is the base, how the report explains it, and how little is fetched.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gitIn } from "../../../src/adapters/git/run-git.ts";
import { type FoundBase, findBase } from "../../../src/app/arms/find-base.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { openHistory } from "../../../src/history/adapters/history.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import {
	mergeGroup,
	pullRequest,
	push,
	release,
	repository,
	schedule,
	workflowDispatch,
	workflowRun,
} from "../../support/event-payloads.ts";
import {
	checkOut,
	countCommits,
	type Drawing,
	drawRepository,
	forgetDrawing,
	git,
	gitProcesses,
	line,
} from "../../support/git-history.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "trtgate-base-")));
const origin = join(root, "origin.git");
const processes = gitProcesses();
let commits = new Map<string, string>();
const at = (name: string): string => commits.get(name) ?? `no ${name}`;
const zeros = "0".repeat(40);
const missing = "e".repeat(40);

/** Three hundred commits, with branches that left early and late, that took main in, that were rewritten. */
const drawing: Drawing = {
	commits: [
		...line("main", 300),
		...line("feature", 3, "main-290"),
		{ name: "merge", parents: ["main-299", "feature-2"] },
		...line("old", 2, "main-40"),
		{ name: "old-merge", parents: ["main-299", "old-1"] },
		{ name: "long-0", parents: ["main-100"] },
		{ name: "long-1", parents: ["long-0", "main-150"] },
		{ name: "long-2", parents: ["long-1", "main-250"] },
		{ name: "long-3", parents: ["long-2"] },
		...line("before", 2, "main-294"),
		...line("topic", 2, "main-295"),
		...line("maintenance", 2, "main-200"),
		...line("stranger", 2),
		{ name: "queue", parents: ["main-299", "feature-2"] },
	],
	refs: {
		"refs/heads/main": "main-299",
		"refs/heads/feature": "feature-2",
		"refs/heads/long": "long-3",
		"refs/heads/topic": "topic-1",
		"refs/heads/maintenance": "maintenance-1",
		"refs/heads/stranger": "stranger-1",
		"refs/pull/7/merge": "merge",
		"refs/pull/7/head": "feature-2",
		"refs/pull/8/merge": "old-merge",
		"refs/pull/8/head": "old-1",
		"refs/tags/v1.0.0": "main-100",
		"refs/tags/v1.1.0": "main-200",
		"refs/tags/v1.1.1": "maintenance-1",
		"refs/tags/v1.2.0-rc.1": "main-250",
		"refs/tags/latest": "main-260",
	},
	annotated: { "v1.2.0": "main-280" },
};

beforeAll(() => {
	commits = drawRepository(origin, drawing);
	forgetDrawing(origin);
	git(origin, "symbolic-ref", "HEAD", "refs/heads/main");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Situation {
	what: string;
	event: string;
	payload(): unknown;
	/** Full name of the ref that the run is for, and the commit. */
	ref: string;
	commit: string;
	/** The commit in the workspace, where it is not the run's. */
	checkedOut?: string;
	baseline?: Config["baseline"];
	/** Once more in a clone with all history. */
	isWholeToo?: true;
	depth?: number;
	base: string | null;
	says: RegExp;
	/** Most commits that the clone may hold afterwards. */
	most?: number | undefined;
}

const pull = (head: string, number = 7) => pullRequest({ head: at(head), base: at("main-295") }, { number });
const onMerge = {
	event: "pull_request",
	ref: "refs/pull/7/merge",
	commit: "merge",
	payload: () => pull("feature-2"),
};
const onMain = { event: "push", ref: "refs/heads/main", commit: "main-299" };
const onTopic = { event: "push", ref: "refs/heads/topic", commit: "topic-1" };
const nightly = { event: "schedule", ref: "refs/heads/main", commit: "main-299", payload: schedule };

const situations: Situation[] = [
	{
		...onMerge,
		what: "the merge commit of a pull request",
		isWholeToo: true,
		base: "main-299",
		says: /that the pull request.s merge commit builds on/,
		most: 2,
	},
	{
		...onMerge,
		what: "the merge commit of a fork's pull request",
		payload: () =>
			pullRequest(
				{ head: at("feature-2"), base: at("main-295") },
				{ headRef: "main", headRepository: repository("stranger/engines", 80_002) },
			),
		base: "main-299",
		says: /merge commit/,
		most: 2,
	},
	{
		...onMerge,
		what: "the merge commit of a branch that left long ago",
		ref: "refs/pull/8/merge",
		commit: "old-merge",
		payload: () => pull("old-1", 8),
		base: "main-299",
		says: /merge commit/,
		most: 2,
	},
	{
		...onMerge,
		what: "the head of a pull request",
		isWholeToo: true,
		checkedOut: "feature-2",
		base: "main-290",
		says: /merge base of .* and main/,
		most: 80,
	},
	{
		...onMerge,
		what: "the head of a pull request that left long ago",
		ref: "refs/pull/8/merge",
		commit: "old-merge",
		checkedOut: "old-1",
		payload: () => pull("old-1", 8),
		base: "main-40",
		says: /merge base/,
	},
	{
		...onMerge,
		what: "the head of a branch that took main in twice",
		checkedOut: "long-3",
		payload: () => pull("long-3"),
		base: "main-250",
		says: /merge base/,
	},
	{
		...onMerge,
		what: "a head without any history in common",
		checkedOut: "stranger-1",
		payload: () => pull("stranger-1"),
		base: "main-299",
		says: /shares no history/,
	},
	{
		...onMerge,
		what: "a pull request into a branch that was deleted",
		checkedOut: "feature-2",
		payload: () => pullRequest({ head: at("feature-2"), base: at("main-295") }, { baseRef: "gone" }),
		base: "main-290",
		says: /merge base of .* and gone/,
	},
	{
		...onMain,
		what: "a push",
		isWholeToo: true,
		payload: () => push(onMain.ref, at("main-297"), at("main-299")),
		base: "main-297",
		says: /main before this push/,
		most: 2,
	},
	{
		...onMain,
		what: "a push after which the commit before is gone",
		payload: () => push(onMain.ref, missing, at("main-299")),
		base: "main-298",
		says: /the commit before .* is gone/,
		most: 2,
	},
	{
		...onTopic,
		what: "the push of a new branch",
		payload: () => push(onTopic.ref, zeros, at("topic-1")),
		base: "main-295",
		says: /left main: topic is new/,
	},
	{
		...onTopic,
		what: "a forced push",
		isWholeToo: true,
		payload: () => push(onTopic.ref, at("before-1"), at("topic-1"), { forced: true }),
		base: "main-295",
		says: /left main: topic was rewritten/,
	},
	{
		...onMain,
		what: "a forced push of the default branch",
		payload: () => push(onMain.ref, at("before-1"), at("main-299"), { forced: true }),
		base: "main-298",
		says: /the commit before .*: main was rewritten/,
	},
	{
		...onTopic,
		what: "a push that is called forced and adds to the branch",
		payload: () => push(onTopic.ref, at("topic-0"), at("topic-1"), { forced: true }),
		base: "topic-0",
		says: /topic before this push/,
	},
	{
		...onMain,
		what: "a new branch that has nothing of its own",
		ref: "refs/heads/copy",
		payload: () => push("refs/heads/copy", zeros, at("main-299")),
		base: "main-298",
		says: /the commit before .*: copy is new/,
	},
	{
		...onMain,
		what: "the first commit of a history",
		ref: "refs/heads/stranger",
		commit: "stranger-0",
		payload: () => push("refs/heads/stranger", zeros, at("stranger-0")),
		base: null,
		says: /first commit of its history/,
	},
	{
		what: "the push of a version tag",
		isWholeToo: true,
		event: "push",
		ref: "refs/tags/v1.2.0",
		commit: "main-280",
		payload: () => push("refs/tags/v1.2.0", zeros, at("main-280")),
		base: "main-200",
		says: /v1\.1\.0 is the release before v1\.2\.0\.$/,
		most: 260,
	},
	{
		what: "a pre-release",
		event: "push",
		ref: "refs/tags/v1.2.0-rc.1",
		commit: "main-250",
		payload: () => push("refs/tags/v1.2.0-rc.1", zeros, at("main-250")),
		base: "main-200",
		says: /v1\.1\.0 is the release before/,
	},
	{
		what: "a release of a maintenance branch",
		event: "release",
		ref: "refs/tags/v1.1.1",
		commit: "maintenance-1",
		payload: () => release("v1.1.1"),
		base: "main-200",
		says: /v1\.1\.0 is the release before v1\.1\.1/,
	},
	{
		what: "the first release",
		event: "release",
		ref: "refs/tags/v1.0.0",
		commit: "main-100",
		payload: () => release("v1.0.0"),
		base: null,
		says: /no release comes before v1\.0\.0/,
		most: 1,
	},
	{
		what: "a tag that is no version",
		event: "push",
		ref: "refs/tags/latest",
		commit: "main-260",
		payload: () => push("refs/tags/latest", zeros, at("main-260")),
		base: "main-250",
		says: /v1\.2\.0-rc\.1 is the release before latest/,
	},
	{
		...nightly,
		what: "the clock",
		isWholeToo: true,
		base: "main-280",
		says: /v1\.2\.0 is the last release before/,
		most: 60,
	},
	{
		...nightly,
		what: "a hand on the commit of a release",
		event: "workflow_dispatch",
		commit: "main-280",
		payload: () => workflowDispatch("refs/heads/main"),
		base: "main-200",
		says: /v1\.1\.0 is the last release before/,
	},
	{
		...nightly,
		what: "a hand on a branch without any release",
		event: "workflow_dispatch",
		ref: "refs/heads/old",
		commit: "main-60",
		payload: () => workflowDispatch("refs/heads/old"),
		base: "main-280",
		says: /v1\.2\.0 is the last release .* which lies on a branch of its own/,
	},
	{
		...nightly,
		what: "the end of another workflow",
		event: "workflow_run",
		payload: () => workflowRun(at("feature-2")),
		base: "main-280",
		says: /last release/,
	},
	{
		what: "the merge queue",
		event: "merge_group",
		ref: "refs/heads/gh-readonly-queue/main/pr-7",
		commit: "queue",
		payload: () => mergeGroup(at("queue"), at("main-299")),
		base: "main-299",
		says: /merge queue adds the change to, on main/,
		most: 2,
	},
	{
		...onMerge,
		what: "a pinned tag",
		baseline: { from: "pinned", ref: "v1.0.0" },
		base: "main-100",
		says: /baseline\.ref pins: v1\.0\.0/,
		most: 2,
	},
	{
		...onMain,
		payload: () => push(onMain.ref, at("main-297"), at("main-299")),
		what: "a pinned annotated tag",
		baseline: { from: "pinned", ref: "v1.2.0" },
		base: "main-280",
		says: /pins/,
		most: 2,
	},
	{
		...onMerge,
		what: "a pinned branch",
		baseline: { from: "pinned", ref: "maintenance" },
		base: "maintenance-1",
		says: /pins: maintenance/,
		most: 2,
	},
	{
		...nightly,
		what: "the pinned commit itself",
		baseline: { from: "pinned", ref: "main" },
		base: null,
		says: /is its own base/,
	},
	{
		...onMerge,
		what: "the last release, for a pull request",
		baseline: { from: "tag" },
		base: "main-280",
		says: /v1\.2\.0 is the last release/,
	},
];

function cloned(ref: string, commit: string, depth: number): string {
	return checkOut({ origin, folder: mkdtempSync(join(root, "clone-")), ref, commit: at(commit), depth });
}

async function find(situation: Situation): Promise<{ base: FoundBase; folder: string }> {
	const {
		event: name,
		ref,
		commit,
		checkedOut = commit,
		depth = 1,
		baseline = { from: "base-ref" },
	} = situation;
	const folder = cloned(ref, checkedOut, depth);
	const event = parseRunEvent(name, situation.payload(), { sha: at(commit), ref });
	const history = await openHistory(gitIn(folder, processes));
	return { base: await findBase({ event, baseline, head: at(checkedOut), history }), folder };
}

it("the base of an event that names one in a payload that cannot be read is an error, never none", async () => {
	const event = parseRunEvent("pull_request", {}, { sha: at("main-299"), ref: "refs/pull/7/merge" });
	const history = await openHistory(gitIn(origin, processes));
	const base = findBase({ event, baseline: { from: "base-ref" }, head: at("main-299"), history });
	await expect(base).rejects.toMatchObject({
		code: "tool-output",
		message: expect.stringContaining("payload of the pull_request event could not be read"),
	});
});

const inWholeClones = situations
	.filter(({ isWholeToo }) => isWholeToo)
	.map((one) => ({ ...one, what: `${one.what} with all history`, depth: 0, most: undefined }));

it.concurrent.for([...situations, ...inWholeClones])("the base of $what", async (situation, { expect }) => {
	const { base, folder } = await find(situation);
	const name = base.state === "found" ? [...commits].find(([, commit]) => commit === base.commit)?.[0] : null;
	expect({ base: name, says: base.state === "found" ? base.found : base.why }).toEqual({
		base: situation.base,
		says: expect.stringMatching(situation.says),
	});
	if (situation.base !== null) expect(git(folder, "cat-file", "-t", at(situation.base))).toBe("commit");
	expect(countCommits(folder)).toBeLessThanOrEqual(situation.most ?? 400);
	if (situation.depth === 0) expect(git(folder, "rev-parse", "--is-shallow-repository")).toBe("false");
});

it("findBase, if a required base is missing, refuses a pull request of which only the base is checked out", async () => {
	const run = find({ ...onMerge, what: "", checkedOut: "main-299", base: null, says: / / });
	await expect(run).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("without the change of the pull request"),
	});
});

it("findBase, if a required base is missing, refuses the clone of another repository", async () => {
	const run = find({
		...onMain,
		what: "",
		event: "merge_group",
		payload: () => mergeGroup(at("main-299"), missing),
		base: null,
		says: / /,
	});
	await expect(run).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("neither this clone nor its remote has it"),
	});
});

it("findBase, if a required base is missing, refuses a pinned ref that does not exist", async () => {
	const run = find({ ...nightly, what: "", baseline: { from: "pinned", ref: "v9" }, base: null, says: / / });
	await expect(run).rejects.toMatchObject({ code: "git-ref", message: expect.stringContaining('"v9"') });
});

it("findBase, if a required base is missing, reports that the remote cannot be reached, and what helps", async () => {
	const folder = cloned("refs/heads/main", "main-299", 1);
	git(folder, "remote", "set-url", "origin", "file:///nowhere/at/all.git");
	const history = await openHistory(gitIn(folder, processes));
	await expect(history.bring(at("main-298"))).rejects.toMatchObject({
		code: "tool-crashed",
		fix: expect.stringContaining("fetch-depth: 0"),
	});
});

it("findBase, if a required base is missing, names the permission that a refused fetch lacks", async () => {
	const folder = cloned("refs/heads/main", "main-299", 1);
	const helper = join(root, "refuse.sh");
	writeFileSync(
		helper,
		"#!/bin/sh\necho 'fatal: could not read Username: terminal prompts disabled' >&2\nexit 128\n",
		{ mode: 0o755 },
	);
	git(folder, "config", "remote.origin.uploadpack", helper);
	const history = await openHistory(gitIn(folder, processes));
	await expect(history.bring(at("main-298"))).rejects.toMatchObject({
		code: "git-ref",
		fix: expect.stringMatching(/contents: read.*`token`.*fetch-depth/),
	});
});

it("findBase, if a required base is missing, uses the credentials that actions/checkout keeps, and never prompts if they fail", async () => {
	const folder = cloned("refs/heads/main", "main-299", 1);
	const seen: (string | undefined)[] = [];
	const server = createServer(({ headers }, response) => {
		seen.push(headers.authorization);
		response.writeHead(401, { "www-authenticate": 'Basic realm="GitHub"' }).end();
	});
	await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
	const { port } = server.address() as AddressInfo;
	git(folder, "remote", "set-url", "origin", `http://127.0.0.1:${port}/acme/engines`);
	git(folder, "config", `http.http://127.0.0.1:${port}/.extraheader`, "AUTHORIZATION: basic eDp0b2tlbg==");
	const history = await openHistory(gitIn(folder, processes));
	await expect(history.bring(at("main-298"))).rejects.toMatchObject({
		code: "git-ref",
		message: expect.stringContaining("denied the fetch"),
	});
	expect(seen[0]).toBe("basic eDp0b2tlbg==");
	server.close();
});

it("a clone without a remote uses its own commits", async () => {
	const folder = cloned("refs/heads/main", "main-299", 0);
	git(folder, "remote", "remove", "origin");
	const history = await openHistory(gitIn(folder, processes));
	const event = parseRunEvent("push", push("refs/heads/main", at("main-297"), at("main-299")), {
		sha: at("main-299"),
		ref: "refs/heads/main",
	});
	expect(
		await findBase({ event, baseline: { from: "base-ref" }, head: at("main-299"), history }),
	).toMatchObject({
		commit: at("main-297"),
	});
});

it("a clone with all history needs no remote, which may ask for rights that the job has not kept", async () => {
	const folder = cloned("refs/heads/feature", "feature-2", 0);
	git(folder, "remote", "set-url", "origin", "file:///nowhere/at/all.git");
	const history = await openHistory(gitIn(folder, processes));
	const pulled = parseRunEvent("pull_request", pull("feature-2"), {
		sha: at("merge"),
		ref: "refs/pull/7/merge",
	});
	expect(
		await findBase({ event: pulled, baseline: { from: "base-ref" }, head: at("feature-2"), history }),
	).toMatchObject({
		commit: at("main-290"),
	});
	const clock = parseRunEvent("schedule", schedule(), { sha: at("main-299"), ref: "refs/heads/main" });
	expect(
		await findBase({ event: clock, baseline: { from: "base-ref" }, head: at("main-299"), history }),
	).toMatchObject({
		label: "v1.2.0",
	});
	for (const tag of git(folder, "tag").split("\n")) git(folder, "tag", "-d", tag);
	expect(
		await findBase({ event: clock, baseline: { from: "base-ref" }, head: at("main-299"), history }),
	).toMatchObject({
		state: "none",
	});
});

it("a clone that is partial and shallow is deepened too", async () => {
	const folder = join(root, "partial");
	git(root, "clone", "-q", "--filter=blob:none", "--depth=1", "--branch=feature", `file://${origin}`, folder);
	const history = await openHistory(gitIn(folder, processes));
	expect(await history.mergeBase(at("feature-2"), (await history.branchTip("main")) ?? "")).toBeNull();
	expect(await history.bring(at("main-299"))).toBe(true);
	expect(await history.mergeBase(at("feature-2"), at("main-299"))).toBe(at("main-290"));
});

it("a clone with a commit that its remote does not know is deepened from where it ends", async () => {
	const folder = cloned("refs/heads/feature", "feature-2", 1);
	git(folder, "commit", "-q", "--allow-empty", "-m", "made by the job");
	const history = await openHistory(gitIn(folder, processes));
	expect(await history.bring(at("main-299"))).toBe(true);
	expect(await history.mergeBase(git(folder, "rev-parse", "HEAD"), at("main-299"))).toBe(at("main-290"));
});

it("a clone of some depth is not made shallower", async () => {
	const folder = checkOut({
		origin,
		folder: join(root, "deep"),
		ref: "refs/heads/main",
		commit: at("main-299"),
		depth: 150,
	});
	const history = await openHistory(gitIn(folder, processes));
	expect(await history.bring(at("main-200"))).toBe(true);
	expect(await history.isAncestor(at("main-200"), at("main-299"))).toBe(true);
	expect(await history.isAncestor(at("feature-0"), at("main-299"))).toBe(false);
	expect(git(folder, "rev-list", "--count", "HEAD")).toBe("150");
});
