// Pushes to main, tags, the merge queue and runs by hand, played end to end with recorded GPU comparisons.
import { describe, expect, it } from "vitest";
import { mergeGroup, push, release, workflowDispatch } from "../support/event-payloads.ts";
import {
	armFiles,
	type Changes,
	expectTidy,
	lineOf,
	openPlay,
	type PlayedJob,
} from "../support/github-play.ts";

const main = "refs/heads/main";
const nothing = "0".repeat(40);
/** The wider net of this comparison is another net than its golden's: only its speed is judged here. */
const speedOnly: Changes = [
	[/^ {4}golden:.*\n/m, ""],
	[/^cache:.*$/m, "cache: { engines: false, timing: true }"],
];

it("a push to main is compared with main before, warns of slowdowns, and keeps the kernel timings for the next", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const { base: before, head: after } = play.sides("slower-head", speedOnly, main);
	const job: Omit<PlayedJob, "payload"> = {
		event: "push",
		sha: after,
		ref: main,
		replay: { comparison: "slower-head" },
	};
	const first = await play.run({ ...job, payload: push(main, before, after) });
	expect(first.run.exitCode, first.run.stdout + first.run.stderr).toBe(0);
	expect(first.run.outputs).toMatchObject({ outcome: "warn", warned: "1", failed: "0", "comment-url": "" });
	expect(first.result().arms).toMatchObject({
		base: { commit: before },
		head: { label: "main", ref: "main", commit: after },
	});
	expect(state.comments).toEqual([]);
	expect(state.checkRuns).toMatchObject([
		{
			...{
				headSha: after,
				conclusion: "success",
				title: expect.stringContaining("Passed with warnings: 1 slowdown"),
			},
			annotations: [
				{
					path: "trtgate.yml",
					start_line: lineOf(first.workspace, /^ {4}workloads:/),
					annotation_level: "warning",
				},
			],
		},
	]);
	expect(state.caches).toMatchObject([
		{ key: expect.stringMatching(/^trtgate-timing-v1-linux-x64-NVIDIA-H200-/), scope: main, isFinal: true },
	]);
	expectTidy(play, first);

	const next = play.commit({ "readme.md": "Words.\n" }, { onto: after, ref: main });
	const second = await play.run({ ...job, sha: next, payload: push(main, after, next) });
	expect(second.run.stdout).toMatch(/published cache: restored 1 entry of trtgate-timing-v1-/);
	expect(second.run.stdout).toMatch(/no cache: trtgate-timing-v1-\S+ holds nothing new/);
	expect(state.caches).toHaveLength(1);
	expect(state.checkRuns.map(({ headSha }) => headSha)).toEqual([after, next]);
	expectTidy(play, second);
});

it("engines of earlier runs are taken over, but not with `cache: false`", async () => {
	const play = await openPlay();
	const kept: Changes = [
		speedOnly[0] as Changes[number],
		[/^cache:.*$/m, "cache: { engines: true, timing: false }"],
	];
	const { base: before, head: after } = play.sides("slower-head", kept, main);
	const job = {
		event: "push",
		sha: after,
		ref: main,
		replay: { comparison: "slower-head" },
		payload: push(main, before, after),
	} as const;
	const builtAnew = async (cache: string): Promise<boolean[]> => {
		const { result, run } = await play.run({ ...job, inputs: { cache } });
		expect(run.exitCode, run.stdout + run.stderr).toBe(0);
		return result().builds.map(({ fromCache }) => fromCache !== true);
	};
	expect(await builtAnew("auto")).toEqual([true, true]);
	expect(await builtAnew("false")).toEqual([true, true]);
	expect(await builtAnew("auto")).toEqual([false, false]);
});

it("a push to main that makes the repository has nothing to compare with, reports it, and passes", async () => {
	const play = await openPlay();
	const only = play.commit(armFiles("same-model", "head"), { ref: main });
	const { run } = await play.run({
		...{
			event: "push",
			sha: only,
			ref: main,
			payload: push(main, nothing, only),
			replay: { comparison: "same-model" },
		},
	});
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
	expect(play.github.state.checkRuns[0]?.summary).toContain("Nothing to compare with");
});

describe("a tag", () => {
	/** Half a thousandth cannot be told from noise in five pairs. */
	const fine: Changes = [
		["pairs: [5, 8]", "pairs: [5]"],
		[/$/, "gates: { latency: { warn: 0.05%, fail: 5% } }\n"],
	];
	it.each([
		[
			"pushed: passes what did not change since the release before it; a second try is a run of its own",
			"push",
			[] as Changes,
			"pass",
		],
		["published as a release: fails what could not be decided", "release", fine, "fail"],
	] as const)("a tag %s", async (_, event, changes, outcome) => {
		const play = await openPlay();
		const old = play.commit(armFiles("same-model", "base", changes), { ref: main });
		play.tag("v1.1.0", old);
		play.tag("v1.2.0-rc.1", play.commit({ "notes.md": "Candidate.\n" }, { onto: old }));
		const released = play.commit(armFiles("same-model", "head", changes), { onto: old, ref: main });
		play.tag("v1.2.0", released);
		const job: PlayedJob = {
			...{ event, sha: released, ref: "refs/tags/v1.2.0", runId: 500, replay: { comparison: "same-model" } },
			payload: event === "push" ? push("refs/tags/v1.2.0", nothing, released) : release("v1.2.0"),
		};
		const played = await play.run(job);
		expect(played.run.exitCode, played.run.stdout + played.run.stderr).toBe(outcome === "pass" ? 0 : 1);
		expect(played.run.outputs["outcome"]).toBe(outcome);
		expect(played.result().arms).toMatchObject({
			base: { label: "v1.1.0", commit: old },
			head: { label: "v1.2.0", ref: "v1.2.0", commit: released },
		});
		const { checkRuns, comments, issues } = play.github.state;
		expect(checkRuns).toMatchObject([
			{ headSha: released, conclusion: outcome === "pass" ? "success" : "failure" },
		]);
		expect([comments, issues]).toEqual([[], []]);
		expectTidy(play, played);

		const again = await play.run({ ...job, runAttempt: 2 });
		expect(again.run.outputs["outcome"]).toBe(outcome);
		// GitHub shows the newest of a name.
		expect(checkRuns.map(({ externalId }) => externalId)).toEqual(["trtgate.yml/500/1", "trtgate.yml/500/2"]);
		expect([comments, issues]).toEqual([[], []]);
		expectTidy(play, again);
	});
});

it("the merge queue compares a change with the commit it is added to, publishes a check and no comment", async () => {
	const play = await openPlay();
	const { base, head } = play.sides("wrong-head");
	const ref = `refs/heads/gh-readonly-queue/main/pr-7-${base}`;
	const queued = play.commit({}, { onto: head, ref });
	const played = await play.run({
		...{
			event: "merge_group",
			sha: queued,
			ref,
			payload: mergeGroup(queued, base),
			replay: { comparison: "wrong-head" },
		},
	});
	expect(played.run.exitCode, played.run.stdout + played.run.stderr).toBe(1);
	expect(played.result().arms).toMatchObject({
		base: { commit: base },
		head: { label: "merge queue of main", commit: queued },
	});
	expect(play.github.state.checkRuns).toMatchObject([{ headSha: queued, conclusion: "failure" }]);
	expect(play.github.state.comments).toEqual([]);
	expectTidy(play, played);
});

it("a run by hand: compared with the last release, checked, no issue", async () => {
	const play = await openPlay();
	const old = play.commit(armFiles("wrong-head", "base"), { ref: main });
	play.tag("v1.1.0", old);
	const head = play.commit(armFiles("wrong-head", "head"), { onto: old, ref: "refs/heads/try" });
	const played = await play.run({
		...{
			event: "workflow_dispatch",
			sha: head,
			ref: "refs/heads/try",
			payload: workflowDispatch("refs/heads/try"),
		},
		replay: { comparison: "wrong-head" },
	});
	expect(played.run.exitCode, played.run.stdout + played.run.stderr).toBe(1);
	expect(played.result().arms).toMatchObject({
		base: { label: "v1.1.0", commit: old },
		head: { label: "try", commit: head },
	});
	expect(play.github.state.checkRuns).toMatchObject([{ headSha: head, conclusion: "failure" }]);
	expect(play.github.state.issues).toEqual([]);
	expectTidy(play, played);
});
