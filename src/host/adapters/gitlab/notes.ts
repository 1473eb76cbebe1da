// Notes of a GitLab merge request, as the comments of a pull request.
import { setTimeout } from "node:timers/promises";
import { fieldsOf, parseJson } from "../../../core/found.ts";
import type { ApiResult, CommentHost, HostedComment } from "../../../ports/code-host.ts";
import type { Pipeline } from "../../formats/gitlab/pipeline.ts";
import { idOf, parseList, textOf } from "../github/code-host.ts";
import { faultOf, readFailure } from "../github/faults.ts";

const callMs = 10_000;
const maxPages = 50;
const pageSize = 100;
const maxTries = 3;

interface Request<Value> {
	method: "GET" | "POST" | "PUT" | "DELETE";
	url: string;
	body?: string;
	/** null if the answer is not what GitLab documents. */
	parse(data: unknown): Value | null;
}

const passing: ReadonlySet<string> = new Set(["github-unavailable", "github-timeout", "github-rate-limited"]);

/** @throws Error, which `readFailure` reads. */
async function ask<Value>({ method, url, body, parse }: Request<Value>, token: string) {
	const response = await fetch(url, {
		method,
		headers: { "private-token": token, "content-type": "application/json" },
		signal: AbortSignal.timeout(callMs),
		...(body !== undefined && { body: JSON.stringify({ body }) }),
	});
	const data = parseJson(await response.text());
	const value = response.ok ? parse(data) : null;
	if (value !== null) return value;
	const { status, headers } = response;
	throw Object.assign(new Error(""), { response: { status, headers: Object.fromEntries(headers), data } });
}

/** https://docs.gitlab.com/api/notes/#merge-requests */
export function gitlabNotes({ notesUrl, noteUrl, userUrl, token }: Pipeline, secondMs = 1000): CommentHost {
	const parse = (data: unknown) => {
		const { id: given, body, author } = fieldsOf(data);
		const id = idOf(given);
		const login = textOf(fieldsOf(author)["username"]);
		if (id === null) return null;
		return {
			id,
			body: textOf(body),
			author: login === "" ? null : { login, type: "" },
			url: `${noteUrl}${id}`,
		};
	};
	const pause = async (tries: number) => {
		if (tries < maxTries) await setTimeout(tries ** 2 * secondMs);
		return tries < maxTries;
	};
	async function send<Value>(request: Request<Value>, tries = 1): Promise<ApiResult<{ value: Value }>> {
		const { method, url } = request;
		try {
			return { state: "done", value: await ask(request, token) };
		} catch (error) {
			const info = {
				endpoint: `${method} ${url}`,
				permission: "api",
				creates: method === "POST",
				host: "GitLab",
			};
			const fault = faultOf(readFailure(error), info);
			if (passing.has(fault.code) && !fault.unclear && (await pause(tries))) return send(request, tries + 1);
			return {
				state: "failed",
				fault: fault.code === "github-permission" ? { ...fault, fix: tokenFix } : fault,
			};
		}
	}
	const one = async (request: Omit<Request<HostedComment>, "parse">) => {
		const answer = await send({ ...request, parse });
		return answer.state === "failed" ? answer : { state: "done" as const, comment: answer.value };
	};
	return {
		pause,
		async login() {
			const parseLogin = (data: unknown) => textOf(fieldsOf(data)["username"]) || null;
			const answer = await send({ method: "GET", url: userUrl, parse: parseLogin });
			return answer.state === "done" ? answer.value : null;
		},
		async comments() {
			const comments: HostedComment[] = [];
			for (let page = 1; page <= maxPages; page += 1) {
				const url = `${notesUrl}?sort=asc&per_page=${pageSize}&page=${page}`;
				const answer = await send({ method: "GET", url, parse: (data) => parseList(data, parse) });
				if (answer.state === "failed") return answer;
				comments.push(...answer.value);
				if (answer.value.length < pageSize) break;
			}
			return { state: "done", comments };
		},
		newestComments: null,
		createComment: (_, body) => one({ method: "POST", url: notesUrl, body }),
		updateComment: (id, body) => one({ method: "PUT", url: `${notesUrl}/${id}`, body }),
		async deleteComment(id) {
			const answer = await send({ method: "DELETE", url: `${notesUrl}/${id}`, parse: () => true });
			return answer.state === "failed" ? answer : { state: "done" };
		},
	};
}

const tokenFix =
	"Give TRTGATE_GITLAB_TOKEN a project access token with the scope `api` and the role Reporter or above; a job's own token may not write notes.";
