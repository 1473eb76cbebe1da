// Sends requests to GitHub. octokit's plugins retry and wait, within the pace's patience.
import { setTimeout } from "node:timers/promises";
import type { ApiResult } from "../../../ports/code-host.ts";
import { faultOf, nothingToFix, type RequestInfo, readFailure, withTimeout } from "./faults.ts";

export interface Pace {
	callMs: number;
	/** Of all failed and retried requests, with the waits between them. */
	patienceMs: number;
	secondMs: number;
}

/** Enough for one minute that GitHub asks to wait; publishing keeps the runner. */
export const usualPace: Pace = { callMs: 10_000, patienceMs: 90_000, secondMs: 1000 };

export interface GitHubOptions {
	token: string;
	apiUrl: string;
	graphQlUrl: string;
	repository: string;
	/** In messages; GitHub if absent. */
	host?: string;
	pace?: Pace;
}

type Given = Readonly<Record<string, unknown>>;
/** null if the answer is not what GitHub documents. */
type Parse<Value> = (data: unknown, headers: Given) => Value | null;

interface ApiRequest<Value> {
	route: string;
	given: Given;
	permission: string;
	/** A POST that creates nothing, or the same thing again. */
	repeatable?: boolean;
	parse: Parse<Value>;
}

export type Ask = <Name extends string, Value>(
	name: Name,
	route: string,
	given: Given,
	parse: Parse<Value>,
) => Promise<ApiResult<Record<Name, Value>>>;

export interface Api {
	/** Routes begin below `/repos/{owner}/{repo}`. */
	asking(permission: string, how?: { repeatable: true }): Ask;
	pages<Name extends string, Item>(
		name: Name,
		call: Omit<ApiRequest<Item[]>, "repeatable">,
	): Promise<ApiResult<Record<Name, Item[]>>>;
	graphQl<Value>(
		query: string,
		permission: string,
		parse: Parse<Value>,
	): Promise<ApiResult<{ value: Value }>>;
	/** The token's user. */
	user<Value>(parse: Parse<Value>): Promise<ApiResult<{ value: Value }>>;
	pause(tries: number): Promise<boolean>;
	owner: string;
}

const maxRetries = 3;
const pageSize = 100;
const maxPages = 130;

export function openApi(options: GitHubOptions, pace: Pace = options.pace ?? usualPace): Api {
	const [owner = "", repo = ""] = options.repository.split("/");
	const { send, pause } = createSender(options, pace);
	const inRepository = <Value>({ route, given, ...call }: ApiRequest<Value>) =>
		send({ ...call, route: route.replace(" ", " /repos/{owner}/{repo}"), given: { owner, repo, ...given } });
	return {
		owner,
		pause,
		asking: (permission, how) => async (name, route, given, parse) =>
			named(name, await inRepository({ route, given, permission, parse, ...how })),
		async pages(name, { given, parse, ...call }) {
			const items = [];
			let before = "";
			for (let page = 1; page <= maxPages; page += 1) {
				const answer = await inRepository({
					...call,
					given: { ...given, per_page: pageSize, page },
					parse: (data, headers) => {
						const own = parse(data, headers);
						const { link } = headers;
						const isMore = typeof link === "string" ? /rel="?next"?/.test(link) : own?.length === pageSize;
						return own && { own, isMore };
					},
				});
				if (answer.state === "failed") return answer;
				const { own, isMore } = answer.value;
				// Gitea gives all comments whatever page is asked for.
				const listed = JSON.stringify(own);
				if (listed === before) break;
				before = listed;
				items.push(...own);
				if (!isMore) break;
			}
			return named(name, { state: "done", value: items });
		},
		graphQl: (query, permission, parse) =>
			send({ route: `POST ${options.graphQlUrl}`, given: { query }, permission, repeatable: true, parse }),
		user: (parse) => send({ route: "GET /user", given: {}, permission: "metadata: read", parse }),
	};
}

function named<Value, Name extends string>(
	name: Name,
	answer: ApiResult<{ value: Value }>,
): ApiResult<Record<Name, Value>> {
	if (answer.state === "failed") return answer;
	return { state: "done", ...({ [name]: answer.value } as Record<Name, Value>) };
}

function createSender(access: GitHubOptions, pace: Pace) {
	let leftMs = pace.patienceMs;
	/** After a request failed in all tries, others are tried once. */
	let isAway = false;
	let octokit: ReturnType<typeof openOctokit> | null = null;
	return {
		async send<Value>({
			route,
			given,
			permission,
			repeatable,
			parse,
		}: ApiRequest<Value>): Promise<ApiResult<{ value: Value }>> {
			const endpoint = route.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name] ?? ""));
			const creates = endpoint.startsWith("POST ") && repeatable !== true;
			const info: RequestInfo = { endpoint, permission, creates, host: access.host };
			if (leftMs <= 0) {
				const message = `${endpoint} was not tried: the limit of ${Math.round(pace.patienceMs / 1000)} s for all waiting is used up.`;
				return { state: "failed", fault: { code: "github-timeout", message, fix: nothingToFix } };
			}
			octokit ??= openOctokit(access, pace.secondMs, (ms) => ms < leftMs);
			let tries = 0;
			const limit = AbortSignal.timeout(Math.ceil(leftMs));
			const startTry = () => {
				tries += 1;
				return AbortSignal.any([limit, AbortSignal.timeout(pace.callMs)]);
			};
			const startedMs = performance.now();
			try {
				const { request } = await octokit;
				const options = { startTry, parse, ...((creates || isAway) && { retries: 0 }) };
				const { data } = await withTimeout(leftMs, request(route, { ...given, request: options }));
				isAway = false;
				if (tries > 1) leftMs -= performance.now() - startedMs;
				return { state: "done", value: data };
			} catch (error) {
				isAway ||= tries > 1;
				leftMs -= performance.now() - startedMs;
				return { state: "failed", fault: faultOf(readFailure(error), info) };
			}
		},
		async pause(tries: number) {
			const waitMs = tries ** 2 * pace.secondMs;
			if (tries > maxRetries || waitMs >= leftMs) return false;
			leftMs -= waitMs;
			await setTimeout(waitMs);
			return true;
		},
	};
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function openOctokit(
	{ token, apiUrl }: GitHubOptions,
	secondMs: number,
	mayWait: (ms: number) => boolean,
) {
	const [{ GitHub, getOctokitOptions }, { retry }, { throttling }, { default: Bottleneck }] =
		await Promise.all([
			import("@actions/github/lib/utils"),
			import("@octokit/plugin-retry"),
			import("@octokit/plugin-throttling"),
			import("bottleneck/light.js"),
		]);
	const waitForLimit = (seconds: number, { request }: { request: Record<string, unknown> }) =>
		Number(request["retryCount"] ?? 0) < maxRetries && mayWait(seconds * secondMs);
	const unspaced = new Bottleneck.Group({ maxConcurrent: 1 });
	const options = getOctokitOptions(token, {
		baseUrl: apiUrl,
		userAgent: "trtgate",
		log: silent,
		retry: {
			retries: maxRetries,
			retryAfterBaseValue: secondMs,
			doNotRetry: [400, 401, 403, 404, 405, 409, 410, 422, 429, 451],
		},
		throttle: {
			retryAfterBaseValue: secondMs,
			onRateLimit: waitForLimit,
			onSecondaryRateLimit: waitForLimit,
			write: unspaced,
			notifications: unspaced,
		},
	});
	return new (GitHub.plugin(
		({ hook }) => {
			hook.wrap("request", async (send, request) => {
				Object.assign(request.request, { signal: request.request["startTry"](), log: silent });
				const response = await send(request);
				const data = request.request["parse"](response.data, response.headers);
				if (data === null)
					throw Object.assign(new Error("an invalid reply"), { status: 502, request, response });
				return { ...response, data };
			});
			// The plugin recognises a secondary limit only by GitHub's message.
			hook.error("request", (error) => {
				const { status, headers = {} } = "response" in error ? { ...error.response } : {};
				if ((status === 403 || status === 429) && headers["retry-after"] !== undefined)
					error.message += " (secondary rate limit)";
				throw error;
			});
		},
		throttling,
		retry,
	))(options);
}
