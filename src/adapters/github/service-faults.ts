// Classifies the errors of the toolkit's artifact and cache clients, whose messages contain the status; bounds their waits.
import type { PlatformCode } from "../../core/errors.ts";
import { cleanText, shorten } from "../../core/text/escape.ts";
import type { ApiFault, ApiResult } from "../../ports/code-host.ts";

/** @throws an error of the name TimeoutError. The request itself continues; its result is ignored. */
export async function withTimeout<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(
			() => reject(new DOMException(`no end within ${Math.round(limitMs / 1000)} s`, "TimeoutError")),
			limitMs,
		);
	});
	try {
		return await Promise.race([promise, late]);
	} finally {
		clearTimeout(timer);
		// A late failure has no handler any more.
		promise.catch(() => {});
	}
}

/** Asks a service through its client, which throws. `what` names the operation, for example `upload of the artifact trtgate-gate`. */
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

const byStatus: Readonly<Record<string, PlatformCode>> = {
	"401": "github-permission",
	"403": "github-permission",
	"404": "github-not-found",
	"409": "github-conflict",
	"429": "github-rate-limited",
};

const fixes: Readonly<Partial<Record<PlatformCode, string>>> = {
	"github-permission":
		"Check that the runner's token has not expired: a job may not outlive it (six hours on hosted runners).",
	"github-conflict": "Give each job of the matrix its own `name`.",
	"github-rejected":
		"Fix what the service reports. Artifacts and caches can be deleted in the settings of the repository.",
	"github-rate-limited": "Run again later.",
	"github-unsupported": "Upload the output folder in a separate step, with what your server offers.",
};

export function serviceFault(error: unknown, what: string): ApiFault {
	const [name, message] = error instanceof Error ? [error.name, error.message] : ["", String(error)];
	const code = codeOf(name, message, statusOf(error));
	const text = cleanText(shorten(message, 300)).trim();
	const fix =
		fixes[code] ??
		"Nothing to fix on your side. The files are in the output folder; run the job again to publish them.";
	return { code, message: `The ${what} failed: ${text.replace(/\.$/, "")}.`, fix };
}

/** The blob store's client has the status in a field of the error. */
function statusOf(error: unknown): string | undefined {
	const status =
		typeof error === "object" && error !== null && "statusCode" in error ? error.statusCode : undefined;
	return typeof status === "number" && status >= 400 ? String(status) : undefined;
}

function codeOf(name: string, message: string, carried: string | undefined): PlatformCode {
	if (name === "GHESNotSupportedError") return "github-unsupported";
	// A storage quota that is full.
	if (name === "UsageError" || /\bquota\b|insufficient usage/i.test(message)) return "github-rejected";
	if (name === "TimeoutError" || /timed? ?out|ETIMEDOUT/i.test(message)) return "github-timeout";
	const status = carried ?? /\((\d{3})\)/.exec(message)?.[1];
	if (status === undefined) return "github-unavailable";
	return byStatus[status] ?? (status.startsWith("4") ? "github-rejected" : "github-unavailable");
}

export function unsupported(service: "artifacts" | "caches"): ApiFault {
	return {
		code: "github-unsupported",
		message: `This step cannot use ${service}: the runner gives its token for them only to actions.`,
		fix: "Use the action, not a `run:` step; on GitHub Enterprise Server, upload the output folder in a separate step.",
	};
}
