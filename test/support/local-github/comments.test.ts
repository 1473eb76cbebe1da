// Comments and issues of the local GitHub under the toolkit's real client.
import { expect, it } from "vitest";
import { refusal, startPull, target } from "./pull-client.ts";

it("comments are created, found page by page, changed, hidden, shown and deleted", async () => {
	const { github, octokit } = await startPull();
	for (let index = 0; index < 65; index += 1)
		github.addComment({ issue: 7, body: `comment ${index}`, author: "octocat" });
	const created = await octokit.rest.issues.createComment({
		...target,
		issue_number: 7,
		body: "<!-- trtgate --> one",
	});
	const all = await octokit.paginate(octokit.rest.issues.listComments, {
		...target,
		issue_number: 7,
		per_page: 30,
	});
	expect(all.map((comment) => comment.body)).toEqual([
		...Array.from({ length: 65 }, (_, index) => `comment ${index}`),
		"<!-- trtgate --> one",
	]);
	expect(github.state.requests.filter(({ method }) => method === "GET")).toHaveLength(3);
	await octokit.rest.issues.updateComment({ ...target, comment_id: created.data.id, body: "two" });
	const hide =
		"mutation($id: ID!) { minimizeComment(input: { subjectId: $id, classifier: OUTDATED }) { minimizedComment { isMinimized minimizedReason } } }";
	const hidden = await octokit.graphql(hide, { id: created.data.node_id });
	expect(hidden).toEqual({
		minimizeComment: {
			minimizedComment: { isMinimized: true, minimizedReason: "outdated", id: created.data.node_id },
		},
	});
	expect(github.state.comments.at(-1)).toMatchObject({
		body: "two",
		author: "github-actions[bot]",
		minimized: "outdated",
	});
	const show =
		"mutation($input: UnminimizeCommentInput!) { unminimizeComment(input: $input) { unminimizedComment { isMinimized } } }";
	await octokit.graphql(show, { input: { subjectId: created.data.node_id } });
	expect(github.state.comments.at(-1)?.minimized).toBeNull();
	await octokit.rest.issues.deleteComment({ ...target, comment_id: created.data.id });
	expect(github.state.comments).toHaveLength(65);
	expect(github.state.violations).toEqual([]);
});

it("comments are refused over 65,536 characters, without a body and where there is no issue", async () => {
	const { github, octokit } = await startPull();
	const comment = (issue_number: number, body: string) =>
		octokit.rest.issues.createComment({ ...target, issue_number, body });
	await comment(7, "x".repeat(65_536));
	expect(await refusal(comment(7, "x".repeat(65_537)))).toMatchObject({
		status: 422,
		message: expect.stringMatching(/Body is too long \(maximum is 65536 characters\)/),
	});
	expect((await refusal(comment(8, "x"))).status).toBe(404);
	expect((await refusal(comment(7, undefined as never))).status).toBe(422);
	expect(github.state.violations).toEqual([expect.stringMatching(/issues\/7\/comments: a body is required/)]);
	expect(github.state.comments).toHaveLength(1);
});

it("issues and labels are opened, labelled, found by label and state, and closed", async () => {
	const { github, octokit } = await startPull();
	await octokit.rest.issues.createLabel({ ...target, name: "trtgate", color: "00ff00" });
	const { data: issue } = await octokit.rest.issues.create({
		...target,
		title: "resnet50 is slower",
		body: "b",
		labels: ["trtgate"],
	});
	await octokit.rest.issues.addLabels({ ...target, issue_number: issue.number, labels: ["nightly"] });
	const find = (state: "open" | "closed") =>
		octokit.rest.issues
			.listForRepo({ ...target, labels: "trtgate,nightly", state })
			.then(({ data }) => data.map(({ number }) => number));
	expect(await find("open")).toEqual([issue.number]);
	await octokit.rest.issues.update({
		...target,
		issue_number: issue.number,
		state: "closed",
		state_reason: "completed",
	});
	expect([await find("open"), await find("closed")]).toEqual([[], [issue.number]]);
	expect((await refusal(octokit.rest.issues.createLabel({ ...target, name: "trtgate" }))).status).toBe(422);
	expect((await octokit.rest.issues.listLabelsForRepo(target)).data.map(({ name }) => name)).toEqual([
		"trtgate",
		"nightly",
	]);
	expect(github.state.violations).toEqual([]);
});
