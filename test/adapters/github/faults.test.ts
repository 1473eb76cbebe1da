// When to ask again, for how long to wait, and what to say.
import { expect, it } from "vitest";
import { faultOf, type RequestFailure, type RequestInfo, readFailure, waitBefore } from "../../../src/adapters/github/faults.ts";
import { serviceFault } from "../../../src/adapters/github/service-faults.ts";

const get: RequestInfo = { endpoint: "GET /repos/a/b", permission: "checks: read", creates: false };
const post: RequestInfo = { endpoint: "POST /repos/a/b", permission: "checks: write", creates: true };
const status = (code: number, headers: Record<string, string> = {}, message = ""): RequestFailure => ({
	kind: "status",
	status: code,
	headers,
	message,
	unsent: false,
});
const network = (unsent: boolean): RequestFailure => ({ kind: "network", status: 0, headers: {}, message: "", unsent });
const first = { tries: 1, nowMs: Date.parse("2026-01-01T00:00:00Z") };

it.each<[string, RequestFailure, RequestInfo, number | null]>([
	["500 to a read", status(500), get, 1000],
	["500 to what creates", status(500), post, null],
	["503 that names a time", status(503, { "retry-after": "7" }), get, 7000],
	["429 in seconds", status(429, { "retry-after": "7" }), post, 7000],
	["429 at a date", status(429, { "retry-after": "Thu, 01 Jan 2026 00:00:20 GMT" }), get, 20_000],
	["429 at a date that is past", status(429, { "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }), get, 0],
	["429 in nonsense", status(429, { "retry-after": "soon" }), get, 15_000],
	[
		"403 with no requests left",
		status(403, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(first.nowMs / 1000 + 30) }),
		get,
		30_000,
	],
	["403 of a secondary limit", status(403, {}, "You have exceeded a secondary rate limit"), post, 15_000],
	["403 of a missing permission", status(403, { "x-ratelimit-remaining": "900" }, "Resource not accessible by integration"), get, null],
	["404", status(404), get, null],
	["422", status(422), get, null],
	["a hang-up of a read", network(false), get, 1000],
	["a hang-up of what creates", network(false), post, null],
	["nobody there", network(true), post, 1000],
])("waitBefore %s: as long as it should", (_, failure, request, waitMs) => expect(waitBefore(failure, request, first)).toBe(waitMs));

it("waitBefore gives up after three waits", () => {
	expect([1, 2, 3, 4].map((tries) => waitBefore(status(500), get, { ...first, tries }))).toEqual([1000, 3000, 9000, null]);
});

it("a fault takes in whatever is thrown, bounded and on one line", () => {
	for (const thrown of [
		null,
		undefined,
		"text",
		5,
		new Error("x".repeat(5000)),
		{ response: { status: 422, data: { message: "a\nb\u001b[31m", errors: ["c", 4, null, {}] } } },
		Object.assign(new Error("e"), { cause: Object.create(null) }),
	]) {
		const fault = faultOf(readFailure(thrown), post);
		expect(fault.message.length).toBeLessThan(700);
		expect(fault.message).not.toMatch(/[\n\u001b]/);
		expect(fault.fix).not.toBe("");
	}
});

it("a fault is unclear only where something may have been made", () => {
	expect(faultOf(network(false), post).unclear).toBe(true);
	expect(faultOf(network(true), post).unclear).toBeUndefined();
	expect(faultOf(network(false), get).unclear).toBeUndefined();
	expect(faultOf(status(422), post).unclear).toBeUndefined();
});

it.each([
	[
		"Failed to CreateArtifact: Received non-retryable error: Failed request: (409) Conflict: an artifact with this name already exists",
		"github-conflict",
	],
	["Failed to CreateArtifact: Received non-retryable error: Failed request: (403) Forbidden", "github-permission"],
	["Failed to make request after 5 attempts: Failed request: (503) Service Unavailable", "github-unavailable"],
	["Upload progress stalled.", "github-unavailable"],
	["connect ETIMEDOUT 1.2.3.4:443", "github-timeout"],
])("a fault of a service is read from its words: %s", (message, code) =>
	expect(serviceFault(new Error(message), "upload").code).toBe(code),
);

it("a fault of a server without the service has its own code, and so has a full quota", () => {
	const named = (name: string) => Object.assign(new Error("no"), { name });
	expect(serviceFault(named("GHESNotSupportedError"), "upload").code).toBe("github-unsupported");
	expect(serviceFault(named("UsageError"), "upload").code).toBe("github-rejected");
});
