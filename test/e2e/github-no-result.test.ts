import { expect, it } from "vitest";
import { parseResult } from "../../src/core/report/parse-result.ts";
import { git } from "../support/git-history.ts";
import { armFiles, artifactFiles, expectTidy, openPlay } from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";

it("the action replaces the green comment by what is at fault and where, in the comment, the check run, the summary and the artifact", async () => {
	const play = await openPlay();
	const { state } = play.github;
	const { base, head: right } = play.sides("same-model");
	const green = await play.pull({ base, head: right }, { runId: 500 });
	expectExit(green.run, 0);
	expect(state.comments[0]?.body).toContain("## ✅");

	const wrong = play.commit(armFiles("same-model", "head", [[/^measure: .*$/m, "mesure: @everyone"]]), {
		onto: right,
	});
	const refused = await play.pull({ base, head: wrong }, { runId: 501 });
	const merge = git(play.origin, "rev-parse", "refs/pull/7/merge");
	const { run } = refused;
	expectExit(run, 2);
	expect(run.outputs).toMatchObject({
		outcome: "error",
		"failure-kind": "configuration",
		"comment-url": green.run.outputs["comment-url"],
	});
	expect(state.comments).toHaveLength(1);
	const body = state.comments[0]?.body ?? "";
	expect(body).toMatch(
		new RegExp(
			`run:501 attempt:1 sha:${wrong} -->\n## 🛑 TensorRT gate · ${wrong.slice(0, 7)}: trtgate.yml:10:9 is not valid YAML: .* · nothing was checked`,
		),
	);
	expect(body).toContain(`head ${wrong.slice(0, 7)} (merged as ${merge.slice(0, 7)}), not measured`);
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
