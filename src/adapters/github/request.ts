// Sends requests to GitHub and retries where that helps: each in bounded time, all waiting within one budget.
import type { ApiResult } from "../../ports/code-host.ts";
import { type Asked, faultOf, type Refusal, readRefusal, readUnfit, waitBefore } from "./faults.ts";

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

export interface Question<Value> {
	/** octokit's route, e.g. `GET /repos/{owner}/{repo}/issues/{issue_number}/comments`. */
	route: string;
	parameters: Readonly<Record<string, unknown>>;
	permission: string;
	/** null: not what GitHub promises. */
	parse(data: unknown, headers: Record<string, unknown>): Value | null;
}

export type Ask = <Value>(question: Question<Value>) => Promise<ApiResult<{ value: Value }>>;

/** `requester` is loaded at the first question. */
export function createAsk(requester: () => Promise<Requester>, pace: Pace): Ask {
	let leftMs = pace.patienceMs;
	/** A GitHub that stayed away through all tries of one request is asked once by each of the others, until it is back. */
	let isAway = false;
	return async (question) => {
		const asked = describe(question);
		for (let tries = 1; ; tries += 1) {
			if (leftMs <= 0) return { state: "failed", fault: notTried(asked, pace) };
			const startedMs = pace.now();
			const answer = await askOnce(requester, question, Math.min(pace.callMs, leftMs));
			if ("value" in answer) {
				isAway = false;
				return { state: "done", value: answer.value };
			}
			leftMs -= pace.now() - startedMs;
			const waitMs = isAway ? null : waitBefore(answer.refusal, asked, { tries, nowMs: pace.timeOfDay() });
			if (waitMs === null || waitMs > leftMs) {
				isAway ||= tries > 1;
				return { state: "failed", fault: faultOf(answer.refusal, asked) };
			}
			leftMs -= waitMs;
			await pace.sleep(waitMs);
		}
	};
}

async function askOnce<Value>(
	requester: () => Promise<Requester>,
	{ route, parameters, parse }: Question<Value>,
	limitMs: number,
): Promise<{ value: Value } | { refusal: Refusal }> {
	try {
		const request = await requester();
		const { data, headers } = await request(route, { ...parameters, request: { signal: AbortSignal.timeout(Math.ceil(limitMs)) } });
		const value = parse(data, headers);
		return value === null ? { refusal: readUnfit(data) } : { value };
	} catch (error) {
		return { refusal: readRefusal(error) };
	}
}

/** Fills the route's places, as the reader knows them. */
function describe({ route, parameters, permission }: Question<unknown>): Asked {
	const endpoint = route.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name] ?? ""));
	return { endpoint, permission, creates: endpoint.startsWith("POST ") };
}

function notTried({ endpoint }: Asked, { patienceMs }: Pace) {
	return {
		code: "github-timeout" as const,
		message: `${endpoint} was not tried: waiting for GitHub has taken ${Math.round(patienceMs / 1000)} s already.`,
		fix: "Nothing to mend here: the whole report is in the output folder and the job summary. Run the job again to publish it.",
	};
}

/** What every group of calls needs. */
export interface Calls {
	ask: Ask;
	/** `owner` and `repo`, for routes. */
	place: { owner: string; repo: string };
	graphQlUrl: string;
}

/** The value of an answer under another name. */
export function named<Value, Name extends string>(
	answer: ApiResult<{ value: Value }>,
	name: Name,
): ({ state: "done" } & Record<Name, Value>) | Extract<ApiResult<object>, { state: "failed" }> {
	if (answer.state === "failed") return answer;
	return { state: "done", ...({ [name]: answer.value } as Record<Name, Value>) };
}
