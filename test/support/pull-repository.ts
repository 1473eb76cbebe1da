// A repository with one pull request, bare as on a server, and the workspace that a workflow has of it.
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { parseRunEvent, type RunEvent } from "../../src/host/formats/github/event.ts";
import { pullRequest } from "./event-payloads.ts";
import { checkOut, commitAll, git } from "./git-history.ts";
import { type AtEnd, temporaryFolder, writeProject } from "./project.ts";

export interface PullRepository {
	root: string;
	origin: string;
	/** main and then feature, merged as refs/pull/7/merge. */
	base: string;
	head: string;
	merge: string;
}

export type ProjectFiles = Readonly<Record<string, string | Uint8Array>>;

/** A repository with a pull request, whose base and head hold the given files. */
export function makeRepository(
	files: { base: ProjectFiles; head: ProjectFiles },
	atEnd?: AtEnd,
): PullRepository {
	const root = temporaryFolder(atEnd);
	const [work, origin] = [join(root, "work"), join(root, "origin.git")];
	mkdirSync(work);
	git(work, "init", "-q");
	const commit = (written: ProjectFiles, message: string): string => {
		writeProject(work, written);
		return commitAll(work, message);
	};
	commit({}, "first");
	const base = commit(files.base, "base");
	git(work, "checkout", "-q", "-b", "feature", "HEAD~1");
	const head = commit(files.head, "head");
	// The runner's merge has the base as its first parent.
	const merge = git(work, "commit-tree", `${head}^{tree}`, "-p", base, "-p", head, "-m", "merge");
	git(root, "clone", "-q", "--bare", work, origin);
	writeProject(origin, { "refs/pull/7/merge": `${merge}\n`, "refs/pull/7/head": `${head}\n` });
	git(origin, "config", "uploadpack.allowAnySHA1InWant", "true");
	return { root, origin, base, head, merge };
}

export function workspaceOf(repo: PullRepository, checkedOut = repo.merge): string {
	return checkOut({
		origin: repo.origin,
		folder: mkdtempSync(join(repo.root, "workspace-")),
		ref: "refs/pull/7/merge",
		commit: checkedOut,
		depth: 1,
	});
}

export function pullEvent(repo: PullRepository, options: Parameters<typeof pullRequest>[1] = {}): RunEvent {
	return parseRunEvent("pull_request", pullRequest({ head: repo.head, base: repo.base }, options), {
		sha: repo.merge,
		ref: "refs/pull/7/merge",
	});
}
