// A job of a pull request at the local GitHub, with the toolkit's real client.
import { getOctokit } from "@actions/github";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../project.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "./start.ts";

type Octokit = ReturnType<typeof getOctokit>;

export const sha = "a".repeat(40);
export const baseSha = "b".repeat(40);
export const target = { owner: "acme", repo: "engines" };

interface Started {
	github: LocalGitHub;
	env: Record<string, string>;
	octokit: Octokit;
}

export async function startPull(more: Partial<Job> = {}): Promise<Started> {
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	const payload = {
		number: 7,
		pull_request: { number: 7, head: { ref: "change", sha }, base: { ref: "main", sha: baseSha } },
	};
	const env = await github.environment({
		event: "pull_request",
		payload,
		workspace,
		temp: workspace,
		sha,
		ref: "refs/pull/7/merge",
		...more,
	});
	const octokit = getOctokit(env["GITHUB_TOKEN"] ?? "", { baseUrl: github.url });
	return { github, env, octokit };
}

/** What a refused call says. */
export async function refusal(
	call: Promise<unknown>,
): Promise<{ status: number; message: string; headers: Record<string, string> }> {
	const error = await call.then(
		() => undefined,
		(cause: unknown) =>
			cause as { status: number; message: string; response?: { headers: Record<string, string> } },
	);
	if (!error) throw new Error("the call was not refused");
	return { status: error.status, message: error.message, headers: error.response?.headers ?? {} };
}
