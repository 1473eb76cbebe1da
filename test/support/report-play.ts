import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Result } from "../../generated/result.ts";
import type { Published } from "../../src/host/stages/publish/check-run.ts";
import { type ActionRun, runActionFolder } from "./action-runner.ts";
import { pullRequest } from "./event-payloads.ts";
import { type LocalGitHub, startLocalGitHub } from "./local-github/start.ts";
import { type AtEnd, temporaryFolder } from "./project.ts";
import { zipOf } from "./zip-writer.ts";

export const [reportedHead, reportedBase] = ["a".repeat(40), "b".repeat(40)];

export interface Reported {
	run: ActionRun;
	out: string;
	published(): Published[];
}

export interface ReportJob {
	inputs?: Record<string, string>;
	env?: Readonly<Record<string, string>>;
	runId?: number;
	runAttempt?: number;
	job?: string;
}

export interface ReportPlay {
	github: LocalGitHub;
	measured(result: Result, part: { runId?: number; name?: string; part?: string; attempt?: number }): void;
	report(job?: ReportJob): Promise<Reported>;
}

const usualRun = 500;

export async function openReportPlay(atEnd: AtEnd = onTestFinished): Promise<ReportPlay> {
	const github = await startLocalGitHub();
	const root = temporaryFolder(atEnd);
	atEnd(() => github.close());
	let reports = 0;
	return {
		github,
		measured(result, { runId = usualRun, name = "trtgate-gate", part, attempt = 1 }) {
			const content = JSON.stringify({ ...result, run: { id: runId, attempt, job: "gate", part } });
			const again = attempt === 1 ? "" : `-attempt${attempt}`;
			github.addArtifact({
				runId,
				attempt,
				name: `${name}${again}`,
				archive: zipOf([{ name: "result.json", content }]),
			});
		},
		async report({ inputs = {}, env = {}, runId = usualRun, ...job } = {}) {
			reports += 1;
			const [workspace, temp] = [join(root, `work-${reports}`), join(root, `temp-${reports}`)];
			mkdirSync(workspace);
			const given = await github.environment({
				...{ event: "pull_request", ref: "refs/pull/7/merge", sha: reportedHead, workspace, temp, runId },
				payload: pullRequest({ head: reportedHead, base: reportedBase }),
				...job,
			});
			const run = await runActionFolder("report", { inputs, env: { ...given, ...env }, cwd: workspace });
			const out = join(workspace, "trtgate-merged");
			return {
				run,
				out,
				published: () => JSON.parse(readFileSync(join(out, "publish.json"), "utf8")).published,
			};
		},
	};
}
