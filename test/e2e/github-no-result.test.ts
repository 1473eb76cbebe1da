// A pull request whose run cannot begin, played end to end: what an earlier commit passed with must not stand there as this one's.
import { expect, it } from "vitest";
import { parseResult } from "../../src/core/report/parse-result.ts";
import { pullRequest } from "../support/event-payloads.ts";
import { armFiles, artifactFiles, expectTidy, openPlay } from "../support/github-play.ts";

it("the action replaces the green comment by what is at fault and where, in the comment, the check run, the summary and the artifact", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const replay = { comparison: "same-model" } as const;
	const job = { event: "pull_request", ref: "refs/pull/7/merge", replay } as const;
	const base = play.commit(armFiles("same-model", "base"), { ref: "refs/heads/main" });
	const right = play.commit(armFiles("same-model", "head"), { onto: base });
	const first = { base, head: right, merge: play.merge({ number: 7, base, head: right }) };
	const green = await play.run({ ...job, payload: pullRequest(first), sha: first.merge, runId: 500 });
	expect(green.run.exitCode, green.run.stdout + green.run.stderr).toBe(0);
	expect(state.comments[0]?.body).toContain("## ✅");

	const wrong = play.commit(armFiles("same-model", "head", [[/^measure: .*$/m, "mesure: @everyone"]]), {
		onto: right,
	});
	const second = { base, head: wrong, merge: play.merge({ number: 7, base, head: wrong }) };
	const refused = await play.run({ ...job, payload: pullRequest(second), sha: second.merge, runId: 501 });
	const { run } = refused;
	expect(run.exitCode, run.stdout + run.stderr).toBe(2);
	expect(run.outputs).toMatchObject({
		outcome: "error",
		"failure-kind": "configuration",
		"comment-url": green.run.outputs["comment-url"],
	});
	expect(state.comments).toHaveLength(1);
	const body = state.comments[0]?.body ?? "";
	expect(body).toMatch(
		new RegExp(
			`run:501 attempt:1 sha:${wrong} -->\n## 🛑 TensorRT gate · ${wrong.slice(0, 7)}: 1 error · nothing was checked`,
		),
	);
	expect(body).toContain(`head ${wrong.slice(0, 7)} (merged as ${second.merge.slice(0, 7)}), not measured`);
	expect(body).not.toMatch(/unknown|Nothing to compare|@everyone/);
	expect(run.summary).toContain("nothing was checked");
	expect(state.checkRuns.at(-1)).toMatchObject({
		...{ headSha: wrong, conclusion: "failure" },
		annotations: [{ path: "trtgate.yml", annotation_level: "failure" }],
	});
	expect(run.annotations.filter(({ level }) => level === "error")).toHaveLength(1);
	const result = artifactFiles(
		{ ...play.github, state: { ...state, artifacts: state.artifacts.filter(({ runId }) => runId === 501) } },
		"trtgate-gate",
	).get("result.json");
	expect(parseResult(String(result), "result.json")).toMatchObject({
		...{ outcome: "error", failureKind: "configuration", workloads: [] },
		run: { id: 501, attempt: 1, job: "gate" },
	});
	expect(run.post).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("the result is at") });
	expectTidy(play, refused);
});
