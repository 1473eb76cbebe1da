const owner = { login: "acme", id: 5001, type: "Organization" };

export function repository(fullName = "acme/engines", id = 70_001): Record<string, unknown> {
	const [login = "", name = ""] = fullName.split("/");
	return {
		id,
		name,
		full_name: fullName,
		private: false,
		owner: { ...owner, login },
		default_branch: "main",
	};
}

/** The repository of a fork. */
export const stranger = repository("stranger/engines", 80_002);

export const sender = { login: "octocat", id: 583231, type: "User" };

export interface PullShas {
	head: string;
	base: string;
	merge?: string | null;
}

export interface PullOptions {
	number?: number;
	action?: string;
	headRef?: string;
	baseRef?: string;
	headRepository?: Record<string, unknown> | null;
	draft?: boolean;
	user?: Record<string, unknown>;
}

export function pullRequest(shas: PullShas, options: PullOptions = {}): Record<string, unknown> {
	const {
		number = 7,
		action = "opened",
		headRef = "feature/faster",
		baseRef = "main",
		draft = false,
		user = sender,
	} = options;
	const headRepository = options.headRepository === undefined ? repository() : options.headRepository;
	return {
		action,
		number,
		...(action === "synchronize" ? { before: "1".repeat(40), after: shas.head } : {}),
		pull_request: {
			id: 900_007,
			number,
			state: "open",
			draft,
			title: "Faster\n::set-output name=x::y",
			user,
			merge_commit_sha: shas.merge ?? null,
			head: { label: `acme:${headRef}`, ref: headRef, sha: shas.head, user, repo: headRepository },
			base: { label: `acme:${baseRef}`, ref: baseRef, sha: shas.base, user: owner, repo: repository() },
		},
		repository: repository(),
		sender: user,
	};
}

/** The run of pull request 7 on its merge. */
export function pullJob(shas: PullShas & { merge: string }, options?: PullOptions) {
	const payload = pullRequest(shas, options);
	return { event: "pull_request", payload, sha: shas.merge, ref: "refs/pull/7/merge" } as const;
}

export function push(
	ref: string,
	before: string,
	after: string,
	more: Record<string, unknown> = {},
): Record<string, unknown> {
	return {
		ref,
		before,
		after,
		created: /^0+$/.test(before),
		deleted: false,
		forced: false,
		repository: repository(),
		sender,
		...more,
	};
}

export function release(tag: string, more: Record<string, unknown> = {}): Record<string, unknown> {
	return {
		action: "published",
		release: {
			id: 1,
			tag_name: tag,
			...more,
		},
		repository: repository(),
		sender,
	};
}

export function schedule(): Record<string, unknown> {
	return { schedule: "17 2 * * *", workflow: ".github/workflows/nightly.yml", repository: repository() };
}

export function workflowDispatch(ref: string): Record<string, unknown> {
	return {
		inputs: { models: "all" },
		ref,
		workflow: ".github/workflows/gate.yml",
		repository: repository(),
		sender,
	};
}

export function mergeGroup(head: string, base: string): Record<string, unknown> {
	return {
		action: "checks_requested",
		merge_group: {
			head_sha: head,
			head_ref: `refs/heads/gh-readonly-queue/main/pr-7-${base}`,
			base_sha: base,
			base_ref: "refs/heads/main",
		},
		repository: repository(),
		sender,
	};
}

export function workflowRun(headSha: string, more: Record<string, unknown> = {}): Record<string, unknown> {
	return {
		action: "completed",
		workflow_run: {
			id: 9_876_543_210,
			name: "gate",
			run_attempt: 2,
			head_branch: "feature/faster",
			head_sha: headSha,
			event: "pull_request",
			status: "completed",
			conclusion: "failure",
			head_repository: stranger,
			...more,
		},
		repository: repository(),
		sender,
	};
}
