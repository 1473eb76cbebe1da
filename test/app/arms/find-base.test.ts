import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { gitIn } from "../../../src/adapters/git/run-git.ts";
import { findBase, requireChange } from "../../../src/app/arms/find-base.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { openHistory } from "../../../src/history/adapters/history.ts";
import { parseRunEvent } from "../../../src/host/formats/github/event.ts";
import {
	mergeGroup,
	pullRequest,
	push,
	release,
	schedule,
	stranger,
	workflowDispatch,
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
import { expectFault, temporaryFolder, writeScript } from "../../support/project.ts";

const root = temporaryFolder(afterAll);
const origin = join(root, "origin.git");
const processes = gitProcesses();
let commits = new Map<string, string>();
const at = (name: string) => commits.get(name) ?? `no ${name}`;
const zeros = "0".repeat(40);
const missing = "e".repeat(40);

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
		{ name: "night", parents: ["main-299", "main-10"] },
		{ name: "queue", parents: ["main-299", "feature-2"] },
	],
	refs: {
		"refs/heads/main": "main-299",
		"refs/heads/feature": "feature-2",
		"refs/heads/long": "long-3",
		"refs/heads/night": "night",
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

interface Place {
	event: string;
	ref: string;
	commit: string;
}

interface Run extends Place {
	payload?: () => unknown;
	/** None if the branch is new. */
	before?: string;
	isForced?: true;
	checkedOut?: string;
	baseline?: Config["baseline"];
	depth?: number;
}

interface More extends Omit<Partial<Run>, keyof Place> {
	/** Once more in a clone with all history. */
	isWholeToo?: true;
	/** Commits in the clone afterwards. */
	most?: number | undefined;
}

const onMerge: Place = { event: "pull_request", ref: "refs/pull/7/merge", commit: "merge" };
const onOldMerge: Place = { event: "pull_request", ref: "refs/pull/8/merge", commit: "old-merge" };
const pushOf = (name: string, commit: string): Place => ({ event: "push", ref: `refs/${name}`, commit });
const onMain = pushOf("heads/main", "main-299");
const onTopic = pushOf("heads/topic", "topic-1");
const onTag = (tag: string, commit: string): Place => pushOf(`tags/${tag}`, commit);
const nightly: Place = { event: "schedule", ref: "refs/heads/main", commit: "main-299" };

function payloadOf({ event, ref, commit, checkedOut, before, isForced, payload }: Run) {
	const heads: Record<string, string> = { merge: "feature-2", "old-merge": "old-1" };
	switch (payload === undefined ? event : "") {
		case "pull_request": {
			const head = at(checkedOut?.startsWith("main") ? "feature-2" : (checkedOut ?? heads[commit] ?? ""));
			return pullRequest({ head, base: at("main-295") }, { number: Number(ref.split("/")[2]) });
		}
		case "push":
			return push(ref, before === undefined ? zeros : at(before), at(commit), { forced: isForced === true });
		case "release":
			return release(ref.slice("refs/tags/".length));
		case "workflow_dispatch":
			return workflowDispatch(ref);
		case "merge_group":
			return mergeGroup(at(commit), at("main-299"));
		case "schedule":
			return schedule();
		default:
			return payload?.();
	}
}

const ofFork = { headRef: "main", headRepository: stranger };
const ends = (more: object) => () => pullRequest({ head: at("feature-2"), base: at("main-295") }, more);

type Row = [what: string, Place, base: string | null, says: RegExp, more?: More];
const rows: Row[] = [
	[
		"the merge commit of a pull request",
		onMerge,
		"main-299",
		/that the pull request.s merge commit builds on/,
		{ isWholeToo: true, most: 2 },
	],
	[
		"the merge commit of a fork's pull request",
		onMerge,
		"main-299",
		/merge commit/,
		{ payload: ends(ofFork), most: 2 },
	],
	[
		"the head of a pull request",
		onMerge,
		"main-290",
		/merge base of .* and main/,
		{ isWholeToo: true, checkedOut: "feature-2", most: 80 },
	],
	[
		"the head of a pull request that left long ago",
		onOldMerge,
		"main-40",
		/merge base/,
		{ checkedOut: "old-1" },
	],
	[
		"the head of a branch that took main in twice",
		onMerge,
		"main-250",
		/merge base/,
		{ checkedOut: "long-3" },
	],
	[
		"a commit that an earlier step made on the head",
		onMerge,
		"main-250",
		/merge base/,
		{
			checkedOut: "long-3",
			payload: () => pullRequest({ head: at("long-1"), base: at("main-295") }),
			isWholeToo: true,
		},
	],
	[
		"a head without any history in common",
		onMerge,
		"main-299",
		/shares no history/,
		{ checkedOut: "stranger-1" },
	],
	[
		"a pull request into a branch that was deleted",
		onMerge,
		"main-290",
		/merge base of .* and gone/,
		{ checkedOut: "feature-2", payload: ends({ baseRef: "gone" }) },
	],
	["a push", onMain, "main-297", /main before this push/, { before: "main-297", isWholeToo: true, most: 2 }],
	[
		"a push after which the commit before is gone",
		onMain,
		"main-298",
		/the commit before .* is gone/,
		{ payload: () => push(onMain.ref, missing, at("main-299")), most: 2 },
	],
	["the push of a new branch", onTopic, "main-295", /left main: topic is new/],
	[
		"a forced push",
		onTopic,
		"main-295",
		/left main: topic was rewritten/,
		{ before: "before-1", isForced: true, isWholeToo: true },
	],
	[
		"a forced push of the default branch",
		onMain,
		"main-298",
		/the commit before .*: main was rewritten/,
		{ before: "before-1", isForced: true },
	],
	[
		"a push that is called forced and adds to the branch",
		onTopic,
		"topic-0",
		/topic before this push/,
		{ before: "topic-0", isForced: true },
	],
	[
		"a new branch that has nothing of its own",
		pushOf("heads/copy", "main-299"),
		"main-298",
		/the commit before .*: copy is new/,
	],
	[
		"the first commit of a history",
		pushOf("heads/stranger", "stranger-0"),
		null,
		/first commit of its history/,
	],
	[
		"the push of a version tag",
		onTag("v1.2.0", "main-280"),
		"main-200",
		/v1\.1\.0 is the release before v1\.2\.0\.$/,
		{ isWholeToo: true, most: 260 },
	],
	["a pre-release", onTag("v1.2.0-rc.1", "main-250"), "main-200", /v1\.1\.0 is the release before/],
	[
		"a release of a maintenance branch",
		{ ...onTag("v1.1.1", "maintenance-1"), event: "release" },
		"main-200",
		/v1\.1\.0 is the release before v1\.1\.1/,
	],
	[
		"the first release",
		{ ...onTag("v1.0.0", "main-100"), event: "release" },
		null,
		/no release comes before v1\.0\.0/,
		{ most: 1 },
	],
	[
		"a tag that is no version",
		onTag("latest", "main-260"),
		"main-250",
		/v1\.2\.0-rc\.1 is the release before latest/,
	],
	["the clock", nightly, "main-280", /v1\.2\.0 is the last release before/, { isWholeToo: true, most: 60 }],
	[
		"a hand on the commit of a release",
		{ ...nightly, event: "workflow_dispatch", commit: "main-280" },
		"main-200",
		/v1\.1\.0 is the last release before/,
	],
	[
		"the clock on the merge of a branch older than the last release",
		{ ...nightly, ref: "refs/heads/night", commit: "night" },
		"main-280",
		/v1\.2\.0 is the last release before \w+\.$/,
		{ isWholeToo: true },
	],
	[
		"a hand on a branch without any release",
		{ event: "workflow_dispatch", ref: "refs/heads/old", commit: "main-60" },
		"main-280",
		/v1\.2\.0 is the last release .* which lies on a branch of its own/,
	],
	[
		"the merge queue",
		{ event: "merge_group", ref: "refs/heads/gh-readonly-queue/main/pr-7", commit: "queue" },
		"main-299",
		/merge queue adds the change to, on main/,
		{ most: 2 },
	],
	["a pinned tag", onMerge, "main-100", /baseline\.ref pins: v1\.0\.0/, { ...pinned("v1.0.0"), most: 2 }],
	[
		"a pinned annotated tag",
		onMain,
		"main-280",
		/pins/,
		{ ...pinned("v1.2.0"), before: "main-297", most: 2 },
	],
	["a pinned branch", onMerge, "maintenance-1", /pins: maintenance/, { ...pinned("maintenance"), most: 2 }],
	["the pinned commit itself", nightly, null, /is its own base/, pinned("main")],
	[
		"the last release, for a pull request",
		onMerge,
		"main-280",
		/v1\.2\.0 is the last release/,
		{ baseline: { from: "tag" } },
	],
];
const situations = rows.map(([what, place, base, says, more]) => ({ what, base, says, ...place, ...more }));

function pinned(ref: string) {
	return { baseline: { from: "pinned", ref } } as const;
}

function cloned(ref: string, commit: string, depth: number) {
	const folder = mkdtempSync(join(root, "clone-"));
	const key = join(root, `made-${ref}-${commit}-${depth}`.replaceAll("/", "-"));
	if (!existsSync(key)) checkOut({ origin, folder: key, ref, commit: at(commit), depth });
	cpSync(key, folder, { recursive: true });
	return folder;
}

const historyOf = (folder: string) => openHistory(gitIn(folder, processes));

async function find(of: Run, folder?: string) {
	const { event: name, ref, commit, checkedOut: head = commit, baseline = { from: "base-ref" } } = of;
	const clone = folder ?? cloned(ref, head, of.depth ?? 1);
	const event = parseRunEvent(name, payloadOf(of), { sha: at(commit), ref });
	const history = await historyOf(clone);
	const base = await findBase({ event, baseline, head: at(head), history });
	if (event.kind === "pull-request") await requireChange(event, at(head), history);
	return { base, folder: clone };
}

it.each([
	[
		"names one in a payload that cannot be read",
		{ ...onMerge, payload: () => ({}) },
		"tool-output",
		"payload of the pull_request event could not be read",
	],
	[
		"is a pull request of which only the base is checked out",
		{ ...onMerge, checkedOut: "main-299" },
		"git-ref",
		"without the change of the pull request",
	],
	[
		"is a pull request of which another branch is checked out",
		{ ...onMerge, checkedOut: "topic-1", payload: ends({}) },
		"git-ref",
		"without the change of the pull request: expected ",
	],
	[
		"is a pull request whose head is gone, while another is checked out",
		{
			...onMerge,
			checkedOut: "topic-1",
			payload: () => pullRequest({ head: missing, base: at("main-295") }),
		},
		"git-ref",
		`expected ${missing.slice(0, 7)}, its head`,
	],
	[
		"has a base that neither the clone nor its remote has",
		{ ...onMain, event: "merge_group", payload: () => mergeGroup(at("main-299"), missing) },
		"git-ref",
		"neither this clone nor its remote has it",
	],
	["pins a ref that does not exist", { ...nightly, ...pinned("v9") }, "git-ref", '"v9"'],
])("findBase refuses an event that %s", async (_, of, code, words) => {
	await expectFault(find(of), code, words);
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

const clonedMain = () => cloned("refs/heads/main", "main-299", 1);

async function bringBase(folder: string): Promise<unknown> {
	return (await historyOf(folder)).bring(at("main-298"));
}

it("findBase without a required base reports that the remote cannot be reached, and what helps", async () => {
	const folder = clonedMain();
	git(folder, "remote", "set-url", "origin", "file:///nowhere/at/all.git");
	await expectFault(bringBase(folder), "tool-crashed", "", "fetch-depth: 0");
});

it("findBase without a required base names the permission that a refused fetch lacks", async () => {
	const folder = clonedMain();
	const refuse = "echo 'fatal: could not read Username: terminal prompts disabled' >&2\nexit 128";
	git(folder, "config", "remote.origin.uploadpack", writeScript(join(root, "refuse.sh"), refuse));
	await expectFault(bringBase(folder), "git-ref", "", /contents: read.*`token`.*fetch-depth/);
});

it("findBase without a required base uses the credentials that actions/checkout keeps, and never prompts if they fail", async () => {
	const folder = clonedMain();
	const seen: (string | undefined)[] = [];
	const server = createServer(({ headers }, response) => {
		seen.push(headers.authorization);
		response.writeHead(401, { "www-authenticate": 'Basic realm="GitHub"' }).end();
	});
	await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
	const { port } = server.address() as AddressInfo;
	git(folder, "remote", "set-url", "origin", `http://127.0.0.1:${port}/acme/engines`);
	git(folder, "config", `http.http://127.0.0.1:${port}/.extraheader`, "AUTHORIZATION: basic eDp0b2tlbg==");
	await expectFault(bringBase(folder), "git-ref", "denied the fetch");
	expect(seen[0]).toBe("basic eDp0b2tlbg==");
	server.close();
});

it("a clone without a remote uses its own commits", async () => {
	const folder = cloned("refs/heads/main", "main-299", 0);
	git(folder, "remote", "remove", "origin");
	const { base } = await find({ ...onMain, before: "main-297" }, folder);
	expect(base).toMatchObject({ commit: at("main-297") });
});

it("a clone with all history needs no remote, which may ask for rights that the job has not kept", async () => {
	const folder = cloned("refs/heads/feature", "feature-2", 0);
	git(folder, "remote", "set-url", "origin", "file:///nowhere/at/all.git");
	const found = async (of: Run) => (await find(of, folder)).base;
	expect(await found({ ...onMerge, checkedOut: "feature-2" })).toMatchObject({ commit: at("main-290") });
	expect(await found(nightly)).toMatchObject({ label: "v1.2.0" });
	for (const tag of git(folder, "tag").split("\n")) git(folder, "tag", "-d", tag);
	expect(await found(nightly)).toMatchObject({ state: "none" });
});

it("a clone that is partial and shallow is deepened too", async () => {
	const folder = join(root, "partial");
	git(root, "clone", "-q", "--filter=blob:none", "--depth=1", "--branch=feature", `file://${origin}`, folder);
	const history = await historyOf(folder);
	expect(await history.mergeBase(at("feature-2"), (await history.branchTip("main")) ?? "")).toBeNull();
	expect(await history.bring(at("main-299"))).toBe(true);
	expect(await history.mergeBase(at("feature-2"), at("main-299"))).toBe(at("main-290"));
});

it("a clone with a commit that its remote does not know is deepened from where it ends", async () => {
	const folder = cloned("refs/heads/feature", "feature-2", 1);
	git(folder, "commit", "-q", "--allow-empty", "-m", "made by the job");
	const history = await historyOf(folder);
	expect(await history.bring(at("main-299"))).toBe(true);
	expect(await history.mergeBase(git(folder, "rev-parse", "HEAD"), at("main-299"))).toBe(at("main-290"));
});

it("a clone of some depth is not made shallower", async () => {
	const folder = cloned("refs/heads/main", "main-299", 150);
	const history = await historyOf(folder);
	expect(await history.bring(at("main-200"))).toBe(true);
	expect(await history.isAncestor(at("main-200"), at("main-299"))).toBe(true);
	expect(await history.isAncestor(at("feature-0"), at("main-299"))).toBe(false);
	expect(git(folder, "rev-list", "--count", "HEAD")).toBe("150");
});
