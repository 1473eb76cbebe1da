// Sends requests to GitHub. octokit's plugins retry and wait; all of it together ends within the pace's patience.
import { setTimeout } from "node:timers/promises";
import type { ApiFault, ApiResult } from "../../ports/code-host.ts";
import { faultOf, type RequestInfo, readFailure } from "./faults.ts";
import { withTimeout } from "./service-faults.ts";

export interface Access {
	token: string;
	/** e.g. https://api.github.com */
	apiUrl: string;
}

export interface Pace {
	/** One try of a request may take so long. */
	callMs: number;
	/** All requests that fail or are retried, with their waiting, together. */
	patienceMs: number;
	/** Length of the seconds that are waited before a retry. */
	secondMs: number;
}

/** Publishing follows the GPU lease, but keeps the runner: it waits once for the minute that GitHub asks for, and not twice. */
export const usualPace: Pace = { callMs: 10_000, patienceMs: 90_000, secondMs: 1000 };
/** For jobs on a hosted runner, which have ten minutes and more. */
export const hostedPace: Pace = { ...usualPace, patienceMs: 300_000 };

export interface ApiRequest<Value> {
	/** octokit's route, e.g. `GET /repos/{owner}/{repo}/issues/{issue_number}/comments`. */
	route: string;
	parameters: Readonly<Record<string, unknown>>;
	permission: string;
	/** A POST that may be sent twice, because it creates nothing or the same thing. */
	repeatable?: true;
	/** null: not what GitHub promises. */
	parse(data: unknown, headers: Record<string, unknown>): Value | null;
}

export type Send = <Value>(call: ApiRequest<Value>) => Promise<ApiResult<{ value: Value }>>;

const maxRetries = 3;

export function createSender(access: Access, pace: Pace): Pick<Calls, "send" | "pause"> {
	let leftMs = pace.patienceMs;
	/** After all tries of one request failed, each further request is tried once, until GitHub answers again. */
	let isAway = false;
	let octokit: ReturnType<typeof openOctokit> | null = null;
	return {
		async send(call) {
			const info = describe(call);
			if (leftMs <= 0) return { state: "failed", fault: notTried(info, pace) };
			octokit ??= openOctokit(access, pace.secondMs, (ms) => ms < leftMs);
			let tries = 0;
			const limit = AbortSignal.timeout(Math.ceil(leftMs));
			const startTry = (): AbortSignal => {
				tries += 1;
				return AbortSignal.any([limit, AbortSignal.timeout(pace.callMs)]);
			};
			const startedMs = performance.now();
			try {
				const { request } = await octokit;
				const options = { startTry, parse: call.parse, ...((info.creates || isAway) && { retries: 0 }) };
				const { data } = await withTimeout(
					leftMs,
					request(call.route, { ...call.parameters, request: options }),
				);
				isAway = false;
				if (tries > 1) leftMs -= performance.now() - startedMs;
				return { state: "done", value: data };
			} catch (error) {
				isAway ||= tries > 1;
				leftMs -= performance.now() - startedMs;
				return { state: "failed", fault: faultOf(readFailure(error), info) };
			}
		},
		async pause(tries) {
			const waitMs = tries ** 2 * pace.secondMs;
			if (tries > maxRetries || waitMs >= leftMs) return false;
			leftMs -= waitMs;
			await setTimeout(waitMs);
			return true;
		},
	};
}

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** octokit is large: it is loaded when there is something to send. */
async function openOctokit({ token, apiUrl }: Access, secondMs: number, mayWait: (ms: number) => boolean) {
	const [{ GitHub, getOctokitOptions }, { retry }, { throttling }, { default: Bottleneck }] =
		await Promise.all([
			import("@actions/github/lib/utils"),
			import("@octokit/plugin-retry"),
			import("@octokit/plugin-throttling"),
			import("bottleneck/light.js"),
		]);
	const waitForLimit = (seconds: number, { request }: { request: Record<string, unknown> }): boolean =>
		Number(request["retryCount"] ?? 0) < maxRetries && mayWait(seconds * secondMs);
	// A run sends a handful of requests; the pauses of one to three seconds between writes are for many.
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
			// Each try has its own time limit, and fails where the reply is not what GitHub promises.
			hook.wrap("request", async (send, request) => {
				Object.assign(request.request, { signal: request.request["startTry"](), log: silent });
				const response = await send(request);
				const data = request.request["parse"](response.data, response.headers);
				if (data === null)
					throw Object.assign(new Error("an invalid reply"), { status: 502, request, response });
				return { ...response, data };
			});
			// The plugin knows a secondary limit by GitHub's message alone; a refusal that names a time is one without it, too.
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

/** Fills the route's places, as the reader knows them. */
function describe({ route, parameters, permission, repeatable }: ApiRequest<unknown>): RequestInfo {
	const endpoint = route.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name] ?? ""));
	return { endpoint, permission, creates: endpoint.startsWith("POST ") && repeatable !== true };
}

function notTried({ endpoint }: RequestInfo, { patienceMs }: Pace): ApiFault {
	return {
		code: "github-timeout",
		message: `${endpoint} was not tried: the limit of ${Math.round(patienceMs / 1000)} s for all waiting is used up.`,
		fix: "Nothing to fix on your side. The full report is in the output folder and the job summary; run the job again to publish it.",
	};
}

/** What every group of calls needs. */
export interface Calls {
	send: Send;
	/** Waits before the search for what a lost request may have created; false where patience does not suffice. */
	pause(tries: number): Promise<boolean>;
	/** `owner` and `repo`, for routes. */
	place: { owner: string; repo: string };
	graphQlUrl: string;
}

/** Asks about the repository; the value of the answer is given under a name. */
export async function ask<Value, Name extends string>(
	{ send, place }: Pick<Calls, "send" | "place">,
	name: Name,
	{ given, ...call }: Omit<ApiRequest<Value>, "parameters"> & { given?: Readonly<Record<string, unknown>> },
) {
	return named(await send({ ...call, parameters: { ...place, ...given } }), name);
}

/** The value of an answer under another name. */
export function named<Value, Name extends string>(
	answer: ApiResult<{ value: Value }>,
	name: Name,
): ({ state: "done" } & Record<Name, Value>) | Extract<ApiResult<object>, { state: "failed" }> {
	if (answer.state === "failed") return answer;
	return { state: "done", ...({ [name]: answer.value } as Record<Name, Value>) };
}
