import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { parseRunEvent, type RunEvent } from "../../src/host/formats/github/event.ts";
import { pullRequest } from "./event-payloads.ts";
import { checkOut, commitAll, git, mergeCommit } from "./git-history.ts";
import { type AtEnd, type ProjectFiles, temporaryFolder, writeProject } from "./project.ts";

export interface PullRepository {
	root: string;
	origin: string;
	base: string;
	head: string;
	merge: string;
}

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
	const merge = mergeCommit(work, base, head);
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
