// Reads GitHub's replies: only what we use, and null for what is not as GitHub promises.
import type { HostedComment, HostedIssue } from "../../ports/code-host.ts";

type Reply = Record<string, unknown>;

function recordOf(value: unknown): Reply | null {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Reply) : null;
}

const idOf = (value: unknown): number | null => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : null);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function authorOf(value: unknown): HostedComment["author"] {
	const user = recordOf(value);
	return user === null || typeof user["login"] !== "string" ? null : { login: user["login"], type: textOf(user["type"]) };
}

/** A list of which every item must be readable. */
export function parseList<Item>(data: unknown, parse: (item: unknown) => Item | null): Item[] | null {
	if (!Array.isArray(data)) return null;
	const items = data.map(parse);
	return items.some((item) => item === null) ? null : items.filter((item) => item !== null);
}

export function parseComment(data: unknown): HostedComment | null {
	const reply = recordOf(data);
	const id = idOf(reply?.["id"]);
	if (reply === null || id === null) return null;
	return {
		id,
		nodeId: textOf(reply["node_id"]),
		body: textOf(reply["body"]),
		author: authorOf(reply["user"]),
		url: textOf(reply["html_url"]),
	};
}

/** GitHub lists pull requests among issues. */
export function isPullRequest(data: unknown): boolean {
	return recordOf(recordOf(data)?.["pull_request"]) !== null;
}

export function parseIssue(data: unknown): HostedIssue | null {
	const reply = recordOf(data);
	const number = idOf(reply?.["number"]);
	if (reply === null || number === null) return null;
	return { number, body: textOf(reply["body"]), author: authorOf(reply["user"]), url: textOf(reply["html_url"]) };
}

export interface FoundCheckRun {
	id: number;
	url: string;
	externalId: string;
}

export function parseCheckRun(data: unknown): FoundCheckRun | null {
	const reply = recordOf(data);
	const id = idOf(reply?.["id"]);
	if (reply === null || id === null) return null;
	return { id, url: textOf(reply["html_url"]), externalId: textOf(reply["external_id"]) };
}

export function parseCheckRuns(data: unknown): FoundCheckRun[] | null {
	return parseList(recordOf(data)?.["check_runs"], parseCheckRun);
}

/** Open pull requests of a commit, whose head it is. */
export function parsePullNumbers(data: unknown, sha: string): number[] | null {
	const pulls = parseList(data, recordOf);
	return (
		pulls
			?.filter((pull) => pull["state"] === "open" && recordOf(pull["head"])?.["sha"] === sha)
			.flatMap((pull) => idOf(pull["number"]) ?? []) ?? null
	);
}

/** Whether a GraphQL answer holds data; its faults come with status 200. */
export function parseGraphQl(data: unknown): Reply | null {
	const reply = recordOf(data);
	return reply === null || Array.isArray(reply["errors"]) ? null : recordOf(reply["data"]);
}

export function parseLogin(data: unknown): string | null {
	const login = recordOf(parseGraphQl(data)?.["viewer"])?.["login"];
	return typeof login === "string" && login !== "" ? login : null;
}

/** Whether `Link` or a full page says that there is more. */
export function hasNextPage(headers: Record<string, unknown>, page: { items: number; size: number }): boolean {
	const link = headers["link"];
	return typeof link === "string" ? /rel="?next"?/.test(link) : page.items === page.size;
}
