import { tokenOf } from "./access.ts";
import { type Reply, refuse } from "./http.ts";
import { isObject } from "./payload.ts";
import type { World } from "./world.ts";

export function answerGraphql(
	world: World,
	call: { headers: Readonly<Record<string, string>>; json: unknown },
): Reply {
	const holder = world.tokens.get(tokenOf(call.headers) ?? "");
	if (!holder) return refuse(401, "Bad credentials");
	world.state.rateLimit.used += 1;
	const query = String(isObject(call.json) ? call.json["query"] : "");
	if (/\{\s*viewer\s*\{\s*login\s*\}/.test(query))
		return { status: 200, body: { data: { viewer: { login: holder.login } } } };
	world.state.violations.push(`POST /graphql: only the viewer is known here, not ${query.slice(0, 200)}`);
	const errors = [{ type: "UNSUPPORTED", message: "the local GitHub does not know this query" }];
	return { status: 200, body: { data: null, errors } };
}
