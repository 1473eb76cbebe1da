// Finds the run that a report is about, by asking GitHub: measured code may have written the rest.
import { ToolError } from "../../core/errors.ts";
import type { RunEvent, WorkflowRunEvent } from "../../host/formats/github/event.ts";
import type { MeasuredRun, RunFacts, WorkflowRun } from "../../ports/code-host.ts";

export interface Subject {
	run: { id: number; attempt: number };
	sha: string;
	pullRequest: number | null;
	/** Why there is no pull request to comment on. */
	why: string | null;
	/** null if another run measured. */
	event: RunEvent | null;
	/** Its artifacts are untrusted. */
	isForeign: boolean;
	/** A fork's code ran in it, or GitHub does not say whose. */
	isFork: boolean;
	isOfChange(commit: string): Promise<boolean>;
}

export async function findSubject(run: WorkflowRun, event: RunEvent, facts: RunFacts): Promise<Subject> {
	return event.kind === "workflow-run"
		? foreignSubject(event, facts, run.repository)
		: ownSubject(run, event);
}

function ownSubject(run: WorkflowRun, event: RunEvent): Subject {
	const isPull = event.kind === "pull-request";
	return {
		run: { id: run.runId, attempt: run.runAttempt },
		sha: isPull ? event.headSha : run.sha,
		pullRequest: isPull ? event.number : null,
		why: isPull ? null : "this run is for no pull request",
		event,
		isForeign: false,
		isFork: isPull && event.isFork,
		// The jobs of our own run are trusted.
		isOfChange: async () => true,
	};
}

async function foreignSubject(
	event: WorkflowRunEvent,
	facts: RunFacts,
	repository: string,
): Promise<Subject> {
	const response = await facts.run(event.runId);
	if (response.state === "failed") {
		throw new ToolError({
			code: "part-missing",
			message: `The run that measured is not known: ${response.fault.message}`,
			fix: response.fault.fix,
		});
	}
	const { run } = response;
	const pull = await pullOf(run, facts);
	const isFork = run.headRepository.toLowerCase() !== repository.toLowerCase();
	const isOfChange = (commit: string) => isOfRun(commit, run, facts);
	return { run, sha: run.headSha, ...pull, event: null, isForeign: true, isFork, isOfChange };
}

async function pullOf(
	run: MeasuredRun,
	facts: RunFacts,
): Promise<{ pullRequest: number | null; why: string | null }> {
	const none = (why: string) => ({ pullRequest: null, why });
	if (!run.event.startsWith("pull_request"))
		return none(`the run was for ${run.event}, not for a pull request`);
	if (run.headRepository === "" || run.headBranch === "")
		return none("the branch of the pull request is gone");
	const listed = await facts.openPulls(run);
	if (listed.state === "failed") return none(`the pull request could not be found: ${listed.fault.message}`);
	const [only, second] = listed.pulls.filter((pull) => pull.headSha === run.headSha);
	if (only !== undefined && second === undefined) return { pullRequest: only.number, why: null };
	if (second !== undefined) return none("several open pull requests have this commit as their head");
	const [moved] = listed.pulls;
	if (moved === undefined) return none("no open pull request has this branch");
	return none(
		`pull request ${moved.number} has moved on to ${moved.headSha.slice(0, 7)}; this run measured ${run.headSha.slice(0, 7)}`,
	);
}

/** The head, or GitHub's merge of it, which actions/checkout takes by default. */
async function isOfRun(commit: string, run: MeasuredRun, facts: RunFacts): Promise<boolean> {
	if (commit === run.headSha) return true;
	if (!/^[0-9a-f]{40,64}$/.test(commit)) return false;
	const response = await facts.parents(commit);
	return response.state === "done" && response.parents.includes(run.headSha);
}
