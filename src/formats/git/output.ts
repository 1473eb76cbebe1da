// Parses the machine-readable output of git.
import type { Tag } from "./version-tag.ts";

const commit = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** An untrusted repository must not make us read more. */
const maxTags = 20_000;

/** Of `ls-remote` and `show-ref`: an annotated tag is followed by `NAME^{}` with its commit. A truncated last line is dropped. */
export function parseTags(text: string): Tag[] {
	const commits = new Map<string, string>();
	for (const line of text.split("\n").slice(0, -1)) {
		const match = /^([0-9a-f]{40,64})[\t ]refs\/tags\/(.+?)(\^\{\})?$/.exec(line);
		const [hash, name, peeled] = [match?.[1], match?.[2], match?.[3]];
		if (hash === undefined || name === undefined || !commit.test(hash)) continue;
		if (peeled !== undefined || !commits.has(name)) commits.set(name, hash);
		if (commits.size >= maxTags) break;
	}
	return [...commits].map(([name, hash]) => ({ name, commit: hash }));
}

/** From `git cat-file commit`, complete even in a shallow clone. */
export function parseParents(text: string): string[] {
	const header = text.split("\n\n", 1)[0] ?? "";
	return [...header.matchAll(/^parent ([0-9a-f]{40,64})$/gm)].map((match) => match[1] ?? "");
}

export function parseHashes(text: string): string[] {
	return text.split("\n").filter((line) => commit.test(line));
}

type FetchFault = "absent" | "denied" | "owner" | "unreachable";

const faults: readonly [FetchFault, RegExp][] = [
	["owner", /dubious ownership/i],
	[
		"absent",
		/not our ref|couldn't find remote ref|no such ref|unadvertised object|did not send all necessary objects|no commits selected for shallow|server does not support (shallow|--)/i,
	],
	[
		"denied",
		// GitHub answers 404 for a repository that a token may not read.
		/could not read (Username|Password)|Authentication failed|terminal prompts disabled|returned error: 40[134]|Permission denied|Repository ('[^']*' )?not found|access denied|Permission to .* denied/i,
	],
];

export function classifyFetch(lines: readonly string[]): FetchFault {
	const text = lines.join("\n");
	return faults.find(([, pattern]) => pattern.test(text))?.[0] ?? "unreachable";
}

type LfsFault = "absent" | "budget" | "denied" | "unreachable";

const lfsFaults: readonly [LfsFault, RegExp][] = [
	["budget", /exceeded its LFS budget|over its data quota/i],
	[
		"denied",
		/Authentication required|credentials .*not found|could not read (Username|Password)|Bad credentials/i,
	],
	["absent", /does not exist on the server/i],
	["denied", /Authorization error|proper access|forbidden|not accessible|Repository or object not found/i],
];

export function classifyLfs(lines: readonly string[]): { fault: LfsFault; line: string } {
	for (const [fault, pattern] of lfsFaults) {
		const line = lines.find((one) => pattern.test(one));
		if (line !== undefined) return { fault, line };
	}
	return {
		fault: "unreachable",
		line: lines.findLast((one) => !/failed to fetch some objects/i.test(one)) ?? lines.at(-1) ?? "",
	};
}
