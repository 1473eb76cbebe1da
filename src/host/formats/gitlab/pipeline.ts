// Reads GitLab's variables of a job: what the pipeline is for, and where its result is noted.
// https://docs.gitlab.com/ci/variables/predefined_variables/
import type { RunEvent } from "../github/event.ts";
import { isCommit, isRefName } from "../github/names.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export interface Pipeline {
	id: number;
	event: RunEvent;
	jobUrl: string;
	/** The merge request's notes in the API, and one of them in the browser, without its id. */
	notesUrl: string;
	noteUrl: string;
	userUrl: string;
	/** "" if the job has none. */
	token: string;
}

/** null outside of GitLab. */
export function readPipeline(env: Variables): Pipeline | null {
	if (env["GITLAB_CI"] !== "true") return null;
	const text = (name: string) => env[name] ?? "";
	const path = `merge_requests/${text("CI_MERGE_REQUEST_IID")}`;
	return {
		id: numberOf(text("CI_PIPELINE_ID")),
		event: eventOf(env),
		jobUrl: text("CI_JOB_URL"),
		// A fork's pipeline may run in the fork.
		notesUrl: `${text("CI_API_V4_URL")}/projects/${text("CI_MERGE_REQUEST_PROJECT_ID")}/${path}/notes`,
		noteUrl: `${text("CI_MERGE_REQUEST_PROJECT_URL")}/-/${path}#note_`,
		userUrl: `${text("CI_API_V4_URL")}/user`,
		token: text("TRTGATE_GITLAB_TOKEN"),
	};
}

function eventOf(env: Variables): RunEvent {
	const sha = isCommit(env["CI_COMMIT_SHA"]) ? env["CI_COMMIT_SHA"] : "";
	const [tag, branch, source] = [env["CI_COMMIT_TAG"], env["CI_COMMIT_BRANCH"], env["CI_PIPELINE_SOURCE"]];
	if (source === "merge_request_event") return mergeRequest(env, sha);
	if (isRefName(tag) && sha !== "") return { kind: "tag", tag, sha };
	const defaultBranch = env["CI_DEFAULT_BRANCH"];
	const main = isRefName(defaultBranch) ? { defaultBranch } : {};
	if (source === "push" && isRefName(branch) && sha !== "") {
		const before = env["CI_COMMIT_BEFORE_SHA"];
		return {
			kind: "push",
			ref: branch,
			before: isCommit(before) ? before : null,
			after: sha,
			// GitLab does not say; only an ancestor is then compared with.
			isForced: true,
			...main,
		};
	}
	const ref = isRefName(branch) ? branch : "";
	return { kind: source === "schedule" ? "schedule" : "dispatch", ref, sha, ...main };
}

/** In a pipeline for merged results, CI_COMMIT_SHA is the merge of both branches. */
function mergeRequest(env: Variables, sha: string): RunEvent {
	const source = env["CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"];
	const headSha = isCommit(source) ? source : sha;
	const baseSha = env["CI_MERGE_REQUEST_DIFF_BASE_SHA"];
	const baseRef = env["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"];
	const number = numberOf(env["CI_MERGE_REQUEST_IID"] ?? "");
	if (headSha === "" || !isCommit(baseSha) || !isRefName(baseRef) || number === 0)
		return { kind: "other", name: "pull_request", sha };
	return {
		kind: "pull-request",
		number,
		headSha,
		baseRef,
		baseSha,
		...(headSha === sha ? {} : { mergeSha: sha }),
		isFork: env["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] !== env["CI_MERGE_REQUEST_PROJECT_ID"],
	};
}

function numberOf(text: string) {
	return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}
