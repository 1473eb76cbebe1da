import { expect, it } from "vitest";
import { mergeGroup, push, release } from "../support/event-payloads.ts";
import {
	armFiles,
	type Changes,
	expectTidy,
	lineOf,
	openPlay,
	type PlayedJob,
} from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";

const main = "refs/heads/main";
const nothing = "0".repeat(40);
/** The wider net of this comparison is another net than its golden's: only its speed is judged here. */
const speedOnly: Changes = [
	[/^ {4}golden:.*\n/m, ""],
	[/^cache:.*$/m, "cache: { engines: true, timing: true }"],
];

it("a push to main is compared with main before, warns of slowdowns, and keeps engines and kernel timings for the next, but not with `cache: false`", async () => {
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
	expectExit(first.run, 0);
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
	expect(first.run.stdout).toMatch(
		/nothing is stored under trtgate-timing-v1-linux-x64-NVIDIA-H200-.*10\.6\.0- yet/,
	);
	const keys = state.caches.map(({ key }) => key);
	expect(keys).toEqual([
		expect.stringMatching(/^trtgate-timing-v1-linux-x64-NVIDIA-H200-.*-[0-9a-f]{32}$/),
		expect.stringMatching(/^trtgate-engines-v1-.*-[0-9a-f]{32}$/),
	]);
	for (const { scope, isFinal } of state.caches) expect([scope, isFinal]).toEqual([main, true]);
	expectTidy(play, first);

	const again = async (cache: string) => {
		const next = await play.run({ ...job, payload: push(main, before, after), inputs: { cache } });
		expectExit(next.run, 0);
		expectTidy(play, next);
		return { ...next.run, restored: next.result().builds.map(({ fromCache }) => fromCache === true) };
	};
	expect((await again("false")).restored).toEqual([false, false]);
	const { restored, stdout } = await again("auto");
	expect(restored).toEqual([true, true]);
	expect(stdout).toMatch(/restored 2 entries of trtgate-engines-v1/);
	expect(stdout.match(/holds nothing new/g)).toHaveLength(2);
	expect(state.caches.map(({ key }) => key)).toEqual(keys);
});

it("a push to main that makes the repository has nothing to compare with, reports it, and passes", async () => {
	const play = await openPlay();
	const only = play.commit(armFiles("same-model", "head"), { ref: main });
	const payload = push(main, nothing, only);
	const { run } = await play.run({ event: "push", sha: only, ref: main, payload });
	expectExit(run, 0);
	expect(play.github.state.checkRuns[0]?.summary).toContain("Nothing to compare with");
});

/** Half a thousandth cannot be told from noise in five pairs. */
const fine: Changes = [
	["pairs: [5, 8]", "pairs: [5]"],
	[/$/, "gates: { latency: { warn: 0.05%, fail: 5% } }\n"],
];
it.each([
	["pushed: passes what did not change since the release before it", "push", [] as Changes, "pass"],
	["published as a release: fails what could not be decided", "release", fine, "fail"],
] as const)("a tag %s", async (_, event, changes, outcome) => {
	const play = await openPlay();
	const old = play.commit(armFiles("same-model", "base", changes), { ref: main });
	play.tag("v1.1.0", old);
	play.tag("v1.2.0-rc.1", play.commit({ "notes.md": "Candidate.\n" }, { onto: old }));
	const released = play.commit(armFiles("same-model", "head", changes), { onto: old, ref: main });
	play.tag("v1.2.0", released);
	const job: PlayedJob = {
		...{ event, sha: released, ref: "refs/tags/v1.2.0", runId: 500 },
		payload: event === "push" ? push("refs/tags/v1.2.0", nothing, released) : release("v1.2.0"),
	};
	const played = await play.run(job);
	expectExit(played.run, outcome === "pass" ? 0 : 1);
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
});

it("the merge queue compares a change with the commit it is added to, publishes a check and no comment", async () => {
	const play = await openPlay();
	const { base, head } = play.sides("wrong-head");
	const ref = `refs/heads/gh-readonly-queue/main/pr-7-${base}`;
	const queued = play.commit({}, { onto: head, ref });
	const job = { event: "merge_group", sha: queued, ref, payload: mergeGroup(queued, base) };
	const played = await play.run({ ...job, replay: { comparison: "wrong-head" } });
	expectExit(played.run, 1);
	expect(played.result().arms).toMatchObject({
		base: { commit: base },
		head: { label: "merge queue of main", commit: queued },
	});
	expect(play.github.state.checkRuns).toMatchObject([{ headSha: queued, conclusion: "failure" }]);
	expect(play.github.state.comments).toEqual([]);
	expectTidy(play, played);
});
