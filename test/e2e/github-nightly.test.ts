// The nightly run, played end to end: one issue while it fails, closed with a word when all is well again.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { schedule } from "../support/event-payloads.ts";
import { armFiles, expectTidy, openPlay, type Played } from "../support/github-play.ts";

const main = "refs/heads/main";

it("the action at night opens one issue, keeps it up to date, and closes it with a comment when the engines recover", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const released = play.commit(armFiles("wrong-head", "base"), { ref: main });
	play.tag("v1.1.0", released);
	const night = (sha: string, comparison: "wrong-head" | "same-model", runId: number): Promise<Played> =>
		play.run({ event: "schedule", sha, ref: main, payload: schedule(), replay: { comparison }, runId });

	const wrong = play.commit(armFiles("wrong-head", "head"), { onto: released, ref: main });
	const first = await night(wrong, "wrong-head", 600);
	expect(first.run.exitCode, first.run.stdout + first.run.stderr).toBe(1);
	expect(first.result().arms).toMatchObject({
		base: { label: "v1.1.0", commit: released },
		head: { label: "main", commit: wrong },
	});
	// A schedule asks probes, here through trtexec; the recordings hold no answers to them but zeros, on both sides.
	expect(new Set(first.result().probes?.map(({ probe }) => probe)).size).toBe(6);
	expect(first.result().probes?.filter(({ state: told }) => told === "agrees").length).toBeGreaterThan(0);
	expect(state.issues).toMatchObject([
		{
			...{
				state: "open",
				labels: ["trtgate"],
				title: expect.stringContaining("TensorRT gate fails for trtgate.yml: 1 golden mismatch"),
			},
			body: expect.stringMatching(/^<!-- trtgate:\S+ run:600 [\s\S]*1 run: /),
		},
	]);
	expect(state.checkRuns).toMatchObject([{ headSha: wrong, conclusion: "failure" }]);
	expectTidy(play, first);

	const second = await night(wrong, "wrong-head", 601);
	expect(second.run.exitCode).toBe(1);
	expect(state.issues).toMatchObject([
		{ state: "open", body: expect.stringMatching(/^<!-- trtgate:\S+ run:601 [\s\S]*2 runs: /) },
	]);
	expect(state.comments).toEqual([]);

	const old = play.commit(armFiles("same-model", "base"), { onto: wrong, ref: main });
	play.tag("v1.1.1", old);
	const right = play.commit(armFiles("same-model", "head"), { onto: old, ref: main });
	const third = await night(right, "same-model", 602);
	expect(third.run.exitCode, third.run.stdout + third.run.stderr).toBe(0);
	expect(state.issues).toMatchObject([{ state: "closed" }]);
	expect(state.comments).toMatchObject([
		{ issue: state.issues[0]?.number, body: expect.stringMatching(/^Recovered: .*all \d+ checks pass/) },
	]);
	expect(state.checkRuns.map(({ conclusion }) => conclusion)).toEqual(["failure", "failure", "success"]);
	expectTidy(play, third);
});

it("the action at night opens the issue where a night cannot decide, and closes it after the next good one", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const released = play.commit(armFiles("same-model", "base"), { ref: main });
	play.tag("v1.1.0", released);
	const night = (sha: string, runId: number): Promise<Played> =>
		play.run({
			event: "schedule",
			sha,
			ref: main,
			payload: schedule(),
			replay: { comparison: "same-model" },
			runId,
		});

	const broken = play.commit(armFiles("same-model", "head", [[/^measure: .*$/m, "mesure: 1"]]), {
		onto: released,
		ref: main,
	});
	const first = await night(broken, 700);
	expect(first.run.exitCode, first.run.stdout + first.run.stderr).toBe(2);
	expect(state.issues).toMatchObject([
		{
			state: "open",
			title: expect.stringContaining("could not decide"),
			body: expect.stringContaining("mesure"),
		},
	]);
	const soak = "unchanged-models: rebuild, soak: 90s";
	const right = play.commit(armFiles("same-model", "head", [["unchanged-models: rebuild", soak]]), {
		onto: broken,
		ref: main,
	});
	const well = await night(right, 701);
	expect(well.run.exitCode, well.run.stdout + well.run.stderr).toBe(0);
	// A night keeps the engine under load; the replay has the times of one that was recorded for 90 s.
	const [row] = well.result().workloads;
	expect(row?.soak).toMatchObject({
		state: "time-up",
		steps: [{ atS: 13, change: expect.closeTo(0.007, 2) }],
		throttledShare: 0,
	});
	expect(row?.soak?.seconds).toBeCloseTo(90, 0);
	expect(row?.soak?.processes).toHaveLength(3);
	expect(well.result().gates.find(({ gate }) => gate === "soak-drift")).toMatchObject({
		status: "pass",
		workload: row?.workload,
	});
	expect(readFileSync(join(well.out, "report.html"), "utf8")).toMatch(
		/Sustained load[\s\S]*<path class="soakline head"/,
	);
	expect(state.issues).toMatchObject([{ state: "closed" }]);
});
