// Engines as an artifact of a nightly run, for when the repository's cache has evicted them: one artifact for each key.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { shortName } from "../../formats/github/names.ts";
import type { ApiResult } from "../../ports/code-host.ts";
import { githubArtifacts, openClient } from "./artifacts.ts";
import type { RemoteCache } from "./cache.ts";
import { openCalls } from "./code-host.ts";
import type { WorkflowRun } from "./env.ts";
import { parseArtifacts } from "./replies.ts";
import { ask, usualPace } from "./request.ts";
import { attempt, withTimeout } from "./service-faults.ts";

export interface ArtifactCacheOptions {
	run: WorkflowRun;
	token: string;
	temp: string;
	maxBytes: number;
}

/** One that ends sooner is kept again. */
const restMs = 14 * 24 * 60 * 60_000;
const downloadMs = 200_000;

export function artifactCache({ run, token, temp, maxBytes }: ArtifactCacheOptions): RemoteCache {
	const calls = openCalls({ ...run, token }, usualPace);
	const branch = shortName(run.ref, "heads");
	/** Anyone may name an artifact of a pull request so: only those of our own branch count. */
	const newest = async (
		name: string,
		atMs: number,
	): Promise<ApiResult<{ artifact: { id: number; runId: number } | undefined }>> => {
		const given = { name, per_page: 100 };
		const route = "GET /repos/{owner}/{repo}/actions/artifacts";
		const listed = await ask(calls, "artifacts", {
			route,
			given,
			permission: "actions: read",
			parse: parseArtifacts,
		});
		if (listed.state === "failed") return listed;
		const own = listed.artifacts.filter(
			(one) => !one.isForeign && one.branch === branch && one.bytes <= maxBytes && one.endsMs > atMs,
		);
		return { state: "done", artifact: own.sort((left, right) => right.id - left.id)[0] };
	};
	return {
		async restore(folder, [key]) {
			const found = await newest(key, Date.now());
			if (found.state === "failed" || found.artifact === undefined)
				return found.state === "failed" ? found : { state: "done", key: null };
			const { id, runId } = found.artifact;
			const [repositoryOwner = "", repositoryName = ""] = run.repository.split("/");
			return attempt(`download of the artifact ${key}`, async () => {
				const client = await openClient();
				const findBy = { token, workflowRunId: runId, repositoryOwner, repositoryName };
				await withTimeout(downloadMs, client.downloadArtifact(id, { findBy, path: folder }));
				return { key };
			});
		},
		async save(folder, { key }) {
			const found = await newest(key, Date.now() + restMs);
			if (found.state === "failed" || found.artifact !== undefined)
				return found.state === "failed" ? found : { state: "done", saved: false };
			const names = await readdir(folder, { recursive: true, withFileTypes: true });
			const files = names
				.filter((entry) => entry.isFile())
				.map((entry) => join(entry.parentPath, entry.name));
			const sent = await githubArtifacts({ run, temp }).upload({
				name: key,
				root: folder,
				files,
				compression: 0,
			});
			return sent.state === "failed" ? sent : { state: "done", saved: true };
		},
	};
}
