import { expect, it } from "vitest";
import { runActionFolder } from "../support/action-runner.ts";
import { openPlay, type PlayedJob } from "../support/github-play.ts";
import { quickProject, untimedFiles as right, temporaryFolder } from "../support/project.ts";
import { shownLines } from "../support/shown-lines.ts";

const wrong = { ...right, "model.onnx": "fixture:wrong.onnx" };

async function openPull() {
	const play = await openPlay();
	const base = play.commit({}, { ref: "refs/heads/main" });
	const run = (files: typeof right, job: Partial<PlayedJob>) =>
		play.pull({ base, head: play.commit(files, { onto: base }) }, job);
	return { state: play.github.state, run };
}

it("the action on a pull request reports the same outcome with a token that may do nothing, and names all rights that are missing once, in one line to add", async () => {
	const { state, run } = await openPull();
	const { run: ran, result } = await run(wrong, { permissions: { contents: "read" } });
	expect(ran.exitCode).toBe(1);
	expect(ran.outputs["outcome"]).toBe("fail");
	const line = "Add under `permissions:` of the job: `pull-requests: write`, `checks: write`.";
	for (const text of [ran.summary, ran.annotations.map(({ message }) => message).join("\n")])
		expect(text.split(line)).toHaveLength(2);
	expect(ran.stdout + ran.summary).not.toMatch(/statuses|: read`|fork/);
	expect(ran.summary).toMatch(/The outcome stands\. Not everything could be published/);
	expect(ran.annotations.some(({ level, file }) => level === "error" && file === "trtgate.yml")).toBe(true);
	expect(state.comments).toEqual([]);
	expect(result().outcome).toBe("fail");
});

it("the action on a pull request comments on a pass once in a repository, in three lines, and then on changes alone", async () => {
	const { state, run } = await openPull();
	const inputs = { "check-run": "false" };
	await run(right, { inputs, runId: 1 });
	const [first] = state.comments;
	expect(shownLines(first?.body ?? "")).toHaveLength(3);
	// It is now one of an earlier pull request.
	state.comments.splice(0, 1, { ...first!, issue: 6 });
	const silent = await run(right, { inputs, runId: 2 });
	expect(silent.run.stdout).toMatch(/all pass, and it is not the first comment in this repository/);
	expect(state.comments.slice(1)).toEqual([]);
	expect(state.violations).toEqual([]);
});

it("the action on a pull request refuses an input that it does not know before it runs anything", async () => {
	const workspace = quickProject(temporaryFolder());
	const ran = await runActionFolder(".", { env: {}, cwd: workspace, inputs: { comment: "loudly" } });
	expect(ran.exitCode).toBe(2);
	expect(ran.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(ran.stdout).toMatch(/input comment is "loudly"; expected one of changes, auto/);
});
