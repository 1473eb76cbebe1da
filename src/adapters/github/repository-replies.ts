// Reads what GitHub says of commits, trees and pull requests: only what we use, and null for what is not as GitHub promises.
import type { CommitRelation, HostedPull } from "../../ports/code-host.ts";

type Reply = Record<string, unknown>;

function recordOf(value: unknown): Reply {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Reply) : {};
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export function hashOf(value: unknown): string | null {
	return typeof value === "string" && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(value) ? value : null;
}

export function parseDefaultBranch(data: unknown): string | null {
	return textOf(recordOf(data)["default_branch"]) || null;
}

/** Of an answer that is about one object. */
export function parseSha(data: unknown): string | null {
	return hashOf(recordOf(data)["sha"]);
}

/** Of a ref: a tag may point at an object of its own, a branch never does. */
export function parseRef(data: unknown): string | null {
	const object = recordOf(recordOf(data)["object"]);
	return object["type"] === "commit" ? hashOf(object["sha"]) : null;
}

export function parseCommitTree(data: unknown): string | null {
	return hashOf(recordOf(recordOf(data)["tree"])["sha"]);
}

const relations = ["identical", "ahead", "behind", "diverged"] as const;

export function parseRelation(data: unknown): CommitRelation | null {
	const reply = recordOf(data);
	const relation = relations.find((one) => one === reply["status"]);
	const total = reply["ahead_by"];
	if (relation === undefined || typeof total !== "number" || !Array.isArray(reply["commits"])) return null;
	const commits = reply["commits"].map((one) => ({
		sha: hashOf(recordOf(one)["sha"]) ?? "",
		message: textOf(recordOf(recordOf(one)["commit"])["message"]),
	}));
	return commits.some(({ sha }) => sha === "") ? null : { relation, commits, total };
}

export interface ListedEntry {
	path: string;
	type: string;
	sha: string;
}

/** null also where GitHub left some out, having too many: what is not listed may be there. */
export function parseTree(data: unknown): ListedEntry[] | null {
	const { tree, truncated } = recordOf(data);
	if (!Array.isArray(tree) || truncated === true) return null;
	const entries = tree.map((one) => {
		const { path, type, sha } = recordOf(one);
		return { path: textOf(path), type: textOf(type), sha: hashOf(sha) ?? "" };
	});
	return entries.some(({ path, sha }) => path === "" || sha === "") ? null : entries;
}

export function parseBlob(data: unknown): Uint8Array | null {
	const { content, encoding } = recordOf(data);
	if (typeof content !== "string") return null;
	if (encoding === "base64") return new Uint8Array(Buffer.from(content, "base64"));
	return encoding === "utf-8" ? new TextEncoder().encode(content) : null;
}

export function parsePull(data: unknown): HostedPull | null {
	const { number, title, body, html_url: url } = recordOf(data);
	if (!Number.isSafeInteger(number) || Number(number) <= 0) return null;
	return { number: Number(number), title: textOf(title), body: textOf(body), url: textOf(url) };
}
