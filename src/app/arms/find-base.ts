// Finds the base commit through git, and explains in one sentence how it was found.

import { ConfigError, ToolError } from "../../core/errors.ts";
import { releaseTags, tagsBefore } from "../../formats/git/version-tag.ts";
import type { History } from "../../history/adapters/history.ts";
import type { BaseRecipe, BranchPoint } from "./choose-base.ts";

export type FoundBase =
	| { state: "found"; commit: string; label: string; ref?: string; found: string }
	| { state: "none"; why: string };

/** @throws ConfigError git-ref if git cannot get the base; ToolError if the remote does not answer. */
export async function findBase(recipe: BaseRecipe, head: string, history: History): Promise<FoundBase> {
	const search: Search = { head, history };
	const base = await followRecipe(recipe, search);
	if (base.state === "none" || base.commit !== head) return base;
	// Comparing a commit with itself would always pass.
	if (recipe.how === "merge-base") {
		throw new ConfigError({
			code: "git-ref",
			message: `Base and head are the same commit: the checked-out commit is on ${recipe.branch}, without the change of the pull request.`,
			fix: "Run on `pull_request` with the default `ref` of actions/checkout, which is the merge commit.",
		});
	}
	return { state: "none", why: `${short(head)} is its own base (${base.label})` };
}

interface Search {
	head: string;
	history: History;
}

function followRecipe(recipe: BaseRecipe, search: Search): Promise<FoundBase> {
	switch (recipe.how) {
		case "merge-base":
			return byMergeBase(recipe, search);
		case "commit":
			return byCommit(recipe, search);
		case "branch-point":
			return byBranchPoint(recipe, search);
		case "previous-tag":
			return byRelease(recipe.tag, search);
		case "last-release":
			return byRelease(null, search);
		case "ref":
			return byRef(recipe.ref, search);
		case "none":
			return Promise.resolve({ state: "none", why: recipe.why });
		case "unknown":
			throw unknownBase(recipe.why);
	}
}

async function byMergeBase(
	recipe: Extract<BaseRecipe, { how: "merge-base" }>,
	{ head, history }: Search,
): Promise<FoundBase> {
	const { branch, tip, merged } = recipe;
	const source = { label: branch, ref: branch };
	const [first, second] = await history.parents(head);
	if (first !== undefined && second !== undefined && second === merged) {
		await requireCommit(first, branch, history);
		const how = `${short(first)} is the commit of ${branch} that the pull request's merge commit builds on.`;
		return found(first, source, how);
	}
	const newest = (await history.branchTip(branch)) ?? tip ?? null;
	if (newest === null || !(await history.bring(newest))) throw missingCommit(tip ?? branch, branch);
	const base = await history.mergeBase(head, newest);
	if (base !== null)
		return found(base, source, `${short(base)} is the merge base of ${short(head)} and ${branch}.`);
	const how = `${short(newest)} is the newest commit of ${branch}, with which ${short(head)} shares no history.`;
	return found(newest, source, how);
}

async function byCommit(recipe: Extract<BaseRecipe, { how: "commit" }>, search: Search): Promise<FoundBase> {
	const { commit, mustBeAncestor, otherwise } = recipe;
	const { history, head } = search;
	const isHere = await history.bring(commit);
	if (isHere && (!mustBeAncestor || (await history.isAncestor(commit, head)))) {
		return found(commit, { label: short(commit) }, `${short(commit)} is ${recipe.found}.`);
	}
	if (otherwise !== undefined) return byBranchPoint(otherwise, search);
	throw missingCommit(commit, recipe.found);
}

async function byBranchPoint(
	{ branch, defaultBranch, because }: BranchPoint,
	{ head, history }: Search,
): Promise<FoundBase> {
	if (defaultBranch !== undefined && defaultBranch !== branch) {
		const tip = await history.branchTip(defaultBranch);
		const base = tip !== null && (await history.bring(tip)) ? await history.mergeBase(head, tip) : null;
		const where = { label: defaultBranch, ref: defaultBranch };
		// A branch without commits of its own is compared with the commit before.
		if (base !== null && base !== head)
			return found(base, where, `${short(base)} is where ${branch} left ${defaultBranch}: ${because}.`);
	}
	const [parent] = await history.parents(head);
	if (parent === undefined)
		return { state: "none", why: `${short(head)} is the first commit of its history` };
	await requireCommit(parent, branch, history);
	const how = `${short(parent)} is the commit before ${short(head)}: ${because}.`;
	return found(parent, { label: short(parent) }, how);
}

/** @param tag of the head; null: the last release before it. */
async function byRelease(tag: string | null, { head, history }: Search): Promise<FoundBase> {
	const tags = await history.tags();
	const before = tag ?? short(head);
	const nearest = await history.nearestTag(tag === null ? releaseTags(tags) : tagsBefore(tag, tags), head);
	if (nearest === null) return { state: "none", why: `no release comes before ${before}` };
	const { name, commit } = nearest.tag;
	const branch = nearest.isAncestor ? "" : ", which lies on a branch of its own";
	const how = `${name} is the ${tag === null ? "last release" : "release"} before ${before}${branch}.`;
	return found(commit, { label: name, ref: name }, how);
}

async function byRef(ref: string, { history }: Search): Promise<FoundBase> {
	const commit = await history.find(ref);
	if (commit !== null)
		return found(commit, { label: ref, ref }, `${short(commit)} is what baseline.ref pins: ${ref}.`);
	throw new ConfigError({
		code: "git-ref",
		message: `Cannot find ${JSON.stringify(ref.slice(0, 200))}, which baseline.ref names: neither this clone nor its remote has it.`,
		fix: "Correct baseline.ref in the config.",
	});
}

function found(commit: string, source: { label: string; ref?: string }, sentence: string): FoundBase {
	return { state: "found", commit, ...source, found: sentence };
}

async function requireCommit(commit: string, what: string, history: History): Promise<void> {
	if (!(await history.bring(commit))) throw missingCommit(commit, what);
}

export function missingCommit(commit: string, what: string): ConfigError {
	return new ConfigError({
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
