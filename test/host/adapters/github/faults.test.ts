import { expect, it } from "vitest";
import {
	faultOf,
	type RequestFailure,
	type RequestInfo,
	readFailure,
	serviceFault,
} from "../../../../src/host/adapters/github/faults.ts";

const get: RequestInfo = { endpoint: "GET /repos/a/b", permission: "checks: read", creates: false };
const post: RequestInfo = { endpoint: "POST /repos/a/b", permission: "checks: write", creates: true };
const network: RequestFailure = { kind: "network", status: 0, headers: {}, message: "" };
const rejected: RequestFailure = { ...network, kind: "status", status: 422 };

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

it("a fault is unclear only if something may have been made", () => {
	expect(faultOf(network, post).unclear).toBe(true);
	expect(faultOf(network, get).unclear).toBeUndefined();
	expect(faultOf(rejected, post).unclear).toBeUndefined();
});

const create = "Failed to CreateArtifact: Received non-retryable error: Failed request:";

it.each([
	[`${create} (409) Conflict: an artifact with this name already exists`, "conflict"],
	[`${create} (403) Forbidden`, "permission"],
	["Failed to make request after 5 attempts: Failed request: (503) Service Unavailable", "unavailable"],
	["Upload progress stalled.", "unavailable"],
	["connect ETIMEDOUT 1.2.3.4:443", "timeout"],
])("a fault of a service is read from its words: %s", (message, code) =>
	expect(serviceFault(new Error(message), "upload").code).toBe(`github-${code}`),
);

it("a fault of a server without the service has its own code, and so has a full quota", () => {
	const named = (name: string) => Object.assign(new Error("no"), { name });
	expect(serviceFault(named("GHESNotSupportedError"), "upload").code).toBe("github-unsupported");
	expect(serviceFault(named("UsageError"), "upload").code).toBe("github-rejected");
});
