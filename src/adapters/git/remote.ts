// Fetches from the remote of a clone: single commits, older history, names of tags and branches.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { classifyFetch, parseRemoteTags } from "../../formats/git/output.ts";
import type { Tag } from "../../formats/git/version-tag.ts";
import { isRefName } from "../../formats/github/names.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { isPlainRef, isShallow, refuseForeignOwner } from "./refs.ts";
import { fixOfDenied, type Git, slowMs, succeeded } from "./run-git.ts";

/** How much of the history a fetch adds: a number of commits, all since a time, or everything. */
export type Depth = { deepenBy: number } | { sinceSeconds: number } | "all";

export interface Remote {
	/** Name of the remote; null where the clone has none. */
	name: string | null;
	/** Fetches one commit; false where the remote does not have it (any more). */
	bring(commit: string): Promise<boolean>;
	/** Fetches the history before the commits at which a shallow clone ends; false where the remote refuses. */
	deepen(edges: readonly string[], depth: Depth): Promise<boolean>;
	branchTip(branch: string): Promise<string | null>;
	tags(): Promise<Tag[]>;
}

const lsRemoteMs = 2 * 60_000;
/** Twenty thousand tags of 200 bytes. */
const listBytes = 4 * 1024 * 1024;
const retryAfterMs = 2_000;

export async function openRemote(git: Git): Promise<Remote> {
	const name = await remoteName(git);
	if (name === null) return silentRemote(null);
	const fetch = (args: readonly string[], wanted: readonly string[]): Promise<boolean> =>
		tryTwice(
			() =>
				git(["fetch", "--no-tags", "--quiet", ...args, name, ...wanted], { timeoutMs: slowMs, online: true }),
			name,
			git,
		);
	return {
		name,
		// A depth truncates a complete clone, so only a shallow one gets one.
		bring: async (commit) => fetch((await isShallow(git)) ? ["--depth=1"] : [], [commit]),
		deepen: (edges, depth) =>
			edges.length === 0 ? Promise.resolve(false) : fetch([depthFlag(depth)], edges),
		async branchTip(branch) {
			if (!isRefName(branch)) return null;
			const listed = await list(git, [name, `refs/heads/${branch}`]);
			return /^([0-9a-f]{40,64})\t/.exec(listed)?.[1] ?? null;
		},
		tags: async () => parseRemoteTags(await list(git, ["--tags", name])),
	};
}

/** A remote that has nothing and is never contacted. */
export function silentRemote(name: string | null): Remote {
	const absent = async (): Promise<false> => false;
	return { name, bring: absent, deepen: absent, branchTip: async () => null, tags: async () => [] };
}

/** `origin`, or else the first remote of the clone. */
export async function remoteName(git: Git): Promise<string | null> {
	return pickRemote((await git(["remote"])).stdout.split("\n"));
}

export function pickRemote(all: readonly string[]): string | null {
	const names = all.filter((name) => name !== "" && isPlainRef(name));
	return names.includes("origin") ? "origin" : (names[0] ?? null);
}

function depthFlag(depth: Depth): string {
	if (depth === "all") return "--unshallow";
	return "deepenBy" in depth ? `--deepen=${depth.deepenBy}` : `--shallow-since=${depth.sinceSeconds}`;
}

async function list(git: Git, args: readonly string[]): Promise<string> {
	let text = "";
	const listing = async (): Promise<ProcessRecord> => {
		const record = await git(["ls-remote", "--quiet", ...args], {
			timeoutMs: lsRemoteMs,
			captureBytes: listBytes,
			online: true,
		});
		text = record.stdout;
		return record;
	};
	await tryTwice(listing, args.find((arg) => !arg.startsWith("-")) ?? "the remote", git);
	return text;
}

/** Tries again if the connection broke. @returns false where the remote lacks what was requested. */
async function tryTwice(call: () => Promise<ProcessRecord>, remote: string, git: Git): Promise<boolean> {
	for (let tries = 1; ; tries++) {
		const record = await call();
		if (succeeded(record)) return true;
		const fault = classifyFetch(record.tail);
		if (fault === "absent") return false;
		if (fault === "denied" || fault === "refused" || fault === "keyless")
			throw deniedError(record, remote, fixOfDenied(fault, await git.identity()));
		if (fault === "owner" || tries === 2) throw remoteError(record, remote);
		await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
	}
}

function deniedError(record: ProcessRecord, remote: string, fix: string): ConfigError {
	return new ConfigError({
		code: "git-ref",
		message: `The base is not in this clone, and ${remote} denied the fetch.`,
		excerpt: record.tail.slice(-5),
		fix: `${fix} Or check out with \`fetch-depth: 0\`.`,
	});
}

function remoteError(record: ProcessRecord, remote: string): ToolError {
	refuseForeignOwner(record.tail);
	return new ToolError({
		code: "tool-crashed",
		message: `The base is not in this clone, and git could not fetch it from ${remote}.`,
		excerpt: record.tail.slice(-5),
		fix: "Run the job again, or check out with `fetch-depth: 0`, so that no later fetch is needed.",
	});
}
