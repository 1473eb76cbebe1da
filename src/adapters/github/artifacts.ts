// Artifacts of workflow runs, through the toolkit's client: upload, list, download. Nothing here throws or waits forever.

import { copyFile, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { otherNames } from "../../formats/github/names.ts";
import type { ApiFault, ApiResult, ArtifactDraft, ArtifactStore, KeptArtifact } from "../../ports/code-host.ts";
import type { WorkflowRun } from "./env.ts";
import { serviceFault, unsupported, withTimeout } from "./service-faults.ts";

export interface ArtifactOptions {
	run: Pick<WorkflowRun, "serverUrl" | "repository" | "runId" | "runAttempt" | "services">;
	/** Fewer than the repository keeps; absent: the repository's default. */
	retentionDays?: number | undefined;
	/** Folder for copies. */
	temp?: string | undefined;
	/** All tries of one artifact together, beside what its size needs. */
	limitMs?: number;
}

/** The client tries five times, for some 25 seconds, where the service is at fault. */
const usualLimitMs = 60_000;
/** The slowest connection that is worth waiting for: 2 MB a second. */
const bytesPerMs = 2000;

export function githubArtifacts(options: ArtifactOptions): ArtifactStore {
	return {
		async upload(draft) {
			if (!options.run.services.artifacts) return { state: "failed", fault: unsupported("artifacts") };
			const copies = draft.asIs ? await mkdtemp(join(options.temp ?? tmpdir(), "trtgate-artifact-")) : null;
			try {
				return await uploadByAnyName(draft, options, copies);
			} catch (error) {
				return { state: "failed", fault: serviceFault(error, `upload of the artifact ${draft.name}`) };
			} finally {
				if (copies !== null) await rm(copies, { recursive: true, force: true });
			}
		},
	};
}

/** Artifacts never change: a name that another job or another try has taken stays taken. */
async function uploadByAnyName(
	draft: ArtifactDraft,
	options: ArtifactOptions,
	copies: string | null,
): Promise<ApiResult<{ artifact: KeptArtifact }>> {
	const sizes = await Promise.all(draft.files.map(async (path) => (await stat(path)).size));
	const limitMs = (options.limitMs ?? usualLimitMs) + sizes.reduce((sum, size) => sum + size, 0) / bytesPerMs;
	let last: ApiFault | null = null;
	for (const name of otherNames(draft.name, options.run.runAttempt)) {
		const named = copies === null ? draft : await renamed(draft, join(copies, name));
		const what = `upload of the artifact ${name}`;
		try {
			const { id, size } = await withTimeout(limitMs, sendOnce({ ...named, name }, options));
			return { state: "done", artifact: { id, name, url: urlOf(id, options), bytes: size } };
		} catch (error) {
			last = serviceFault(error, what);
			if (last.code !== "github-conflict") break;
		}
	}
	return { state: "failed", fault: last ?? unsupported("artifacts") };
}

/** A file that is kept as it is lends its artifact its own name. */
async function renamed(draft: ArtifactDraft, path: string): Promise<ArtifactDraft> {
	const [file] = draft.files;
	if (file !== undefined) await copyFile(file, path);
	return { ...draft, root: join(path, ".."), files: [path] };
}

async function sendOnce(draft: ArtifactDraft, { retentionDays }: ArtifactOptions): Promise<{ id: number; size: number }> {
	const { DefaultArtifactClient } = await import("@actions/artifact");
	const sent = await new DefaultArtifactClient().uploadArtifact(draft.name, [...draft.files], draft.root, {
		compressionLevel: draft.compression,
		...(retentionDays === undefined ? {} : { retentionDays }),
		...(draft.asIs ? { skipArchive: true } : {}),
	});
	if (sent.id === undefined) throw new Error("the artifact service gave no id");
	return { id: sent.id, size: sent.size ?? 0 };
}

function urlOf(id: number, { run }: ArtifactOptions): string {
	return `${run.serverUrl}/${run.repository}/actions/runs/${run.runId}/artifacts/${id}`;
}

export interface RunArtifact {
	id: number;
	name: string;
	/** Of the archive. */
	bytes: number;
	/** `sha256:…` */
	digest?: string;
}

export interface RunArtifacts {
	/** Of all tries of the run, oldest first. */
	list(): Promise<ApiResult<{ artifacts: readonly RunArtifact[] }>>;
	/** @returns the path of the archive, in a folder of its own below `folder`. */
	fetch(artifact: RunArtifact, folder: string): Promise<ApiResult<{ path: string }>>;
}

export interface RunArtifactsOptions {
	run: Pick<WorkflowRun, "repository" | "services">;
	/** Absent: the run that we are part of, which needs no permission. */
	other?: { runId: number; token: string };
}

const listMs = 90_000;

export function runArtifacts({ run, other }: RunArtifactsOptions): RunArtifacts {
	const [repositoryOwner = "", repositoryName = ""] = run.repository.split("/");
	const from = other === undefined ? {} : { findBy: { token: other.token, workflowRunId: other.runId, repositoryOwner, repositoryName } };
	const lacks = other === undefined && !run.services.artifacts;
	return {
		async list() {
			if (lacks) return { state: "failed", fault: unsupported("artifacts") };
			try {
				const { artifacts } = await withTimeout(
					listMs,
					openClient().then((client) => client.listArtifacts(from)),
				);
				const known = artifacts.map(({ id, name, size, digest }) => ({
					id,
					name,
					bytes: size,
					...(digest === undefined ? {} : { digest }),
				}));
				return { state: "done", artifacts: known.sort((a, b) => a.id - b.id) };
			} catch (error) {
				return { state: "failed", fault: serviceFault(error, "list of the run's artifacts") };
			}
		},
		async fetch({ id, name, bytes, digest }, folder) {
			const what = `download of the artifact ${name}`;
			const path = join(folder, String(id));
			try {
				await mkdir(path, { recursive: true });
				const options = { ...from, path, skipDecompress: true, ...(digest === undefined ? {} : { expectedHash: digest }) };
				const { digestMismatch } = await withTimeout(
					listMs + bytes / bytesPerMs,
					openClient().then((client) => client.downloadArtifact(id, options)),
				);
				if (digestMismatch === true) throw new Error("its digest is not the one that the service lists");
				const [file] = await readdir(path);
				if (file === undefined) throw new Error("nothing came");
				return { state: "done", path: join(path, file) };
			} catch (error) {
				return { state: "failed", fault: serviceFault(error, what) };
			}
		},
	};
}

async function openClient() {
	const { DefaultArtifactClient } = await import("@actions/artifact");
	return new DefaultArtifactClient();
}
