import { signedUrl } from "./blobs.ts";
import { type Call, notFound, ok, paginate, type Reply, type Route, route } from "./http.ts";
import { type Json, renderRepository } from "./render.ts";
import type { Artifact, JobExecution, Run } from "./state.ts";
import type { World } from "./world.ts";

function renderRun(world: World, run: Run): Json {
	return {
		...{ id: run.id, name: run.name, path: run.path, event: run.event, run_attempt: run.attempt },
		...{ head_branch: run.headBranch, head_sha: run.headSha, status: run.status, conclusion: run.conclusion },
		created_at: run.createdAt,
		repository: renderRepository(world, world.repository),
		head_repository: renderRepository(world, run.headRepository),
	};
}

function renderArtifact(artifact: Artifact): Json {
	return {
		...{ id: artifact.id, name: artifact.name, size_in_bytes: artifact.sizeBytes, digest: artifact.digest },
		...{ created_at: artifact.createdAt, expires_at: artifact.expiresAt },
	};
}

function renderJob(job: JobExecution): Json {
	const isDone = job.completedAt !== null;
	return {
		...{ id: job.id, run_id: job.runId, run_attempt: job.attempt, name: job.name, runner_name: job.runner },
		...{ status: isDone ? "completed" : "in_progress", conclusion: isDone ? "success" : null },
		...{ started_at: job.startedAt, completed_at: job.completedAt },
	};
}

function listJobs(call: Call, run: Run): Reply {
	const all = call.world.state.jobs.filter(({ runId }) => runId === run.id);
	const jobs =
		call.query.get("filter") === "all" ? all : all.filter(({ attempt }) => attempt === run.attempt);
	return paginate(call, jobs.map(renderJob), (page, total) => ({ total_count: total, jobs: page }));
}

function listArtifacts(call: Call, run: Run): Reply {
	const name = call.query.get("name");
	const found = call.world.state.artifacts.filter(
		(artifact) => artifact.runId === run.id && artifact.isFinal && (name === null || artifact.name === name),
	);
	return paginate(call, found.reverse().map(renderArtifact), (page, total) => ({
		total_count: total,
		artifacts: page,
	}));
}

function ofRun(reply: (call: Call, run: Run) => Reply): Route["handle"] {
	return (call) => {
		const run = call.world.state.runs.find(({ id }) => id === Number(call.params["run_id"]));
		return run ? reply(call, run) : notFound();
	};
}

const read = [{ actions: "read" }] as const;

export const runRoutes: readonly Route[] = [
	route(
		"GET /actions/runs/{run_id}",
		read,
		ofRun((call, run) => ok(renderRun(call.world, run))),
	),
	route("GET /actions/runs/{run_id}/artifacts", read, ofRun(listArtifacts)),
	route("GET /actions/runs/{run_id}/jobs", read, ofRun(listJobs)),
	route("GET /actions/artifacts/{artifact_id}/{archive_format}", read, (call) => {
		const artifact = call.world.state.artifacts.find(
			({ isFinal, id }) => isFinal && id === Number(call.params["artifact_id"]),
		);
		if (!artifact || call.params["archive_format"] !== "zip") return notFound();
		return { status: 302, headers: { location: signedUrl(call.world, artifact.blob) } };
	}),
	route("GET", [{ metadata: "read" }], (call) => ok(renderRepository(call.world, call.world.repository))),
];
