// A member's comment asks for one commit of a pull request, which the report takes from the event, never from the measuring job.
import { expect, it } from "vitest";
import { repository } from "../support/event-payloads.ts";
import { openPlay, type Play, type PlayedJob } from "../support/github-play.ts";
import { expectExit, type ProjectFiles, quickFiles, untimedFiles } from "../support/project.ts";

const reading = { contents: "read", "pull-requests": "read" } as const;
const writing = { checks: "write", "pull-requests": "write" } as const;
const quiet = { comment: "never", "check-run": "false" };

interface Asked {
	play: Play;
	base: string;
	head: string;
	job: Omit<PlayedJob, "payload"> & { event: "issue_comment" };
	comment(body: string, more?: { association?: string; action?: string }): Record<string, unknown>;
}

async function openAsked(files: ProjectFiles): Promise<Asked> {
	const play = await openPlay();
	const base = play.commit(untimedFiles, { ref: "refs/heads/main" });
	const head = play.commit(files, { onto: base });
	play.merge({ base, head });
	const fork = { headRef: "faster", headRepository: "stranger/engines" };
	play.github.addPull({ number: 7, headSha: head, baseRef: "main", baseSha: base, ...fork });
	return {
		...{ play, base, head },
		job: { event: "issue_comment", ref: "refs/heads/main", sha: base, runId: 500 },
		comment: (body, { association = "MEMBER", action = "created" } = {}) => ({
			action,
			issue: { number: 7, pull_request: { url: "https://api.github.com/repos/acme/engines/pulls/7" } },
			comment: { id: 1, body, author_association: association, user: { login: "mo" } },
			repository: repository(),
		}),
	};
}

it("a comment measures the commit that it names, also a fork's, by its own config and the target branch's rules, and another job reports it", async () => {
	const config = String(untimedFiles["trtgate.yml"]).replace("  net:", "  renamed:");
	const { play, base, head, job, comment } = await openAsked({
		...{ ...untimedFiles, "trtgate.yml": config, "model.onnx": "fixture:wrong.onnx" },
	});
	const payload = comment(`/gate ${head}\r\nReviewed.`);
	const gate = await play.run({ ...job, payload, permissions: reading, inputs: quiet });
	expectExit(gate.run, 1);
	expect(gate.result()).toMatchObject({
		arms: { base: { commit: base }, head: { commit: head } },
		recipeChanges: [{ model: "renamed", was: "net/fp32" }],
	});
	const { state } = play.github;
	expect([state.comments, state.checkRuns, state.caches]).toEqual([[], [], []]);
	const report = await play.run({ ...job, payload, permissions: writing, action: "report" });
	expectExit(report.run, 1);
	const says = "Reported by the fork's own job; not verified";
	expect(state.comments).toMatchObject([{ issue: 7, body: expect.stringContaining(says) }]);
	expect(state.checkRuns).toMatchObject([{ headSha: head }]);
});

it("what is pushed after the comment is not measured, and the pull request says why", async () => {
	const { play, head, job, comment } = await openAsked(quickFiles);
	const pushed = play.commit({ "README.md": "Not reviewed.\n" }, { onto: head });
	const [pull] = play.github.state.pulls;
	if (pull !== undefined) pull.headSha = pushed;
	const payload = comment(`/gate ${head}`);
	const gate = await play.run({ ...job, payload, permissions: reading, inputs: quiet });
	expectExit(gate.run, 2);
	expect(gate.result()).toMatchObject({ outcome: "error", builds: [] });
	await play.run({ ...job, payload, permissions: writing, action: "report" });
	const asked = `The comment asks for ${head.slice(0, 7)}, which is not the head of pull request 7`;
	expect(play.github.state.comments).toMatchObject([{ body: expect.stringContaining(asked) }]);
});

it("a result of another commit than the comment's does not count, whatever the measuring job uploaded", async () => {
	const { play, base, head, job, comment } = await openAsked(untimedFiles);
	const inputs = { ...quiet, base: "HEAD~0" };
	const forged = await play.run({ ...job, event: "push", payload: { ref: "refs/heads/main" }, inputs });
	expect(forged.result().arms.head.commit).toBe(base);
	const payload = comment(`/gate ${head}`);
	const report = await play.run({ ...job, payload, permissions: writing, action: "report" });
	expect(report.result().outcome).toBe("error");
	const [shown] = play.github.state.comments;
	expect(shown?.body).toContain(
		`says that it measured commit ${base.slice(0, 7)}; expected ${head.slice(0, 7)}`,
	);
});

it.each([
	["by a stranger", (head: string) => `/gate ${head}`, { association: "CONTRIBUTOR" }, /no member/],
	["that was edited", (head: string) => `/gate ${head}`, { action: "edited" }, /not new/],
	["with a short hash", (head: string) => `/gate ${head.slice(0, 12)}`, {}, /no commit in full/],
	["with a branch", () => "/gate faster", {}, /no commit in full/],
	["that quotes one", (head: string) => `> /gate ${head}`, {}, /no commit in full/],
	["with a later line", (head: string) => `Hello\n/gate ${head}`, {}, /no commit in full/],
])("a comment %s starts no gate", async (_, body, more, why) => {
	const { play, head, job, comment } = await openAsked(untimedFiles);
	const { run } = await play.run({ ...job, payload: comment(body(head), more), permissions: reading });
	expectExit(run, 2);
	expect(run.stdout).toMatch(why);
	expect(play.github.state.comments).toEqual([]);
});
