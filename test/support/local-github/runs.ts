// Workflow runs, their artifacts as REST shows them, and the list of caches.
import { signedUrl } from "./blobs.ts";
import { type Call, notFound, ok, paginate, type Reply, type Route, refuse } from "./http.ts";
import { type Json, pageUrl, renderRepository, renderUser, repositoryUrl } from "./render.ts";
import type { Artifact, JobExecution, Run } from "./state.ts";
import { nodeIdOf, type World } from "./world.ts";

function renderRun(world: World, run: Run): Json {
	const url = `${repositoryUrl(world)}/actions/runs/${run.id}`;
	const person = { name: "octocat", email: "octocat@github.com" };
	const below = ["jobs", "logs", "artifacts", "cancel", "rerun"].map((name) => [
		`${name}_url`,
		`${url}/${name}`,
	]);
	return {
		...{
			id: run.id,
			name: run.name,
			node_id: nodeIdOf("WFR", run.id),
			url,
			html_url: pageUrl(world, `/actions/runs/${run.id}`),
		},
		...{
			head_branch: run.headBranch,
			head_sha: run.headSha,
			path: run.path,
			display_title: run.name,
			event: run.event,
		},
		...{
			status: run.status,
			conclusion: run.conclusion,
			workflow_id: 1,
			run_number: 1,
			run_attempt: run.attempt,
		},
		...{ created_at: run.createdAt, updated_at: run.createdAt, run_started_at: run.createdAt },
		check_suite_url: `${repositoryUrl(world)}/check-suites/1`,
		workflow_url: `${repositoryUrl(world)}/actions/workflows/1`,
		previous_attempt_url: null,
		...Object.fromEntries(below),
		// Empty for runs of forks, as at GitHub.
		pull_requests: world.state.pulls
			.filter((pull) => run.headRepository === world.repository && pull.headSha === run.headSha)
			.map((pull) => renderPullLink(world, pull)),
		...{ actor: renderUser(world, "octocat"), triggering_actor: renderUser(world, "octocat") },
		head_commit: {
			id: run.headSha,
			tree_id: run.headSha,
			message: run.name,
			timestamp: run.createdAt,
			author: person,
			committer: person,
		},
		...{
			repository: renderRepository(world, world.repository),
			head_repository: renderRepository(world, run.headRepository),
		},
	};
}

function renderPullLink(
	world: World,
	pull: { id: number; number: number; headRef: string; headSha: string; baseRef: string; baseSha: string },
): Json {
	const repo = { id: 1, url: repositoryUrl(world), name: world.name };
	const url = `${repositoryUrl(world)}/pulls/${pull.number}`;
	const head = { ref: pull.headRef, sha: pull.headSha, repo };
	return {
		id: pull.id,
		number: pull.number,
		url,
		head,
		base: { ref: pull.baseRef, sha: pull.baseSha, repo },
	};
}

function renderArtifact(world: World, artifact: Artifact): Json {
	const url = `${repositoryUrl(world)}/actions/artifacts/${artifact.id}`;
	const run = world.state.runs.find((candidate) => candidate.id === artifact.runId);
	return {
		...{
			id: artifact.id,
			node_id: nodeIdOf("A", artifact.id),
			name: artifact.name,
			size_in_bytes: artifact.sizeBytes,
			url,
		},
		...{ archive_download_url: `${url}/zip`, expired: artifact.isExpired, digest: artifact.digest },
		...{ created_at: artifact.createdAt, updated_at: artifact.createdAt, expires_at: artifact.expiresAt },
		workflow_run: {
			id: artifact.runId,
			repository_id: 1,
			head_repository_id: 1,
			head_branch: run?.headBranch ?? null,
			head_sha: run?.headSha ?? "",
		},
	};
}

function findRun(call: Call): Run | undefined {
	return call.world.state.runs.find((run) => run.id === Number(call.params["run_id"]));
}

function renderJob(world: World, job: JobExecution): Json {
	const url = `${repositoryUrl(world)}/actions/jobs/${job.id}`;
	const isDone = job.completedAt !== null;
	return {
		...{
			id: job.id,
			node_id: nodeIdOf("CR", job.id),
			run_id: job.runId,
			run_attempt: job.attempt,
			name: job.name,
			url,
		},
		...{
			run_url: `${repositoryUrl(world)}/actions/runs/${job.runId}`,
			check_run_url: `${repositoryUrl(world)}/check-runs/${job.id}`,
		},
		html_url: pageUrl(world, `/actions/runs/${job.runId}/job/${job.id}`),
		head_sha: world.state.runs.find(({ id }) => id === job.runId)?.headSha ?? "",
		...{
			status: isDone ? "completed" : "in_progress",
			conclusion: isDone ? "success" : null,
			workflow_name: "gate",
			head_branch: null,
		},
		...{ created_at: job.startedAt, started_at: job.startedAt, completed_at: job.completedAt, labels: [] },
		...{ runner_id: 1, runner_name: job.runner, runner_group_id: null, runner_group_name: null },
	};
}

/** By default those of the last attempt. */
function listJobs(call: Call, run: Run): Reply {
	const ofRun = call.world.state.jobs.filter(({ runId }) => runId === run.id);
	const jobs =
		call.query.get("filter") === "all" ? ofRun : ofRun.filter(({ attempt }) => attempt === run.attempt);
	return paginate(
		call,
		jobs.map((job) => renderJob(call.world, job)),
		(page, total) => ({ total_count: total, jobs: page }),
	);
}

function findArtifact(call: Call): Artifact | undefined {
	return call.world.state.artifacts.find(
		(artifact) => artifact.isFinal && artifact.id === Number(call.params["artifact_id"]),
	);
}

function listArtifacts(call: Call, artifacts: readonly Artifact[]): Reply {
	const name = call.query.get("name");
	const found = artifacts
		.filter((artifact) => artifact.isFinal && (name === null || artifact.name === name))
		.reverse();
	return paginate(
		call,
		found.map((artifact) => renderArtifact(call.world, artifact)),
		(page, total) => ({ total_count: total, artifacts: page }),
	);
}

function listRuns(call: Call): Reply {
	const asked = (name: string, value: string | null): boolean =>
		!call.query.has(name) || call.query.get(name) === value;
	const found = call.world.state.runs.filter(
		(run) =>
			asked("event", run.event) &&
			asked("head_sha", run.headSha) &&
			asked("branch", run.headBranch) &&
			(asked("status", run.status) || call.query.get("status") === run.conclusion),
	);
	return paginate(
		call,
		found.reverse().map((run) => renderRun(call.world, run)),
		(page, total) => ({ total_count: total, workflow_runs: page }),
	);
}

const read = [{ actions: "read" }] as const;

export const runRoutes: readonly Route[] = [
	{ method: "GET", template: "/repos/{owner}/{repo}/actions/runs", needs: read, handle: listRuns },
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/runs/{run_id}",
		needs: read,
		handle(call) {
			const run = findRun(call);
			return run ? ok(renderRun(call.world, run)) : notFound();
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts",
		needs: read,
		handle(call) {
			const run = findRun(call);
			if (!run) return notFound();
			return listArtifacts(
				call,
				call.world.state.artifacts.filter((artifact) => artifact.runId === run.id),
			);
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs",
		needs: read,
		handle(call) {
			const run = findRun(call);
			return run ? listJobs(call, run) : notFound();
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/artifacts",
		needs: read,
		handle: (call) => listArtifacts(call, call.world.state.artifacts),
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}",
		needs: read,
		handle(call) {
			const artifact = findArtifact(call);
			return artifact ? ok(renderArtifact(call.world, artifact)) : notFound();
		},
	},
	{
		method: "DELETE",
		template: "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}",
		needs: [{ actions: "write" }],
		handle(call) {
			const artifact = findArtifact(call);
			if (!artifact) return notFound();
			call.world.state.artifacts.splice(call.world.state.artifacts.indexOf(artifact), 1);
			return { status: 204 };
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
		needs: read,
		handle(call) {
			const artifact = findArtifact(call);
			if (!artifact || call.params["archive_format"] !== "zip") return notFound();
			if (artifact.isExpired) return refuse(410, "Artifact has expired");
			return { status: 302, headers: { location: signedUrl(call.world, artifact.blob) } };
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}/actions/caches",
		needs: read,
		handle(call) {
			const [key, ref] = [call.query.get("key") ?? "", call.query.get("ref")];
			const found = call.world.state.caches.filter(
				(cache) => cache.isFinal && cache.key.startsWith(key) && [null, cache.scope].includes(ref),
			);
			const rows = found.map((cache) => ({
				...{
					id: cache.id,
					ref: cache.scope,
					key: cache.key,
					version: cache.version,
					size_in_bytes: cache.sizeBytes,
				},
				...{ last_accessed_at: cache.usedAt, created_at: cache.createdAt },
			}));
			return paginate(call, rows, (page, total) => ({ total_count: total, actions_caches: page }));
		},
	},
	{
		method: "GET",
		template: "/repos/{owner}/{repo}",
		needs: [{ metadata: "read" }],
		handle: (call) => ok(renderRepository(call.world, call.world.repository)),
	},
];
