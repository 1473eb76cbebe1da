// `trtgate note`: shows a result in one note of the merge request, kept up to date. For GitLab.
import type { Result } from "../../../generated/result.ts";
import { ConfigError, PlatformError, usageError } from "../../core/errors.ts";
import { markerId } from "../../core/report/comment.ts";
import { gitlabNotes } from "../../host/adapters/gitlab/notes.ts";
import { describePublished } from "../../host/app/publish/publish-result.ts";
import type { PullRequestEvent } from "../../host/formats/github/event.ts";
import { publishComment } from "../../host/stages/publish/comment.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parseArguments } from "./arguments.ts";
import { readResult } from "./read-result.ts";
import { noteTable } from "./tables.ts";

/** A job that failed early leaves the folder as an earlier one left it. */
function refuseOther({ arms }: Result, { headSha, mergeSha }: PullRequestEvent) {
	const { commit } = arms.head;
	if (commit === undefined || commit === headSha || commit === mergeSha) return;
	throw new ConfigError({
		code: "result-invalid",
		message: `The result is of commit ${commit.slice(0, 7)}; expected ${headSha.slice(0, 7)}, the head of this merge request.`,
		fix: "Read why this job wrote no result of its own, and remove the folder before `trtgate run` where jobs share it.",
	});
}

export async function note(argv: readonly string[], terminal: Terminal): Promise<number> {
	const args = parseArguments(argv, noteTable);
	const { pipeline } = terminal.environment;
	if (pipeline?.event.kind !== "pull-request" || pipeline.token === "")
		throw usageError(
			"`trtgate note` needs a GitLab job for a merge request, and a token in TRTGATE_GITLAB_TOKEN.",
			"Run it in a merge request pipeline, as docs/hosts.md shows.",
		);
	const { result } = await readResult(args.positionals[0] ?? ".", terminal.cwd);
	const { event, id, jobUrl } = pipeline;
	refuseOther(result, event);
	const plan = {
		id: markerId(result.config.path, args.text("name") ?? ""),
		shown: { links: { run: jobUrl, artifact: `${jobUrl}/artifacts/browse` }, change: event.headSha },
		run: { id, attempt: 1 },
		sha: event.headSha,
		pullRequest: event.number,
		comment: args.flag("changes") ? ("changes" as const) : ("auto" as const),
	};
	const published = await publishComment(result, plan, gitlabNotes(pipeline));
	if (published.state === "failed") throw new PlatformError(published.fault);
	terminal.err(`${describePublished(published)}\n`);
	return exitCodes.ok;
}
