import { expect, it } from "vitest";
import { describeFailure } from "../../../src/adapters/process/failure.ts";
import type { ProcessRecord } from "../../../src/adapters/process/spawn.ts";

const record: ProcessRecord = {
	state: "exited",
	exitCode: 0,
	signal: null,
	wallMs: 10,
	tail: Array.from({ length: 40 }, (_, index) => `line ${index}`),
	stdout: "",
	logPath: "/x.log",
	problem: "",
	argv: ["tool", "-v"],
};

it.each([
	[{ state: "not-started", problem: "ENOENT" }, "tool-missing", "Tool did not start: ENOENT."],
	[{ state: "timed-out" }, "tool-timeout", "Tool did not finish within 1.5 s and was killed."],
	[
		{ state: "timed-out", problem: "it lives" },
		"tool-timeout",
		"Tool did not finish within 1.5 s: it lives.",
	],
	[{ state: "aborted" }, "interrupted", "Tool was interrupted."],
	[{ state: "signalled", signal: "SIGSEGV" }, "tool-crashed", "Tool was ended by SIGSEGV."],
	[{ exitCode: 134 }, "tool-crashed", "Tool ended with exit code 134."],
	[{}, "tool-output", "Tool ended without a result."],
] as const)("describeFailure tells %j apart", (changes, code, message) => {
	const failed = { ...record, ...("state" in changes && { exitCode: null }), ...changes } as ProcessRecord;
	const failure = describeFailure(failed, { what: "Tool", timeoutMs: 1_500 });
	expect(failure).toMatchObject({ code, message, log: "/x.log" });
	expect(failure.fix).toMatch(/\.$/);
	expect(failure.excerpt).toHaveLength(20);
});

it("describeFailure mentions memory if the kernel may have killed the process", () => {
	const failure = describeFailure(
		{ ...record, state: "signalled", signal: "SIGKILL", exitCode: null },
		{ what: "Tool", timeoutMs: 1 },
	);
	expect(failure.fix).toContain("ran out of memory");
});
