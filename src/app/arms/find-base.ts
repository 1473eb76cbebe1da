// Finds the base commit of an event, and explains in one sentence how it was found.
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { ArmSource } from "../../../generated/result.ts";
import type { Config } from "../../core/config/config.ts";
import { onnxFilesOf } from "../../core/config/tensorrt-settings.ts";
import { ConfigError, ToolError } from "../../core/errors.ts";
import { type EngineSpec, engineSpecs } from "../../core/plan/plan.ts";
import { releaseTags, tagsBefore } from "../../formats/git/version-tag.ts";
import type { History } from "../../history/adapters/history.ts";
import type { PullRequestEvent, PushEvent, RunEvent } from "../../host/formats/github/event.ts";
import type { ArmFolder } from "../../stages/prepared.ts";

export type FoundBase =
	/** `tip`: where the target branch has moved on since. */
	| { state: "found"; commit: string; label: string; ref?: string; found: string; tip?: string }
	| { state: "none"; why: string };

type ReviewEvent = Exclude<RunEvent, { kind: "tag" } | { kind: "schedule" | "dispatch" }>;

/** Whether a change is under review, so that its target branch decides how it is compared. */
export function isReview(event: RunEvent | undefined): event is ReviewEvent {
	return event !== undefined && !["schedule", "dispatch", "tag"].includes(event.kind);
}

export function nameHead(event: RunEvent, commit: string): Pick<ArmSource, "label" | "ref"> {
	if (event.kind === "pull-request") {
		const label = `#${event.number}`;
		if (commit === event.mergeSha) return { label, ref: `refs/pull/${event.number}/merge` };
		return commit === event.headSha ? { label, ref: `refs/pull/${event.number}/head` } : { label };
	}
	if (event.kind === "merge-group") return { label: `merge queue of ${event.baseRef}` };
	const ref = event.kind === "tag" ? event.tag : "ref" in event ? event.ref : "";
	return ref === "" ? { label: short(commit) } : { label: ref, ref };
}

export interface BaseSearch {
	event: RunEvent | undefined;
	baseline: Config["baseline"];
	head: string;
	history: History;
}

/** @throws ConfigError git-ref if git cannot get the base; ToolError if it is unknown or the remote does not answer. */
export async function findBase(search: BaseSearch): Promise<FoundBase> {
	const { event, baseline, head } = search;
	const base = await followBaseline(search);
	if (base.state === "none" || base.commit !== head) return base;
	// Comparing a commit with itself would always pass.
	if (baseline.from === "base-ref" && event?.kind === "pull-request") {
		throw new ConfigError({
			code: "git-ref",
			message: `Base and head are the same commit: the checked-out commit is on ${event.baseRef}, without the change of the pull request.`,
			fix: checkoutFix,
		});
	}
	return { state: "none", why: `${short(head)} is its own base (${base.label})` };
}

const checkoutFix =
	"Run on `pull_request` with the default `ref` of actions/checkout, which is the merge commit.";

async function followBaseline(search: BaseSearch): Promise<FoundBase> {
	const { event, baseline } = search;
	// `pinned` without a ref is refused earlier.
	if (baseline.from === "pinned") return byRef(baseline.ref ?? "", search);
	if (event === undefined || baseline.from === "pin") return byRelease(null, search);
	if (event.kind === "tag") return byRelease(event.tag, search);
	return baseline.from === "tag" ? byRelease(null, search) : byEvent(event, search);
}

/** If the payload of these events cannot be read, any other base would be wrong. */
const namesItsBase = /^(pull_request|push|merge_group|release)/;

async function byEvent(event: RunEvent, search: BaseSearch): Promise<FoundBase> {
	if (event.kind === "pull-request") return byMergeBase(event, search);
	if (event.kind === "push") return byPush(event, search);
	if (event.kind === "merge-group") {
		const { baseSha, baseRef } = event;
		const what = `what the merge queue adds the change to, on ${baseRef}`;
		await requireCommit(baseSha, what, search.history);
		return found(baseSha, { label: short(baseSha) }, `${short(baseSha)} is ${what}.`);
	}
	if (event.kind === "other" && namesItsBase.test(event.name))
		throw unknownBase(`the payload of the ${event.name} event could not be read, so its base is not known`);
	return byRelease(null, search);
}

/** The commit where the head left the target branch, or the first parent if the head is the merge commit. */
async function byMergeBase(
	{ baseRef: branch, baseSha, headSha }: PullRequestEvent,
	{ head, history }: BaseSearch,
): Promise<FoundBase> {
	const source = { label: branch, ref: branch };
	const [first, second] = await history.parents(head);
	if (first !== undefined && second !== undefined && second === headSha) {
		await requireCommit(first, branch, history);
		const how = `${short(first)} is the commit of ${branch} that the pull request's merge commit builds on.`;
		return found(first, source, how);
	}
	const newest = (await history.branchTip(branch)) ?? baseSha;
	await requireCommit(newest, branch, history);
	const base = await history.mergeBase(head, newest);
	if (base !== null) {
		const how = `${short(base)} is the merge base of ${short(head)} and ${branch}.`;
		return { ...found(base, source, how), ...(base !== newest && { tip: newest }) };
	}
	const how = `${short(newest)} is the newest commit of ${branch}, with which ${short(head)} shares no history.`;
	return found(newest, source, how);
}

/** The verdict is published for the pull request's head, so it must be of no other change. */
export async function requireChange({ headSha, mergeSha }: PullRequestEvent, head: string, history: History) {
	if (head === headSha || head === mergeSha) return;
	if ((await history.bring(headSha)) && (await history.mergeBase(headSha, head)) === headSha) return;
	throw new ConfigError({
		code: "git-ref",
		message: `The checked-out commit ${short(head)} is without the change of the pull request: expected ${short(headSha)}, its head, or a commit that contains it.`,
		fix: checkoutFix,
	});
}

/** The commit before the push; if it is gone, where the branch left the default branch, else the commit before the head. */
async function byPush(
	{ ref, before, isForced, defaultBranch }: PushEvent,
	{ head, history }: BaseSearch,
): Promise<FoundBase> {
	const isHere = before !== null && (await history.bring(before));
	if (isHere && (!isForced || (await history.isAncestor(before, head))))
		return found(before, { label: short(before) }, `${short(before)} is ${ref} before this push.`);
	const lost = isForced ? `${ref} was rewritten` : `what ${ref} was before this push is gone`;
	const because = before === null ? `${ref} is new` : lost;
	if (defaultBranch !== undefined && defaultBranch !== ref) {
		const tip = await history.branchTip(defaultBranch);
		const base = tip !== null && (await history.bring(tip)) ? await history.mergeBase(head, tip) : null;
		const where = { label: defaultBranch, ref: defaultBranch };
		// A branch without commits of its own is compared with the commit before.
		if (base !== null && base !== head)
			return found(base, where, `${short(base)} is where ${ref} left ${defaultBranch}: ${because}.`);
	}
	const [parent] = await history.parents(head);
	if (parent === undefined)
		return { state: "none", why: `${short(head)} is the first commit of its history` };
	await requireCommit(parent, ref, history);
	const how = `${short(parent)} is the commit before ${short(head)}: ${because}.`;
	return found(parent, { label: short(parent) }, how);
}

/** @param tag of the head; null: the last release before it. */
async function byRelease(tag: string | null, { head, history }: BaseSearch): Promise<FoundBase> {
	const tags = await history.tags();
	const before = tag ?? short(head);
	const nearest = await history.nearestTag(tag === null ? releaseTags(tags) : tagsBefore(tag, tags), head);
	if (nearest === null) return { state: "none", why: `no release comes before ${before}` };
	const { name, commit } = nearest.tag;
	const branch = nearest.isAncestor ? "" : ", which lies on a branch of its own";
	const how = `${name} is the ${tag === null ? "last release" : "release"} before ${before}${branch}.`;
	return found(commit, { label: name, ref: name }, how);
}

async function byRef(ref: string, { history }: BaseSearch): Promise<FoundBase> {
	const commit = await history.find(ref);
	if (commit !== null)
		return found(commit, { label: ref, ref }, `${short(commit)} is what baseline.ref pins: ${ref}.`);
	throw new ConfigError({
		code: "git-ref",
		message: `Cannot find ${JSON.stringify(ref.slice(0, 200))}, which baseline.ref names: neither this clone nor its remote has it.`,
		fix: "Correct baseline.ref in the config.",
	});
}

function found(commit: string, source: { label: string; ref?: string }, sentence: string) {
	return { state: "found", commit, ...source, found: sentence } as const;
}

export async function requireCommit(commit: string, what: string, history: History): Promise<void> {
	if (await history.bring(commit)) return;
	throw new ConfigError({
		code: "git-ref",
		message: `Cannot get ${short(commit)}, the commit to compare with (${what}): neither this clone nor its remote has it.`,
		fix: "Check out this repository with actions/checkout and `fetch-depth: 0`, or name another base with the input `base`.",
	});
}

export function unknownBase(why: string): ToolError {
	const fix = "Run the job again; or name the base with the input `base`.";
	return new ToolError({ code: "tool-output", message: `Nothing can be compared: ${why}.`, fix });
}

function short(commit: string): string {
	return commit.slice(0, 7);
}

export function nothingToCompare(why: string, fix: string) {
	const message = `A change under review has nothing to be compared with: ${why}.`;
	return new ConfigError({ code: "git-ref", message, fix });
}

/** Such as one that happens to have the name of a branch. @throws ConfigError git-ref. */
export function refuseForeign({ path, source }: ArmFolder, config: Config) {
	const isPossible = ({ model, engine }: EngineSpec) =>
		(model.prepare ?? engine.build?.command) !== undefined ||
		onnxFilesOf(engine).some((file) => existsSync(join(path, file)));
	if (engineSpecs(config).some(isPossible)) return;
	throw new ConfigError({
		code: "git-ref",
		message: `The base ${source.label} is a folder with neither ${basename(config.path)} nor a model of the head: nothing can be compared.`,
		fix: "Name the folder of an earlier state; a branch that has a folder's name is refs/heads/NAME.",
	});
}
