// What every group of calls to GitHub shares.
import type { ApiResult } from "../../ports/code-host.ts";
import type { Ask } from "./request.ts";

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
