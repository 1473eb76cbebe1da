import { expect, it } from "vitest";
import type { WorkflowJob } from "../../../generated/result.ts";
import {
	dropSuperseded,
	hasEarlier,
	type JobExecution,
	type JobHistory,
	type PartInput,
} from "../../../src/core/merge/parts.ts";
import { buildResult } from "../../support/build-result.ts";

function part(run: Partial<WorkflowJob> | null = {}): PartInput {
	const job = { id: 500, attempt: 1, job: "measure", runner: "l4-1" };
	const result = buildResult(run === null ? {} : { run: { ...job, ...run } });
	return { name: "l4", uploadedMs: 100_000, content: { state: "read", result } };
}

const made: JobExecution = { name: "measure (l4)", runner: "l4-1", startedMs: 10_000, completedMs: 110_000 };
const neighbour = { ...made, completedMs: 120_000, name: "measure (h200)", runner: "h200-1" };
const later = { startedMs: 500_000, completedMs: null };
const listed = (...jobs: JobExecution[]): JobHistory => ({ state: "listed", jobs });

function reasonIn(attempt: number, history: JobHistory, own = part()) {
	const [judged] = dropSuperseded([own], attempt, history);
	return judged?.content.state === "missing" ? judged.content.reason : null;
}

it.each([
	["alone", listed(made, neighbour)],
	["beside one of another name that was run again", listed(made, neighbour, { ...neighbour, ...later })],
	["once for each attempt that it counts for", listed(made, neighbour, { ...made })],
])("dropSuperseded keeps an earlier result whose job GitHub lists %s", (_, history) => {
	expect(reasonIn(2, history)).toBeNull();
});

const again = /run again in attempt 2 and left no result; that of attempt 1/;
const unlisted = /GitHub lists no job on its runner/;
const unknown = /from attempt 1, and it is unknown .*: GitHub denies it\./;

it.each<[string, JobHistory, RegExp]>([
	["it was run again", listed(made, { ...made, startedMs: 500_000, runner: "l4-2" }), again],
	["no runner took it again", listed(made, { ...made, ...later, runner: "" }), again],
	["the list is denied", { state: "unknown", why: "GitHub denies it." }, unknown],
	["only the jobs of the last attempt are listed", listed({ ...made, ...later }), unlisted],
	["its runner's name is another", listed({ ...made, runner: "l4-9" }), unlisted],
	["the runner had two jobs at that time", listed(made, { ...neighbour, runner: "l4-1" }), unlisted],
])("dropSuperseded drops an earlier result if %s", (_, history, reason) => {
	expect(reasonIn(2, history)).toMatch(reason);
});

it("dropSuperseded keeps results of this attempt, and drops those that name none", () => {
	const none: JobHistory = { state: "unknown", why: "" };
	expect(reasonIn(2, none, part({ attempt: 2 }))).toBeNull();
	expect(reasonIn(1, none, part(null))).toBeNull();
	expect(reasonIn(2, none, part(null))).toMatch(/does not say which attempt/);
	const refused: PartInput = { name: "l4", content: { state: "refused", reason: "damaged", kind: "runner" } };
	expect(dropSuperseded([refused], 2, none)).toEqual([refused]);
	const earlier = [hasEarlier([part()], 1), hasEarlier([part()], 2), hasEarlier([refused], 2)];
	expect(earlier).toEqual([false, true, false]);
});

it("dropSuperseded lets an execution last until the end of its last second", () => {
	const own = { ...part(), uploadedMs: 110_900 };
	expect(reasonIn(2, listed(made), own)).toBeNull();
	expect(reasonIn(2, listed(made), { ...own, uploadedMs: 112_000 })).toMatch(/GitHub lists no job/);
});
