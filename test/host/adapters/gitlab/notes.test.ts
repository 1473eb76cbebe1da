import { expect, it, onTestFinished } from "vitest";
import { renderMarker } from "../../../../src/core/report/comment.ts";
import { gitlabNotes } from "../../../../src/host/adapters/gitlab/notes.ts";
import { publishComment } from "../../../../src/host/stages/publish/comment.ts";
import { buildResult } from "../../../support/build-result.ts";
import { startGitea } from "../../../support/gitea.ts";

const sha = "a".repeat(40);
const path = "/projects/3/merge_requests/7/notes";
const plan = {
	...{
		id: "trtgate.yml",
		shown: {},
		run: { id: 12, attempt: 1 },
		sha,
		pullRequest: 7,
		comment: "auto" as const,
	},
};
const noteOf = (id: number, body: string, username = "project_3_bot") => ({ id, body, author: { username } });

async function open(replies: Parameters<typeof startGitea>[0]) {
	const server = await startGitea(
		{ "GET /user": [200, { username: "project_3_bot" }], ...replies },
		onTestFinished,
	);
	const urls = {
		notesUrl: `${server.url}${path}`,
		noteUrl: "http://gitlab/7#note_",
		userUrl: `${server.url}/user`,
	};
	const event = { kind: "dispatch", ref: "", sha } as const;
	return { ...server, notes: gitlabNotes({ id: 12, event, jobUrl: "", token: "t", ...urls }, 0) };
}

it("a merge request gets one note, which the next pipeline updates; another's copy of the marker is left alone", async () => {
	const marker = renderMarker({ id: plan.id, runId: 11, attempt: 1, sha });
	const { asked, notes } = await open({
		[`GET ${path}`]: [200, [noteOf(1, marker, "stranger"), noteOf(2, marker)]],
		[`PUT ${path}/2`]: ({ body }) => [200, noteOf(2, String(body["body"]))],
	});
	const published = await publishComment(buildResult(), plan, notes);
	expect(published).toMatchObject({ state: "done", url: "http://gitlab/7#note_2" });
	expect(asked.map(({ method }) => method)).toEqual(["GET", "GET", "PUT"]);
});

it("a job's own token is told which token notes need, and a passing fault is tried again", async () => {
	const faults = [503, 503];
	const { notes } = await open({
		[`GET ${path}`]: () => [faults.pop() ?? 200, []],
		[`POST ${path}`]: [403, { message: "403 Forbidden" }],
	});
	expect(await publishComment(buildResult(), plan, notes)).toMatchObject({
		state: "failed",
		fault: {
			message: expect.stringMatching(/^GitLab answered 403/),
			fix: expect.stringContaining("scope `api`"),
		},
	});
});
