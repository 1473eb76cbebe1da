// Sends requests to GitHub and retries where that helps: each in bounded time, all waiting within one budget.
import type { ApiResult } from "../../ports/code-host.ts";
import { faultOf, type RequestFailure, type RequestInfo, readFailure, readInvalidReply, waitBefore } from "./faults.ts";

/** As octokit's `request`. */
export type Requester = (
	route: string,
	parameters: Record<string, unknown>,
) => Promise<{ data: unknown; headers: Record<string, unknown> }>;

export interface Pace {
	/** One request may take so long. */
	callMs: number;
	/** All failed requests and all waiting together. */
	patienceMs: number;
	sleep(ms: number): Promise<void>;
	/** Monotonic, milliseconds. */
	now(): number;
	/** Time of day, milliseconds. */
	timeOfDay(): number;
}

/** Publishing follows the measurement: a runner with a GPU must not wait long for it. */
export const usualPace: Pace = {
	callMs: 10_000,
	patienceMs: 30_000,
	sleep: (ms) => new Promise((settle) => setTimeout(settle, ms)),
	now: () => performance.now(),
	timeOfDay: () => Date.now(),
};

export interface ApiRequest<Value> {
	/** octokit's route, e.g. `GET /repos/{owner}/{repo}/issues/{issue_number}/comments`. */
	route: string;
	parameters: Readonly<Record<string, unknown>>;
	permission: string;
	/** null: not what GitHub promises. */
	parse(data: unknown, headers: Record<string, unknown>): Value | null;
}

export type Send = <Value>(call: ApiRequest<Value>) => Promise<ApiResult<{ value: Value }>>;

/** `requester` is loaded at the first call. */
export function createSender(requester: () => Promise<Requester>, pace: Pace): Send {
	let leftMs = pace.patienceMs;
	/** After all tries of one request failed, each further request is tried once, until GitHub answers again. */
	let isAway = false;
	return async (call) => {
		const info = describe(call);
		for (let tries = 1; ; tries += 1) {
			if (leftMs <= 0) return { state: "failed", fault: notTried(info, pace) };
			const startedMs = pace.now();
			const answer = await sendOnce(requester, call, Math.min(pace.callMs, leftMs));
			if ("value" in answer) {
				isAway = false;
				return { state: "done", value: answer.value };
			}
			leftMs -= pace.now() - startedMs;
			const waitMs = isAway ? null : waitBefore(answer.failure, info, { tries, nowMs: pace.timeOfDay() });
			if (waitMs === null || waitMs > leftMs) {
				isAway ||= tries > 1;
				return { state: "failed", fault: faultOf(answer.failure, info) };
			}
			leftMs -= waitMs;
			await pace.sleep(waitMs);
		}
	};
}

async function sendOnce<Value>(
	requester: () => Promise<Requester>,
	{ route, parameters, parse }: ApiRequest<Value>,
	limitMs: number,
): Promise<{ value: Value } | { failure: RequestFailure }> {
	try {
		const request = await requester();
		const { data, headers } = await request(route, { ...parameters, request: { signal: AbortSignal.timeout(Math.ceil(limitMs)) } });
		const value = parse(data, headers);
		return value === null ? { failure: readInvalidReply(data) } : { value };
	} catch (error) {
		return { failure: readFailure(error) };
	}
}

/** Fills the route's places, as the reader knows them. */
function describe({ route, parameters, permission }: ApiRequest<unknown>): RequestInfo {
	const endpoint = route.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name] ?? ""));
	return { endpoint, permission, creates: endpoint.startsWith("POST ") };
}

function notTried({ endpoint }: RequestInfo, { patienceMs }: Pace) {
	return {
		code: "github-timeout" as const,
		message: `${endpoint} was not tried: the limit of ${Math.round(patienceMs / 1000)} s for all waiting is used up.`,
		fix: "Nothing to fix on your side. The full report is in the output folder and the job summary; run the job again to publish it.",
	};
}

/** What every group of calls needs. */
export interface Calls {
	send: Send;
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
