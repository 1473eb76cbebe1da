import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runActionFolder } from "../support/action-runner.ts";
import { openPlay, type PlayedJob } from "../support/github-play.ts";
import { expectExit, quickProject, untimedFiles as right, temporaryFolder } from "../support/project.ts";
import { shownLines } from "../support/shown-lines.ts";

const wrong = { ...right, "model.onnx": "fixture:wrong.onnx" };

async function openPull() {
	const play = await openPlay();
	const base = play.commit({}, { ref: "refs/heads/main" });
	const run = (files: typeof right, job: Partial<PlayedJob>) =>
		play.pull({ base, head: play.commit(files, { onto: base }) }, job);
	return { state: play.github.state, run };
}

it("the action on a pull request doubles nothing when it runs again, and writes over no newer comment", async () => {
	const { state, run } = await openPull();
	const first = await run(wrong, { runId: 100 });
	expectExit(first.run, 1);
	expect(state.comments[0]?.body).toMatch(
		/\[report\.html\]\(https:\/\/github\.com\/acme\/engines\/actions\/runs\/100\/artifacts\/\d+\)/,
	);
	expect(JSON.parse(readFileSync(join(first.out, "publish.json"), "utf8")).published).toHaveLength(4);
	expect((await run(wrong, { runId: 100 })).run.exitCode).toBe(1);
	// Another job has taken the names.
	expect(state.artifacts.map(({ name }) => name)).toEqual([
		...["trtgate-gate", "report-gate.html", "trtgate-gate-attempt1", "report-gate-attempt1.html"],
	]);
	const older = await run(wrong, { runId: 99 });
	expect(older.run.stdout).toMatch(/a newer run has commented already/);
	expect(state.comments).toMatchObject([{ body: expect.stringMatching(/run:100/) }]);
	expect(state.violations).toEqual([]);
});

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

it("the action on a pull request comments on a pass once in a repository, in three lines; then on changes alone, and keeps that comment up to date", async () => {
	const { state, run } = await openPull();
	const inputs = { "check-run": "false" };
	await run(right, { inputs, runId: 1 });
	const [first] = state.comments;
	expect(shownLines(first?.body ?? "")).toHaveLength(3);
	// It is now one of an earlier pull request.
	state.comments.splice(0, 1, { ...first!, issue: 6 });
	const ours = () => state.comments.slice(1);
	const silent = await run(right, { inputs, runId: 2 });
	expect(silent.run.stdout).toMatch(/all pass, and it is not the first comment in this repository/);
	expect(ours()).toEqual([]);
	await run(wrong, { inputs, runId: 3 });
	expect(ours()).toMatchObject([{ body: expect.stringMatching(/run:3 .*\n## ❌/) }]);
	await run(right, { inputs, runId: 4 });
	expect(ours()).toMatchObject([{ body: expect.stringMatching(/run:4 .*\n## ✅/) }]);
	expect(state.violations).toEqual([]);
});

it("the action on a pull request refuses an input that it does not know before it runs anything", async () => {
	const workspace = quickProject(temporaryFolder());
	const ran = await runActionFolder(".", { env: {}, cwd: workspace, inputs: { comment: "loudly" } });
	expect(ran.exitCode).toBe(2);
	expect(ran.outputs).toMatchObject({ outcome: "error", "failure-kind": "configuration" });
	expect(ran.stdout).toMatch(/input comment is "loudly"; expected one of changes, auto/);
});
