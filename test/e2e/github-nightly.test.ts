import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { HistoryRecord } from "../../generated/history.ts";
import { schedule } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import {
	armFiles,
	type Comparison,
	expectTidy,
	openPlay,
	type Play,
	type Played,
	type PlayedJob,
} from "../support/github-play.ts";
import { fasterNights } from "../support/history-records.ts";
import { expectExit, writeProject } from "../support/project.ts";

const main = "refs/heads/main";

function runNight(
	play: Play,
	comparison: Comparison,
	job: Pick<PlayedJob, "sha" | "runId"> & Partial<PlayedJob>,
): Promise<Played> {
	return play.run({ event: "schedule", ref: main, payload: schedule(), replay: { comparison }, ...job });
}

it("the action at night opens one issue if a night cannot decide, keeps it up to date, and closes it with a comment when the engines recover", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const released = play.commit(armFiles("wrong-head", "base"), { ref: main });
	play.tag("v1.1.0", released);
	const broken = play.commit(armFiles("wrong-head", "head", [[/^measure: .*$/m, "mesure: 1"]]), {
		onto: released,
		ref: main,
	});
	const undecided = await runNight(play, "wrong-head", { sha: broken, runId: 600 });
	expectExit(undecided.run, 2);
	expect(state.issues).toMatchObject([
		{
			...{ state: "open", labels: ["trtgate"], title: expect.stringContaining("could not decide") },
			body: expect.stringMatching(/^<!-- trtgate:\S+ run:600 [\s\S]*mesure/),
		},
	]);

	const wrong = play.commit(armFiles("wrong-head", "head"), { onto: broken, ref: main });
	const failed = await runNight(play, "wrong-head", { sha: wrong, runId: 601 });
	expectExit(failed.run, 1);
	expect(failed.result().arms).toMatchObject({
		base: { label: "v1.1.0", commit: released },
		head: { label: "main", commit: wrong },
	});
	// A schedule asks probes, here through trtexec; the recordings hold no answers to them but zeros, on both sides.
	expect(new Set(failed.result().probes?.map(({ probe }) => probe)).size).toBe(9);
	expect(failed.result().probes?.filter(({ state: told }) => told === "agrees").length).toBeGreaterThan(0);
	expect(state.issues).toMatchObject([
		{
			...{
				state: "open",
				title: expect.stringContaining("TensorRT gate fails for trtgate.yml: 1 golden mismatch"),
			},
			body: expect.stringMatching(/^<!-- trtgate:\S+ run:601 [\s\S]*2 runs: /),
		},
	]);
	expect(state.comments).toEqual([]);
	expectTidy(play, failed);

	const quick = [["probes: nightly", "probes: off"]] as const;
	const old = play.commit(armFiles("same-model", "base", quick), { onto: wrong, ref: main });
	play.tag("v1.1.1", old);
	const right = play.commit(armFiles("same-model", "head", quick), { onto: old, ref: main });
	const passed = await runNight(play, "same-model", { sha: right, runId: 602 });
	expectExit(passed.run, 0);
	expect(state.issues).toMatchObject([{ state: "closed" }]);
	expect(state.comments).toMatchObject([
		{ issue: state.issues[0]?.number, body: expect.stringMatching(/^Recovered: .*all \d+ checks pass/) },
	]);
	expect(state.checkRuns.map(({ headSha, conclusion }) => [headSha, conclusion])).toEqual([
		[broken, "failure"],
		[wrong, "failure"],
		[right, "success"],
	]);
	expectTidy(play, passed);
});

it("a night whose history raises an alarm adds its record to the branch, and names the alarm in the issue", async () => {
	const play = await openPlay();
	const changes = [
		[/^ {4}golden:.*\n/m, ""],
		["pairs: [5, 8]", "pairs: [5], identical-engines: measure"],
		[/^cache:.*$/m, "history: { branch: trtgate-history }"],
		["probes: nightly", "probes: off"],
	] as const;
	const released = play.commit(armFiles("same-model", "base", changes), { ref: main });
	play.tag("v1.1.0", released);
	const sha = play.commit(armFiles("same-model", "head", changes), { onto: released, ref: main });
	const job = { sha, depth: 0, permissions: { contents: "write", issues: "write" } } as const;
	const paths = () => git(play.origin, "ls-tree", "-r", "--name-only", "trtgate-history").split("\n");
	const first = await runNight(play, "same-model", { ...job, runId: 800 });
	const [badge, path = ""] = paths();
	expect(badge, first.run.stdout).toBe("badge.svg");
	const shownBadge = () => git(play.origin, "show", "trtgate-history:badge.svg");
	expect(shownBadge()).toMatch(
		/^<svg .*<title>trtgate: (passed|passed with warnings), \d{4}-\d\d-\d\d<\/title>/,
	);
	expect(path, first.run.stdout).toMatch(/^runs/);
	const record = JSON.parse(git(play.origin, "show", `trtgate-history:${path}`)) as HistoryRecord;
	const clone = join(play.root, "history");
	git(play.root, "clone", "--quiet", "--branch", "trtgate-history", play.origin, clone);
	rmSync(join(clone, "runs"), { recursive: true });
	writeProject(clone, fasterNights(record));
	git(clone, "add", "--all");
	git(clone, "commit", "--quiet", "--message", "Earlier nights");
	git(clone, "push", "--quiet", "origin", "HEAD:trtgate-history");
	const second = await runNight(play, "same-model", { ...job, runId: 801 });
	expect(paths(), second.run.stdout + second.run.stderr).toHaveLength(32);
	const [, outcome] = /<title>trtgate: ([\w ]+), /.exec(shownBadge()) ?? [];
	expect(outcome).toBe(second.result().outcome === "fail" ? "failed" : "passed with warnings");
	expect(play.github.state.issues[0]?.body).toMatch(
		/, trend: .* slower since .*\n\nCause: the change \(.*\)\. It began between \w{7} and \w{7}: `trtgate run --base \w+ --head \w+ --only net\/fp16`\./,
	);
	expect(play.github.state.violations).toEqual([]);
});
