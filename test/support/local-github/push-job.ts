// A job of a push at the local GitHub.
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { type LocalGitHub, startLocalGitHub } from "./start.ts";

export interface PushJob {
	github: LocalGitHub;
	workspace: string;
	env: Record<string, string>;
}

/** @param more fields of the job that are not as usual. */
export async function startPush(more: object = {}): Promise<PushJob> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	const usual = {
		event: "push",
		payload: {},
		workspace,
		temp: join(workspace, ".temp"),
		sha: "a".repeat(40),
		ref: "refs/heads/main",
	} as const;
	return { github, workspace, env: await github.environment({ ...usual, ...more }) };
}
