import { expect, it } from "vitest";
import { git } from "../support/git-history.ts";
import { armFiles, artifactFiles, expectTidy, lineOf, openPlay } from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";

const featureRef = "refs/heads/feature/faster";

it("the action on a pull request comments, checks and keeps what a wrong change did; a second try doubles nothing, and a second push turns the same comment green", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const wrong = play.sides("wrong-head", [], featureRef);
	const first = await play.pull(wrong, { replay: { comparison: "wrong-head" }, runId: 500 });
	expectExit(first.run, 1);
	expect(first.result().run).toEqual({ id: 500, attempt: 1, job: "gate", runner: "local" });
	expect(first.result().arms).toMatchObject({
		base: { label: "main", commit: wrong.base },
		head: {
			label: "#7",
			ref: "refs/pull/7/merge",
			commit: git(play.origin, "rev-parse", "refs/pull/7/merge"),
		},
	});
	expect(state.comments).toMatchObject([{ issue: 7, author: "github-actions[bot]" }]);
	const body = state.comments[0]?.body ?? "";
	expect(body).toMatch(
		new RegExp(
			`^<!-- trtgate:trtgate\\.yml run:500 attempt:1 sha:${wrong.head} -->\n## ❌ TensorRT gate · ${wrong.head.slice(0, 7)}: net · fp32 does not match its goldens in 1 of 1 case · `,
		),
	);
	expect(body).toContain(" | 27.21\u00a0µs | 27.25\u00a0µs |");
	expect(body).toContain("`logits_out`: relative L2 is 3.3e-2, 33 times the limit of 1e-3");
	expect(state.checkRuns).toMatchObject([
		{
			...{ name: "trtgate", headSha: wrong.head, status: "completed", conclusion: "failure" },
			annotations: [
				{
					path: "trtgate.yml",
					start_line: lineOf(first.workspace, /^ {4}engines:/),
					annotation_level: "failure",
				},
			],
		},
	]);
	expect(state.issues.filter(({ number }) => number !== 7)).toEqual([]);
	expect(state.artifacts.map(({ name, isFinal }) => [name, isFinal])).toEqual([
		["trtgate-gate", true],
		["report-gate.html", true],
	]);
	const files = [...artifactFiles(play.github, "trtgate-gate").keys()];
	expect(files).toEqual(
		expect.arrayContaining([
			"result.json",
			"report.md",
			"report.html",
			"junit.xml",
			"exports/findings.sarif",
		]),
	);
	for (const folder of ["raw/", "logs/", "layers/"])
		expect(files.filter((name) => name.startsWith(folder)).length, folder).toBeGreaterThan(0);
	expect(files.filter((name) => /^(engines|cache|worktrees|scratch)\//.test(name))).toEqual([]);
	const { outputs, summary } = first.run;
	expect(outputs).toMatchObject({ outcome: "fail", failed: "1", warned: "0", "failure-kind": "" });
	expect(body).toContain(outputs["report-url"]);
	expect(body).toContain(outputs["artifact-url"]);
	expect(outputs["comment-url"]).toBe(
		`https://github.com/acme/engines/pull/7#issuecomment-${state.comments[0]?.id}`,
	);
	expect(summary.replace(/<sub>.*/s, "")).toBe(body.slice(body.indexOf("\n") + 1).replace(/<sub>.*/s, ""));
	expect(first.run.post).toMatchObject({ exitCode: 0, stderr: "" });
	expectTidy(play, first);

	const again = await play.pull(wrong, { replay: { comparison: "wrong-head" }, runId: 500, runAttempt: 2 });
	expectExit(again.run, 1);
	expect(state.comments.map(({ body }) => /attempt:(\d)/.exec(body)?.[1])).toEqual(["2"]);
	expect(state.checkRuns.map(({ externalId }) => externalId)).toEqual([
		"trtgate.yml/500/1",
		"trtgate.yml/500/2",
	]);
	expect(state.artifacts.map(({ name, attempt }) => `${name} of try ${attempt}`)).toEqual(
		[1, 2].flatMap((attempt) => [`trtgate-gate of try ${attempt}`, `report-gate.html of try ${attempt}`]),
	);

	const base = play.commit(armFiles("same-model", "base"), { onto: wrong.base, ref: "refs/heads/main" });
	const right = {
		base,
		head: play.commit(armFiles("same-model", "head"), { onto: base, ref: featureRef }),
	};
	const second = await play.pull(right, { replay: { comparison: "same-model" }, runId: 501 });
	expectExit(second.run, 0);
	expect(state.comments).toHaveLength(1);
	expect(state.comments[0]?.body).toMatch(
		new RegExp(
			`run:501 attempt:1 sha:${right.head} -->\n## ✅ TensorRT gate · ${right.head.slice(0, 7)}: all \\d+ checks pass`,
		),
	);
	expect(
		state.checkRuns.map(({ headSha, conclusion, annotations }) => [headSha, conclusion, annotations.length]),
	).toEqual([
		[wrong.head, "failure", 1],
		[wrong.head, "failure", 1],
		[right.head, "success", 0],
	]);
	expect(second.run.outputs["comment-url"]).toBe(outputs["comment-url"]);
	expectTidy(play, second);
});
