// Fetches from a clone's remote.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { classifyFetch, parseRemoteTags } from "../../formats/git/output.ts";
import type { Tag } from "../../formats/git/version-tag.ts";
import { isRefName } from "../../host/formats/github/names.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import { isPlainRef, isShallow, refuseForeignOwner } from "./refs.ts";
import { fixOfDenied, type Git, slowMs, succeeded } from "./run-git.ts";

export type Depth = { deepenBy: number } | { sinceSeconds: number } | "all";

export interface Remote {
	name: string | null;
	/** @returns false if the remote does not have it. */
	bring(commit: string): Promise<boolean>;
	/** @returns false if the remote refuses. */
	deepen(edges: readonly string[], depth: Depth): Promise<boolean>;
	branchTip(branch: string): Promise<string | null>;
	tags(): Promise<Tag[]>;
}

const lsRemoteMs = 2 * 60_000;
const listBytes = 4 * 1024 * 1024;
const retryAfterMs = 2_000;

export async function openRemote(git: Git): Promise<Remote> {
	const name = await remoteName(git);
	if (name === null) return silentRemote(null);
	const fetch = (args: readonly string[], wanted: readonly string[]): Promise<boolean> => {
		const all = ["fetch", "--no-tags", "--quiet", ...args, name, ...wanted];
		return tryTwice(() => git(all, { timeoutMs: slowMs, online: true }), name, git);
	};
	return {
		name,
		// A depth would truncate a complete clone.
		bring: async (commit) => fetch((await isShallow(git)) ? ["--depth=1"] : [], [commit]),
		deepen: (edges, depth) =>
			edges.length === 0 ? Promise.resolve(false) : fetch([depthFlag(depth)], edges),
		async branchTip(branch) {
			if (!isRefName(branch)) return null;
			const listed = await list([name, `refs/heads/${branch}`], name, git);
			return /^([0-9a-f]{40,64})\t/.exec(listed)?.[1] ?? null;
		},
		tags: async () => parseRemoteTags(await list(["--tags", name], name, git)),
	};
}

export function silentRemote(name: string | null): Remote {
	const absent = async (): Promise<false> => false;
	return { name, bring: absent, deepen: absent, branchTip: async () => null, tags: async () => [] };
}

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

async function list(args: readonly string[], remote: string, git: Git): Promise<string> {
	let text = "";
	const call = { timeoutMs: lsRemoteMs, captureBytes: listBytes, online: true };
	await tryTwice(
		async () => {
			const record = await git(["ls-remote", "--quiet", ...args], call);
			text = record.stdout;
			return record;
		},
		remote,
		git,
	);
	return text;
}

/** Tries again if the connection broke. @returns false if the remote lacks it. */
async function tryTwice(call: () => Promise<ProcessRecord>, remote: string, git: Git): Promise<boolean> {
	for (let tries = 1; ; tries++) {
		const record = await call();
		if (succeeded(record)) return true;
		const fault = classifyFetch(record.tail);
		if (fault === "absent") return false;
		if (fault === "denied")
			throw new ConfigError({
				code: "git-ref",
				message: `The base is not in this clone, and ${remote} denied the fetch.`,
				excerpt: record.tail.slice(-5),
				fix: `${fixOfDenied(await git.identity())} Or check out with \`fetch-depth: 0\`.`,
			});
		if (fault === "owner" || tries === 2) throw remoteError(record, remote);
		await new Promise((resolve) => setTimeout(resolve, retryAfterMs));
	}
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
