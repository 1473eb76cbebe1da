// The nightly run, played end to end: one issue while it fails, closed with a word when all is well again.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { HistoryRecord } from "../../generated/history.ts";
import { fileOf } from "../../src/core/history/files.ts";
import { schedule } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { armFiles, expectTidy, openPlay, type Played } from "../support/github-play.ts";
import { buildRatio, hash, nightAt, short } from "../support/history-records.ts";
import { writeProject } from "../support/project.ts";

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
	const right = play.commit(armFiles("same-model", "head", []), {
		onto: broken,
		ref: main,
	});
	const well = await night(right, 701);
	expect(well.run.exitCode, well.run.stdout + well.run.stderr).toBe(0);
	expect(state.issues).toMatchObject([{ state: "closed" }]);
});

it("a night whose history raises an alarm puts its picture on the history's branch and into the issue", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const changes = [
		[/^ {4}golden:.*\n/m, ""],
		["pairs: [5, 8]", "pairs: [5], identical-engines: measure"],
		[
			/^cache:.*$/m,
			"cache: { engines: false, timing: false }\nhistory: { branch: trtgate-history }\nprobes: off",
		],
	] as const;
	const released = play.commit(armFiles("same-model", "base", changes), { ref: main });
	play.tag("v1.1.0", released);
	const sha = play.commit(armFiles("same-model", "head", changes), { onto: released, ref: main });
	const permissions = { contents: "write", issues: "write", actions: "read" } as const;
	const night = (runId: number): Promise<Played> =>
		play.run({
			event: "schedule",
			sha,
			ref: main,
			payload: schedule(),
			replay: { comparison: "same-model" },
			runId,
			depth: 0,
			permissions,
		});
	const first = await night(800);
	const paths = () => git(play.origin, "ls-tree", "-r", "--name-only", "trtgate-history").split("\n");
	const [path = ""] = paths();
	expect(path, first.run.stdout).toMatch(/^runs/);
	const record = JSON.parse(git(play.origin, "show", `trtgate-history:${path}`)) as HistoryRecord;
	// A month of nights in which the engine, then of another model, took a fifth of its time.
	const clone = join(play.root, "history");
	git(play.root, "clone", "--quiet", "--branch", "trtgate-history", play.origin, clone);
	rmSync(join(clone, "runs"), { recursive: true });
	const nights = Array.from({ length: 30 }, (_, index) => {
		const ratio = buildRatio(-1_600_000 + (index % 3) * 500);
		const rows = record.rows.map((row) => ({
			...row,
			ratio,
			head: { ...row.head, model: short("earlier") },
		}));
		return fileOf(
			{ ...record, at: nightAt(index).replace("2026", "2021"), source: short(`${index}`), rows },
			hash,
		);
	});
	writeProject(clone, Object.fromEntries(nights.map(({ path: to, text }) => [to, text])));
	git(clone, "add", "--all");
	git(clone, "commit", "--quiet", "--message", "Earlier nights");
	git(clone, "push", "--quiet", "origin", "HEAD:trtgate-history");
	const second = await night(801);
	const picture = paths().find((one) => one.startsWith("pictures/")) ?? "";
	expect(picture, second.run.stdout + second.run.stderr).toMatch(/^pictures\/[0-9a-f]{12}\.svg$/);
	expect(git(play.origin, "show", `trtgate-history:${picture}`)).toMatch(/^<svg [\s\S]*slower than/);
	expect(state.issues[0]?.body).toMatch(
		new RegExp(
			`!\\[Course of [^\\]]+\\]\\(http\\S+/acme/engines/blob/trtgate-history/${picture}\\?raw=true\\)`,
		),
	);
	expect(state.issues[0]?.body).not.toContain("nights: `");
	expect(state.violations).toEqual([]);
});
