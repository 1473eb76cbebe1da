// Classifies failed requests to GitHub: the fault and its fix.
import type { PlatformCode } from "../../core/errors.ts";
import { fieldsOf } from "../../core/found.ts";
import { cleanText, shorten } from "../../core/text/escape.ts";
import type { ApiFault } from "../../ports/code-host.ts";

/** The request that a fault describes. */
export interface RequestInfo {
	/** `POST /repos/acme/engines/issues/7/comments`. */
	endpoint: string;
	/** The line under `permissions:` that it needs, e.g. `pull-requests: write`. */
	permission: string;
	/** Sending it twice creates two objects. */
	creates: boolean;
}

/** What came back instead of an answer. */
export interface RequestFailure {
	kind: "status" | "network" | "timeout" | "reply";
	status: number;
	headers: Readonly<Record<string, string>>;
	/** GitHub's message, or the network's. */
	message: string;
}

/** Reads whatever octokit, fetch or the network threw. */
export function readFailure(error: unknown): RequestFailure {
	const fault = fieldsOf(error);
	const response = fieldsOf(fault["response"]);
	const message = messageOf(fieldsOf(response["data"]), String(fault["message"] ?? error));
	const { status } = response;
	if (typeof status === "number" && status < 400) return readInvalidReply(response["data"]);
	if (typeof status === "number")
		return { kind: "status", status, headers: headersOf(response["headers"]), message };
	const names = causes(error).flatMap((cause) => [String(cause["name"] ?? ""), String(cause["code"] ?? "")]);
	const timedOut = names.some(
		(name) => name === "TimeoutError" || name === "AbortError" || name === "ETIMEDOUT",
	);
	return { kind: timedOut ? "timeout" : "network", status: 0, headers: {}, message };
}

/** GraphQL reports errors with status 200 and an error type. */
const graphQlStatus: Readonly<Record<string, number>> = { FORBIDDEN: 403, NOT_FOUND: 404, RATE_LIMITED: 429 };

/** A reply that is not as documented. */
function readInvalidReply(data: unknown): RequestFailure {
	const { errors } = fieldsOf(data);
	const [first] = Array.isArray(errors) ? errors : [];
	const status = graphQlStatus[String(fieldsOf(first)["type"])];
	const message = messageOf(fieldsOf(data), `a reply of type ${typeof data}`);
	return { kind: status === undefined ? "reply" : "status", status: status ?? 200, headers: {}, message };
}

type Fields = ReturnType<typeof fieldsOf>;

function causes(error: unknown): Fields[] {
	const chain: Fields[] = [];
	for (
		let cause = error;
		typeof cause === "object" && cause !== null && chain.length < 5;
		cause = fieldsOf(cause)["cause"]
	)
		chain.push(fieldsOf(cause));
	return chain;
}

/** GraphQL and the REST API both put their reasons into `message` and `errors`. */
function messageOf(data: Fields, otherwise: string): string {
	const errors = Array.isArray(data["errors"]) ? data["errors"].slice(0, 3) : [];
	const reasons = errors.map((one) => {
		const { resource, field, code, message } = fieldsOf(one);
		return typeof one === "string"
			? one
			: String(message ?? [resource, field, code].filter((part) => part !== undefined).join(" "));
	});
	const message = typeof data["message"] === "string" ? data["message"] : reasons.length > 0 ? "" : otherwise;
	return cleanText(shorten([message, ...reasons].filter((part) => part !== "").join("; "), 400));
}

function headersOf(value: unknown): Record<string, string> {
	return Object.fromEntries(
		Object.entries(fieldsOf(value)).map(([name, text]) => [name.toLowerCase(), String(text)]),
	);
}

/** GitHub answers 403 or 429 to too many requests; only message and headers distinguish a 403 from a missing permission. */
function isRateLimit({ status, headers, message }: RequestFailure): boolean {
	if (status === 429) return true;
	return (
		status === 403 &&
		(headers["x-ratelimit-remaining"] === "0" ||
			headers["retry-after"] !== undefined ||
			/rate limit|abuse/i.test(message))
	);
}

/** GitHub also answers 403 where no permission helps: a locked conversation, an archived or disabled repository. */
function isClosed({ status, message }: RequestFailure): boolean {
	return (
		status === 403 &&
		/\b(is locked|was archived|is archived|read-only|is disabled|has been disabled)\b/i.test(message)
	);
}

export function codeOf(failure: RequestFailure): PlatformCode {
	const { kind, status } = failure;
	if (kind === "timeout") return "github-timeout";
	if (kind === "network") return "github-unavailable";
	if (kind === "reply") return "github-reply";
	if (isRateLimit(failure)) return "github-rate-limited";
	if (isClosed(failure)) return "github-rejected";
	if (status === 401 || status === 403) return "github-permission";
	if (status === 404 || status === 410) return "github-not-found";
	if (status === 409) return "github-conflict";
	if (status === 408) return "github-timeout";
	return status >= 500 ? "github-unavailable" : "github-rejected";
}

/** The line of `permissions:` that is missing, as GitHub's header names it where there is one: `issues=write; pull_requests=write`. */
function missingPermission({ headers }: RequestFailure, request: RequestInfo): string {
	const offered = (headers["x-accepted-github-permissions"] ?? "")
		.split(/[;,]/)
		.map((one) => /^\s*([a-z_]{2,40})=(read|write|admin)\s*$/.exec(one))
		.flatMap((match) => (match === null ? [] : [`${match[1]?.replaceAll("_", "-")}: ${match[2]}`]));
	const ofScope = offered.find((one) => one.startsWith(`${request.permission.split(":", 1)[0]}:`));
	if (ofScope === undefined) return offered[0] ?? request.permission;
	// A read may come first where a write is needed in the end.
	return ofScope.endsWith(": read") ? request.permission : ofScope;
}

export function faultOf(failure: RequestFailure, request: RequestInfo): ApiFault {
	const code = codeOf(failure);
	const { kind, status, message } = failure;
	const quoted = message === "" ? "" : `: ${JSON.stringify(message)}`;
	const what =
		kind === "status"
			? `GitHub answered ${status} to ${request.endpoint}${quoted}`
			: `${problems[kind]} ${request.endpoint}${quoted}`;
	const lacks =
		code === "github-permission" ? ` The token lacks \`${missingPermission(failure, request)}\`.` : "";
	const unclear = request.creates && (kind !== "status" || status >= 500);
	return {
		code,
		message: `${what}.${lacks}`,
		fix: fixOf(code, failure, request),
		...(code === "github-permission" && status === 403 ? { lacks: missingPermission(failure, request) } : {}),
		...(unclear ? { unclear: true as const } : {}),
	};
}

const problems: Readonly<Record<Exclude<RequestFailure["kind"], "status">, string>> = {
	network: "GitHub could not be reached for",
	timeout: "GitHub did not answer in time to",
	reply: "GitHub sent an invalid reply to",
};

function fixOf(code: PlatformCode, failure: RequestFailure, request: RequestInfo): string {
	switch (code) {
		case "github-permission":
			return failure.status === 401
				? `Give the action a valid token (\`token: \${{ github.token }}\`) in a job with \`${missingPermission(failure, request)}\` under \`permissions:\`.`
				: `Add \`${missingPermission(failure, request)}\` under \`permissions:\` of the job.`;
		case "github-not-found":
			return `Check that it still exists and that the token may see it (\`${missingPermission(failure, request)}\`).`;
		case "github-conflict":
			return "Give each job of the matrix its own `name`, so that no two jobs write the same object.";
		case "github-rate-limited":
			return "Run again later, or publish from one job for the whole matrix with the report action.";
		case "github-rejected":
			return "Fix what GitHub reports. The full report is in the output folder and the job summary.";
		default:
			return "Nothing to fix on your side. The full report is in the output folder and the job summary; run the job again to publish it.";
	}
}
