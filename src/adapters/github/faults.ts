// Reads what went wrong between us and GitHub: which fault it is, what mends it, and whether to ask again.
import type { PlatformCode } from "../../core/errors.ts";
import { cleanText, shorten } from "../../core/text/escape.ts";
import type { ApiFault } from "../../ports/code-host.ts";

/** A request, as faults speak of it. */
export interface Asked {
	/** `POST /repos/acme/engines/issues/7/comments`. */
	endpoint: string;
	/** The line under `permissions:` that it needs, e.g. `pull-requests: write`. */
	permission: string;
	/** Asking twice makes two things. */
	creates: boolean;
}

/** What came back instead of an answer. */
export interface Refusal {
	kind: "status" | "network" | "timeout" | "reply";
	status: number;
	headers: Readonly<Record<string, string>>;
	/** GitHub's own words, or the network's. */
	said: string;
	/** The request never left: nobody was there to take it. */
	unsent: boolean;
}

const unsentCodes: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT", "EHOSTUNREACH"]);

/** Reads whatever octokit, fetch or the network threw. */
export function readRefusal(error: unknown): Refusal {
	const fault = recordOf(error);
	const response = recordOf(fault["response"]);
	const said = wordsOf(recordOf(response["data"]), String(fault["message"] ?? error));
	if (typeof response["status"] === "number")
		return { kind: "status", status: response["status"], headers: headersOf(response["headers"]), said, unsent: false };
	const names = causes(error).flatMap((cause) => [String(cause["name"] ?? ""), String(cause["code"] ?? "")]);
	const timedOut = names.some((name) => name === "TimeoutError" || name === "AbortError" || name === "ETIMEDOUT");
	const unsent = names.some((name) => unsentCodes.has(name));
	return { kind: timedOut ? "timeout" : "network", status: 0, headers: {}, said, unsent };
}

/** GraphQL refuses with status 200 and a type of its own. */
const graphQlStatus: Readonly<Record<string, number>> = { FORBIDDEN: 403, NOT_FOUND: 404, RATE_LIMITED: 429 };

/** An answer that is not what it should be. */
export function readUnfit(data: unknown): Refusal {
	const { errors } = recordOf(data);
	const [first] = Array.isArray(errors) ? errors : [];
	const status = graphQlStatus[String(recordOf(first)["type"])];
	const said = wordsOf(recordOf(data), `a reply of type ${typeof data}`);
	return { kind: status === undefined ? "reply" : "status", status: status ?? 200, headers: {}, said, unsent: false };
}

function causes(error: unknown): Record<string, unknown>[] {
	const chain: Record<string, unknown>[] = [];
	for (let cause = error; typeof cause === "object" && cause !== null && chain.length < 5; cause = recordOf(cause)["cause"])
		chain.push(recordOf(cause));
	return chain;
}

/** GraphQL and the REST API both put their reasons into `message` and `errors`. */
function wordsOf(data: Record<string, unknown>, otherwise: string): string {
	const errors = Array.isArray(data["errors"]) ? data["errors"].slice(0, 3) : [];
	const reasons = errors.map((one) => {
		const { resource, field, code, message } = recordOf(one);
		return typeof one === "string" ? one : String(message ?? [resource, field, code].filter((part) => part !== undefined).join(" "));
	});
	const message = typeof data["message"] === "string" ? data["message"] : reasons.length > 0 ? "" : otherwise;
	return cleanText(shorten([message, ...reasons].filter((part) => part !== "").join("; "), 400));
}

function headersOf(value: unknown): Record<string, string> {
	return Object.fromEntries(Object.entries(recordOf(value)).map(([name, text]) => [name.toLowerCase(), String(text)]));
}

function recordOf(value: unknown): Record<string, unknown> {
	return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** GitHub says 403 or 429 to too many requests; only the words and headers tell the first from a missing permission. */
function isRateLimit({ status, headers, said }: Refusal): boolean {
	if (status === 429) return true;
	return (
		status === 403 && (headers["x-ratelimit-remaining"] === "0" || headers["retry-after"] !== undefined || /rate limit|abuse/i.test(said))
	);
}

/** GitHub says 403 also where no permission helps: a locked conversation, a repository that is archived or disabled. */
function isClosed({ status, said }: Refusal): boolean {
	return status === 403 && /\b(is locked|was archived|is archived|read-only|is disabled|has been disabled)\b/i.test(said);
}

export function codeOf(refusal: Refusal): PlatformCode {
	const { kind, status } = refusal;
	if (kind === "timeout") return "github-timeout";
	if (kind === "network") return "github-unavailable";
	if (kind === "reply") return "github-reply";
	if (isRateLimit(refusal)) return "github-rate-limited";
	if (isClosed(refusal)) return "github-rejected";
	if (status === 401 || status === 403) return "github-permission";
	if (status === 404 || status === 410) return "github-not-found";
	if (status === 409) return "github-conflict";
	if (status === 408) return "github-timeout";
	return status >= 500 ? "github-unavailable" : "github-rejected";
}

/** The line of `permissions:` that is missing, as GitHub's header names it where there is one: `issues=write; pull_requests=write`. */
function missingPermission({ headers }: Refusal, asked: Asked): string {
	const offered = (headers["x-accepted-github-permissions"] ?? "")
		.split(/[;,]/)
		.map((one) => /^\s*([a-z_]{2,40})=(read|write|admin)\s*$/.exec(one))
		.flatMap((match) => (match === null ? [] : [`${match[1]?.replaceAll("_", "-")}: ${match[2]}`]));
	return offered.length === 0 || offered.includes(asked.permission) ? asked.permission : (offered[0] ?? asked.permission);
}

export function faultOf(refusal: Refusal, asked: Asked): ApiFault {
	const code = codeOf(refusal);
	const { kind, status, said } = refusal;
	const words = said === "" ? "" : `: ${JSON.stringify(said)}`;
	const what = kind === "status" ? `GitHub answered ${status} to ${asked.endpoint}${words}` : `${troubles[kind]} ${asked.endpoint}${words}`;
	const lacks = code === "github-permission" ? ` The token lacks \`${missingPermission(refusal, asked)}\`.` : "";
	const unclear = asked.creates && !refusal.unsent && (kind !== "status" || status >= 500);
	return {
		code,
		message: `${what}.${lacks}`,
		fix: fixOf(code, refusal, asked),
		...(unclear ? { unclear: true as const } : {}),
	};
}

const troubles: Readonly<Record<Exclude<Refusal["kind"], "status">, string>> = {
	network: "GitHub could not be reached for",
	timeout: "GitHub did not answer in time to",
	reply: "GitHub's reply cannot be read to",
};

function fixOf(code: PlatformCode, refusal: Refusal, asked: Asked): string {
	switch (code) {
		case "github-permission":
			return refusal.status === 401
				? `Give the action a valid token (\`token: \${{ github.token }}\`) in a job with \`${missingPermission(refusal, asked)}\` under \`permissions:\`.`
				: `Add \`${missingPermission(refusal, asked)}\` under \`permissions:\` of the job. The token of a fork's pull request only reads: publish from a second workflow on \`workflow_run\`.`;
		case "github-not-found":
			return `Check that it still exists and that the token may see it (\`${missingPermission(refusal, asked)}\`).`;
		case "github-conflict":
			return "Give each job of the matrix its own `name`, so that no two write the same thing.";
		case "github-rate-limited":
			return "Run again later, or publish from one job for the whole matrix with the report action.";
		case "github-rejected":
			return "Mend what GitHub names; the whole report is in the output folder and the job summary.";
		default:
			return "Nothing to mend here: the whole report is in the output folder and the job summary. Run the job again to publish it.";
	}
}

/** Waits between tries of our own; GitHub's word stands above them. */
const backoffMs = [1000, 3000, 9000] as const;
/** GitHub asks for "at least a minute" where it names no time; more than this is not worth a runner. */
const unnamedLimitMs = 15_000;

/** How long to wait before asking again; null where that would not help. `nowMs` is the time of day. */
export function waitBefore(refusal: Refusal, asked: Asked, { tries, nowMs }: { tries: number; nowMs: number }): number | null {
	const backoff = backoffMs[tries - 1];
	if (backoff === undefined) return null;
	if (refusal.kind === "status" && isRateLimit(refusal)) return namedWait(refusal.headers, nowMs) ?? (tries === 1 ? unnamedLimitMs : null);
	const mayHaveBeenDone = asked.creates && !refusal.unsent;
	if (refusal.kind !== "status") return mayHaveBeenDone ? null : backoff;
	if (refusal.status < 500 && refusal.status !== 408) return null;
	return mayHaveBeenDone ? null : (namedWait(refusal.headers, nowMs) ?? backoff);
}

function namedWait(headers: Refusal["headers"], nowMs: number): number | null {
	const after = headers["retry-after"];
	if (after !== undefined) {
		const ms = /^\d{1,9}$/.test(after.trim()) ? Number(after) * 1000 : Date.parse(after) - nowMs;
		return Number.isFinite(ms) ? Math.max(0, ms) : null;
	}
	const reset = Number(headers["x-ratelimit-reset"] ?? Number.NaN);
	return headers["x-ratelimit-remaining"] === "0" && Number.isFinite(reset) ? Math.max(0, reset * 1000 - nowMs) : null;
}
