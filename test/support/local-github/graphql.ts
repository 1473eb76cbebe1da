// As much GraphQL as hides a comment, shows it again, and says who asks.
import { permits, tokenOf } from "./access.ts";
import { issueNeeds } from "./comments.ts";
import { type Reply, refuse } from "./http.ts";
import { isObject } from "./payload.ts";
import type { World } from "./world.ts";

interface GraphqlCall {
	headers: Readonly<Record<string, string>>;
	json: unknown;
}

const classifiers = ["ABUSE", "DUPLICATE", "LOW_QUALITY", "OFF_TOPIC", "OUTDATED", "RESOLVED", "SPAM"];

function failed(type: string, message: string): Reply {
	return { status: 200, body: { data: null, errors: [{ type, message }] } };
}

/** An argument as it stands in the query, or the variable it names. */
function readArgument(query: string, variables: Readonly<Record<string, unknown>>, name: string): string {
	const whole = /\binput\s*:\s*\$(\w+)/.exec(query)?.[1];
	const input = whole === undefined ? undefined : variables[whole];
	if (isObject(input)) return String(input[name] ?? "");
	const [, variable, quoted, word] =
		new RegExp(`\\b${name}\\s*:\\s*(?:\\$(\\w+)|"([^"]*)"|(\\w+))`).exec(query.replace(/^[^{]*/, "")) ?? [];
	return variable === undefined ? (quoted ?? word ?? "") : String(variables[variable] ?? "");
}

export function answerGraphql(world: World, call: GraphqlCall): Reply {
	const holder = world.tokens.get(tokenOf(call.headers) ?? "");
	if (!holder) return refuse(401, "Bad credentials");
	world.state.rateLimit.used += 1;
	const body = isObject(call.json) ? call.json : {};
	const query = String(body["query"] ?? "");
	const variables = isObject(body["variables"]) ? body["variables"] : {};
	if (/\{\s*viewer\s*\{\s*login\s*\}/.test(query))
		return { status: 200, body: { data: { viewer: { login: holder.login } } } };
	const [name] = /\b(un)?minimizeComment\b(?=\s*\()/.exec(query) ?? [];
	if (name === undefined) {
		world.state.violations.push(
			`POST /graphql: only minimizeComment and unminimizeComment are spoken here, not ${query.slice(0, 200)}`,
		);
		return failed("UNSUPPORTED", "the local GitHub does not know this query");
	}
	const id = readArgument(query, variables, "subjectId");
	const comment = world.state.comments.find((candidate) => candidate.nodeId === id);
	if (!comment) return failed("NOT_FOUND", `Could not resolve to a node with the global id of '${id}'`);
	if (!permits(holder.permissions, issueNeeds(world, comment.issue, "write")))
		return failed("FORBIDDEN", "Resource not accessible by integration");
	const classifier = readArgument(query, variables, "classifier");
	if (name === "minimizeComment" && !classifiers.includes(classifier)) {
		world.state.violations.push(
			`POST /graphql: classifier ${classifier} is not one of ${classifiers.join(", ")}`,
		);
		return failed("INVALID", `Argument 'classifier' has an invalid value (${classifier})`);
	}
	comment.minimized = name === "minimizeComment" ? classifier.toLowerCase().replace("_", "-") : null;
	const minimizedComment = {
		isMinimized: comment.minimized !== null,
		minimizedReason: comment.minimized,
		id: comment.nodeId,
	};
	return { status: 200, body: { data: { [name]: { minimizedComment } } } };
}
