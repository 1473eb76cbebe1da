// Which results of an earlier attempt still count, by GitHub's list of the run's jobs.
import { expect, it } from "vitest";
import type { WorkflowJob } from "../../../generated/result.ts";
import {
	dropSuperseded,
	hasEarlier,
	type JobExecution,
	type JobHistory,
} from "../../../src/core/merge/attempts.ts";
import type { PartInput } from "../../../src/core/merge/parts.ts";
import { buildResult } from "../../support/build-result.ts";

/** Uploaded at second 100 of the run, by runner `l4-1` in attempt 1. */
function part(run: Partial<WorkflowJob> | null = {}): PartInput {
	const job = { id: 500, attempt: 1, job: "measure", runner: "l4-1" };
	const result = buildResult(run === null ? {} : { run: { ...job, ...run } });
	return { name: "l4", uploadedMs: 100_000, content: { state: "read", result } };
}

function execution(
	fromSecond: number,
	toSecond: number | null,
	more: Partial<JobExecution> = {},
): JobExecution {
	const completedMs = toSecond === null ? null : 1000 * toSecond;
	return { name: "measure (l4)", runner: "l4-1", startedMs: 1000 * fromSecond, completedMs, ...more };
}

const made = execution(10, 110);
const neighbour = execution(10, 120, { name: "measure (h200)", runner: "h200-1" });
const listed = (...jobs: JobExecution[]): JobHistory => ({ state: "listed", jobs });

function reasonIn(attempt: number, history: JobHistory, own = part()): string | null {
	const [judged] = dropSuperseded([own], attempt, history);
	return judged?.content.state === "missing" ? judged.content.reason : null;
}

it.each([
	["alone", listed(made, neighbour)],
	[
		"beside a job of another name that was run again",
		listed(made, neighbour, { ...neighbour, startedMs: 500_000, completedMs: null }),
	],
	["once for each attempt that it counts for", listed(made, neighbour, { ...made })],
] as const)("dropSuperseded keeps an earlier result whose job GitHub lists %s", (_, history) => {
	expect(reasonIn(2, history)).toBeNull();
});

it.each([
	[
		"it was run again",
		listed(made, neighbour, execution(500, 510, { runner: "l4-2" })),
		/run again in attempt 2 and left no result; that of attempt 1/,
	],
	["no runner took it again", listed(made, execution(500, null, { runner: "" })), /run again in attempt 2/],
	[
		"the list is denied",
		{ state: "unknown", why: "GitHub denies it." },
		/from attempt 1, and it is unknown .*: GitHub denies it\./,
	],
	[
		"only the jobs of the last attempt are listed",
		listed(execution(500, 600)),
		/GitHub lists no job on its runner/,
	],
	["its runner's name is another", listed({ ...made, runner: "l4-9" }), /GitHub lists no job on its runner/],
	[
		"the runner had two jobs at that time",
		listed(made, { ...neighbour, runner: "l4-1" }),
		/GitHub lists no job on its runner/,
	],
] as const)("dropSuperseded drops an earlier result if %s", (_, history, reason) => {
	expect(reasonIn(2, history)).toMatch(reason);
});

it("dropSuperseded keeps results of this attempt, and drops those that name none", () => {
	const none: JobHistory = { state: "unknown", why: "" };
	expect(reasonIn(2, none, part({ attempt: 2 }))).toBeNull();
	expect(reasonIn(1, none, part(null))).toBeNull();
	expect(reasonIn(2, none, part(null))).toMatch(/does not say which attempt/);
	const refused: PartInput = { name: "l4", content: { state: "refused", reason: "damaged", kind: "runner" } };
	expect(dropSuperseded([refused], 2, none)).toEqual([refused]);
	expect([
		hasEarlier([part()], 1),
		hasEarlier([part()], 2),
		hasEarlier([part({ attempt: 2 }), refused], 2),
	]).toEqual([false, true, false]);
});

it("dropSuperseded assumes that an execution lasts until the end of the second in which it completed", () => {
	const own = { ...part(), uploadedMs: 110_900 };
	expect(reasonIn(2, listed(made), own)).toBeNull();
	expect(reasonIn(2, listed(made), { ...own, uploadedMs: 112_000 })).toMatch(/GitHub lists no job/);
});
