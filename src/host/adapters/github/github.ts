// GitHub as the code host of a workflow run; implements ports/code-host.ts.
import type { Host, WorkflowRun } from "../../../ports/code-host.ts";
import { githubArtifacts, githubCache, githubRunArtifacts } from "./artifacts.ts";
import { githubCodeHost } from "./code-host.ts";
import { githubRunFacts } from "./measured-run.ts";
import { githubRepository } from "./repository.ts";
import { usualPace } from "./request.ts";

/** @param token "" if the workflow gives none. @param temp folder for downloads. */
export function openGitHub(run: WorkflowRun, token: string, temp: string | undefined): Host {
	const access = { ...run, token };
	return {
		codeHost: (patienceMs = usualPace.patienceMs) =>
			token === "" ? null : githubCodeHost({ ...access, pace: { ...usualPace, patienceMs } }),
		repository: () => githubRepository(access),
		runFacts: () => githubRunFacts(access),
		artifacts: (retentionDays) => githubArtifacts({ run, temp, retentionDays }),
		runArtifacts: (runId) => githubRunArtifacts(run, runId === undefined ? undefined : { runId, token }),
		cache: () => githubCache(run.services.cache),
	};
}
