// Artifacts of workflow runs, through the toolkit's client: upload, list, download. Nothing here throws or waits forever.
import { copyFile, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { otherNames } from "../../formats/github/names.ts";
import type {
	ApiFault,
	ApiResult,
	ArtifactDraft,
	ArtifactStore,
	KeptArtifact,
} from "../../ports/code-host.ts";
import type { WorkflowRun } from "./env.ts";
import { attempt, unsupported, withTimeout } from "./service-faults.ts";

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
	const found = await attempt(`upload of the artifact ${draft.name}`, async () => ({
		sizes: await Promise.all(draft.files.map(async (path) => (await stat(path)).size)),
	}));
	if (found.state === "failed") return found;
	const limitMs =
		(options.limitMs ?? usualLimitMs) + found.sizes.reduce((sum, size) => sum + size, 0) / bytesPerMs;
	let last: ApiFault | null = null;
	for (const name of otherNames(draft.name, options.run.runAttempt)) {
		const sent = await attempt(`upload of the artifact ${name}`, async () => {
			const named = copies === null ? draft : await renamed(draft, join(copies, name));
			const { id, size } = await withTimeout(limitMs, sendOnce({ ...named, name }, options));
			return { artifact: { id, name, url: urlOf(id, options), bytes: size } };
		});
		if (sent.state === "done" || sent.fault.code !== "github-conflict") return sent;
		last = sent.fault;
	}
	return { state: "failed", fault: last ?? unsupported("artifacts") };
}

/** A file that is kept as it is lends its artifact its own name. */
async function renamed(draft: ArtifactDraft, path: string): Promise<ArtifactDraft> {
	const [file] = draft.files;
	if (file !== undefined) await copyFile(file, path);
	return { ...draft, root: join(path, ".."), files: [path] };
}

async function sendOnce(
	draft: ArtifactDraft,
	{ retentionDays }: ArtifactOptions,
): Promise<{ id: number; size: number }> {
	const client = await openClient();
	const options = {
		compressionLevel: draft.compression,
		...(retentionDays && { retentionDays }),
		...(draft.asIs && { skipArchive: true }),
	};
	const sent = await client.uploadArtifact(draft.name, [...draft.files], draft.root, options);
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
	/** GitHub's clock, in milliseconds. */
	uploadedMs?: number | undefined;
	/** `sha256:…` */
	digest?: string | undefined;
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
	const from =
		other === undefined
			? {}
			: { findBy: { token: other.token, workflowRunId: other.runId, repositoryOwner, repositoryName } };
	const lacks = other === undefined && !run.services.artifacts;
	return {
		async list() {
			if (lacks) return { state: "failed", fault: unsupported("artifacts") };
			return attempt("list of the run's artifacts", async () => {
				const client = await openClient();
				const { artifacts } = await withTimeout(listMs, client.listArtifacts(from));
				const known = artifacts.map(({ id, name, size: bytes, createdAt, digest }) => ({
					...{ id, name, bytes, digest },
					uploadedMs: createdAt?.getTime(),
				}));
				return { artifacts: known.sort((a, b) => a.id - b.id) };
			});
		},
		fetch: ({ id, name, bytes, digest }, folder) =>
			attempt(`download of the artifact ${name}`, async () => {
				const path = join(folder, String(id));
				await mkdir(path, { recursive: true });
				const options = { ...from, path, skipDecompress: true, ...(digest && { expectedHash: digest }) };
				const client = await openClient();
				const { digestMismatch } = await withTimeout(
					listMs + bytes / bytesPerMs,
					client.downloadArtifact(id, options),
				);
				if (digestMismatch === true) throw new Error("its digest is not the one that the service lists");
				const [file] = await readdir(path);
				if (file === undefined) throw new Error("nothing came");
				return { path: join(path, file) };
			}),
	};
}

export async function openClient() {
	const { DefaultArtifactClient } = await import("@actions/artifact");
	return new DefaultArtifactClient();
}
