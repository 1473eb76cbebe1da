// Classifies errors of GitHub and the toolkit's clients, and bounds waits.
import type { PlatformCode } from "../../../core/errors.ts";
import { fieldsOf } from "../../../core/found.ts";
import { cleanText, shorten } from "../../../core/text/escape.ts";
import type { ApiFault, ApiResult } from "../../../ports/code-host.ts";

export interface RequestInfo {
	endpoint: string;
	permission: string;
	/** Sending the request twice would create two objects. */
	creates: boolean;
	/** In messages; GitHub if absent. */
	host?: string;
}

export interface RequestFailure {
	kind: "status" | "network" | "timeout" | "reply";
	status: number;
	headers: Readonly<Record<string, string>>;
	message: string;
}

/** Error types of GraphQL, which come with status 200. */
const graphQlStatus: Readonly<Record<string, number>> = { FORBIDDEN: 403, NOT_FOUND: 404, RATE_LIMITED: 429 };

export function readFailure(error: unknown): RequestFailure {
	const fault = fieldsOf(error);
	const { status, headers, data } = fieldsOf(fault["response"]);
	if (typeof status === "number" && status < 400) {
		const { errors } = fieldsOf(data);
		const found = graphQlStatus[String(fieldsOf(Array.isArray(errors) ? errors[0] : null)["type"])];
		const message = messageOf(data, `a reply of type ${typeof data}`);
		return { kind: found === undefined ? "reply" : "status", status: found ?? 200, headers: {}, message };
	}
	const message = messageOf(data, String(fault["message"] ?? error));
	if (typeof status === "number") {
		const named = Object.entries(fieldsOf(headers)).map(([name, text]) => [name.toLowerCase(), String(text)]);
		return { kind: "status", status, headers: Object.fromEntries(named), message };
	}
	const isLate = causes(error).some(({ name, code }) =>
		[name, code].some((one) => one === "TimeoutError" || one === "AbortError" || one === "ETIMEDOUT"),
	);
	return { kind: isLate ? "timeout" : "network", status: 0, headers: {}, message };
}

function causes(error: unknown) {
	const chain = [fieldsOf(error)];
	for (let next = chain[0]?.["cause"]; next && chain.length < 5; next = fieldsOf(next)["cause"])
		chain.push(fieldsOf(next));
	return chain;
}

function messageOf(data: unknown, otherwise: string) {
	const { errors, message } = fieldsOf(data);
	const reasons = (Array.isArray(errors) ? errors.slice(0, 3) : []).map((one) => {
		const { resource, field, code, message: reason } = fieldsOf(one);
		if (typeof one === "string") return one;
		return String(reason ?? [resource, field, code].filter((part) => part !== undefined).join(" "));
	});
	const first = typeof message === "string" ? message : reasons.length > 0 ? "" : otherwise;
	return cleanText(shorten([first, ...reasons].filter((part) => part !== "").join("; "), 400));
}

const byStatus: Readonly<Record<number, PlatformCode>> = {
	401: "github-permission",
	403: "github-permission",
	404: "github-not-found",
	408: "github-timeout",
	409: "github-conflict",
	410: "github-not-found",
	429: "github-rate-limited",
};

/** 403 also means too many requests, a locked conversation or an archived repository. */
function codeOf({ kind, status, headers, message }: RequestFailure) {
	if (kind === "timeout") return "github-timeout";
	if (kind === "network") return "github-unavailable";
	if (kind === "reply") return "github-reply";
	if (status === 403) {
		const isLimit = headers["x-ratelimit-remaining"] === "0" || headers["retry-after"] !== undefined;
		if (isLimit || /rate limit|abuse/i.test(message)) return "github-rate-limited";
		if (/\b(is locked|was archived|is archived|read-only|is disabled|has been disabled)\b/i.test(message))
			return "github-rejected";
	}
	return byStatus[status] ?? (status >= 500 ? "github-unavailable" : "github-rejected");
}

/** From GitHub's header if there is one: `issues=write; pull_requests=write`. */
function missingPermission({ headers }: RequestFailure, { permission }: RequestInfo) {
	const accepted = (headers["x-accepted-github-permissions"] ?? "").matchAll(
		/(?:^|[;,])\s*([a-z_]{2,40})=(read|write|admin)\s*(?=[;,]|$)/g,
	);
	const offered = [...accepted].map((match) => `${match[1]?.replaceAll("_", "-")}: ${match[2]}`);
	const ofScope = offered.find((one) => one.startsWith(`${permission.split(":", 1)[0]}:`));
	if (ofScope === undefined) return offered[0] ?? permission;
	return ofScope.endsWith(": read") ? permission : ofScope;
}

const problems = {
	network: "could not be reached for",
	timeout: "did not answer in time to",
	reply: "sent an invalid reply to",
} as const;

export const nothingToFix =
	"Nothing to fix on your side. Everything is in the output folder; run the job again to publish it.";

const fixes: Readonly<Partial<Record<PlatformCode, string>>> = {
	"github-permission":
		"Check that the runner's token has not expired: a job may not outlive it (six hours on hosted runners).",
	"github-conflict": "Give each job of the matrix its own `name`, so that no two jobs write the same object.",
	"github-rate-limited":
		"Run again later, or publish from one job for the whole matrix with the report action.",
	"github-rejected":
		"Fix what GitHub reports. Artifacts and caches can be deleted in the settings of the repository.",
	"github-unsupported":
		"Use the action, not a `run:` step; on GitHub Enterprise Server, give the gate and the report the input `parts`.",
};

export function faultOf(failure: RequestFailure, request: RequestInfo): ApiFault {
	const { kind, status, message } = failure;
	const code = codeOf(failure);
	const right = missingPermission(failure, request);
	const what = `${request.host ?? "GitHub"} ${kind === "status" ? `answered ${status} to` : problems[kind]}`;
	const quoted = message === "" ? "" : `: ${JSON.stringify(message)}`;
	const lacks = code === "github-permission" ? ` The token lacks \`${right}\`.` : "";
	const own: Partial<Record<PlatformCode, string>> = {
		"github-permission":
			status === 401
				? `Give the action a valid token (\`token: \${{ github.token }}\`) in a job with \`${right}\` under \`permissions:\`.`
				: `Add \`${right}\` under \`permissions:\` of the job.`,
		"github-not-found": `Check that it still exists and that the token may see it (\`${right}\`).`,
	};
	return {
		code,
		message: `${what} ${request.endpoint}${quoted}.${lacks}`,
		fix: own[code] ?? fixes[code] ?? nothingToFix,
		lacks: code === "github-permission" && status === 403 ? right : undefined,
		unclear: request.creates && (kind !== "status" || status >= 500) ? true : undefined,
	};
}

/** The work goes on after the limit, and its result is ignored. @throws DOMException TimeoutError. */
export async function withTimeout<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		const error = new DOMException(`no end within ${Math.round(limitMs / 1000)} s`, "TimeoutError");
		timer = setTimeout(() => reject(error), limitMs);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
		promise.catch(() => {});
	}
}

/** @param what `upload of the artifact trtgate-gate`. */
export async function attempt<Value extends object>(
	what: string,
	work: () => Promise<Value>,
): Promise<ApiResult<Value>> {
	try {
		return { state: "done", ...(await work()) };
	} catch (error) {
		return { state: "failed", fault: serviceFault(error, what) };
	}
}

/** Clients put the status into the message, the blob store's into a field. */
export function serviceFault(error: unknown, what: string): ApiFault {
	const message = error instanceof Error ? error.message : String(error);
	const code = codeOfService(fieldsOf(error), message);
	const text = cleanText(shorten(message, 300)).trim().replace(/\.$/, "");
	return { code, message: `The ${what} failed: ${text}.`, fix: fixes[code] ?? nothingToFix };
}

function codeOfService({ name, statusCode }: ReturnType<typeof fieldsOf>, message: string) {
	if (name === "GHESNotSupportedError") return "github-unsupported";
	if (name === "UsageError" || /\bquota\b|insufficient usage/i.test(message)) return "github-rejected";
	if (name === "TimeoutError" || /timed? ?out|ETIMEDOUT/i.test(message)) return "github-timeout";
	const carried = Number(statusCode) >= 400 ? Number(statusCode) : undefined;
	const status = carried ?? Number(/\((\d{3})\)/.exec(message)?.[1]);
	return byStatus[status] ?? (status >= 400 && status < 500 ? "github-rejected" : "github-unavailable");
}

export function unsupported(service: "artifacts" | "caches"): ApiFault {
	const code = "github-unsupported";
	const message = `This step cannot use ${service}: the runner gives its token for them only to actions.`;
	return { code, message, fix: fixes[code] ?? nothingToFix };
}
