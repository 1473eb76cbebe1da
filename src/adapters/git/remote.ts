// Fetches from a clone's remote.
import { ConfigError, ToolError } from "../../core/errors.ts";
import { classifyFetch, parseTags } from "../../formats/git/output.ts";
import { isRefName } from "../../host/formats/github/names.ts";
import type { ProcessRecord } from "../process/spawn.ts";
import {
	fixOfDenied,
	type Git,
	isPlainRef,
	isShallow,
	refuseForeignOwner,
	slowMs,
	succeeded,
} from "./run-git.ts";

export type Depth = `--deepen=${number}` | "--unshallow";

export type Remote = Awaited<ReturnType<typeof openRemote>>;

const lsRemoteMs = 2 * 60_000;
const listBytes = 4 * 1024 * 1024;
const retryAfterMs = 2_000;

export async function openRemote(git: Git, mayFetch: boolean) {
	const name = await remoteName(git);
	const remote = mayFetch ? name : null;
	const fetch = async (args: readonly string[], wanted: readonly string[]) => {
		if (remote === null) return false;
		const all = ["fetch", "--no-tags", "--quiet", ...args, remote, ...wanted];
		return (await tryTwice(all, { remote, git, timeoutMs: slowMs })) !== null;
	};
	const list = async (flags: readonly string[], refs: readonly string[]) => {
		if (remote === null) return "";
		const all = ["ls-remote", "--quiet", ...flags, remote, ...refs];
		const limits = { timeoutMs: lsRemoteMs, captureBytes: listBytes };
		return (await tryTwice(all, { remote, git, ...limits })) ?? "";
	};
	return {
		name,
		/** @returns false if the remote does not have the commit. A depth would truncate a complete clone. */
		bring: async (commit: string) => fetch((await isShallow(git)) ? ["--depth=1"] : [], [commit]),
		deepen: async (edges: readonly string[], depth: Depth) => edges.length > 0 && fetch([depth], edges),
		async branchTip(branch: string) {
			if (!isRefName(branch)) return null;
			const listed = await list([], [`refs/heads/${branch}`]);
			return /^([0-9a-f]{40,64})\t/.exec(listed)?.[1] ?? null;
		},
		tags: async () => parseTags(await list(["--tags"], [])),
	};
}

export async function remoteName(git: Git): Promise<string | null> {
	return pickRemote((await git(["remote"])).stdout.split("\n"));
}

export function pickRemote(all: readonly string[]): string | null {
	const names = all.filter((name) => name !== "" && isPlainRef(name));
	return names.includes("origin") ? "origin" : (names[0] ?? null);
}

/** Tries again if the connection broke. @returns null if the remote lacks it. */
async function tryTwice(
	args: readonly string[],
	{ remote, git, ...call }: { remote: string; git: Git; timeoutMs: number; captureBytes?: number },
) {
	for (let tries = 1; ; tries++) {
		const record = await git(args, { ...call, online: true });
		if (succeeded(record)) return record.stdout;
		const fault = classifyFetch(record.tail);
		if (fault === "absent") return null;
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

function remoteError(record: ProcessRecord, remote: string) {
	refuseForeignOwner(record.tail);
	return new ToolError({
		code: "tool-crashed",
		message: `The base is not in this clone, and git could not fetch it from ${remote}.`,
		excerpt: record.tail.slice(-5),
		fix: "Run the job again, or check out with `fetch-depth: 0`, so that no later fetch is needed.",
	});
}
