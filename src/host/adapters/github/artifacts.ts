// Artifacts and caches, through the toolkit's clients. Nothing throws, and every wait is bounded.

import { copyFile, mkdir, mkdtemp, open, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, inflateRawSync } from "node:zlib";
import { fileSource } from "../../../adapters/process/input-file.ts";
import type { ByteSource } from "../../../formats/bytes/byte-source.ts";
import { findZipEntries, type ZipEntry } from "../../../formats/zip/zip.ts";
import type {
	ApiFault,
	ArtifactDraft,
	ArtifactStore,
	RemoteCache,
	RunArtifacts,
	TakeLimits,
	TakenFile,
	WorkflowRun,
} from "../../../ports/code-host.ts";
import { otherNames } from "../../formats/github/names.ts";
import { asKnownServer } from "./env.ts";
import { attempt, unsupported, withTimeout } from "./faults.ts";

interface ArtifactOptions {
	run: WorkflowRun;
	retentionDays?: number;
	temp: string | undefined;
}

/** The client tries for some 25 seconds; time for the size comes on top. */
const uploadMs = 60_000;
const bytesPerMs = 2000;

async function openClient({ isGitea }: WorkflowRun) {
	const { DefaultArtifactClient } = await import("@actions/artifact");
	const client = new DefaultArtifactClient();
	return <Value>(call: (opened: typeof client) => Value) =>
		isGitea ? asKnownServer(() => call(client)) : call(client);
}

export function githubArtifacts({ run, retentionDays, temp }: ArtifactOptions): ArtifactStore {
	const send = async ({ name, files, root, ...draft }: ArtifactDraft, waitMs: number) => {
		const use = await openClient(run);
		const options = {
			compressionLevel: draft.compression,
			...(retentionDays && { retentionDays }),
			...(draft.asIs && { skipArchive: true }),
		};
		const sent = await withTimeout(
			waitMs,
			use((client) => client.uploadArtifact(name, [...files], root, options)),
		);
		if (sent.id === undefined) throw new Error("the artifact service gave no id");
		const url = `${run.serverUrl}/${run.repository}/actions/runs/${run.runId}/artifacts/${run.isGitea ? name : sent.id}`;
		return { artifact: { id: sent.id, name, url, bytes: sent.size ?? 0 } };
	};
	return {
		async upload(draft) {
			if (!run.services.artifacts) return { state: "failed", fault: unsupported("artifacts") };
			const copies = draft.asIs ? await mkdtemp(join(temp ?? tmpdir(), "trtgate-artifact-")) : null;
			let fault: ApiFault = unsupported("artifacts");
			try {
				// A name remains taken by the job or attempt that used it first.
				for (const name of otherNames(draft.name, run.runAttempt)) {
					const sent = await attempt(`upload of the artifact ${name}`, async () => {
						const named = copies === null ? { ...draft, name } : await renamed(draft, copies, name);
						const sizes = await Promise.all(draft.files.map(async (path) => (await stat(path)).size));
						const bytes = sizes.reduce((sum, size) => sum + size, 0);
						return send(named, uploadMs + bytes / bytesPerMs);
					});
					if (sent.state === "done" || sent.fault.code !== "github-conflict") return sent;
					fault = sent.fault;
				}
				return { state: "failed", fault };
			} finally {
				if (copies !== null) await rm(copies, { recursive: true, force: true });
			}
		},
	};
}

async function renamed(draft: ArtifactDraft, root: string, name: string) {
	const [file] = draft.files;
	if (file !== undefined) await copyFile(file, join(root, name));
	return { ...draft, name, root, files: [join(root, name)] };
}

const listMs = 90_000;

/** @param other absent for our own run, which needs no permission. */
export function githubRunArtifacts(run: WorkflowRun, other?: { runId: number; token: string }): RunArtifacts {
	const [repositoryOwner = "", repositoryName = ""] = run.repository.split("/");
	const from = other && {
		findBy: { token: other.token, workflowRunId: other.runId, repositoryOwner, repositoryName },
	};
	const lacks = other === undefined && !run.services.artifacts;
	return {
		async list() {
			if (lacks) return { state: "failed", fault: unsupported("artifacts") };
			return attempt("list of the run's artifacts", async () => {
				const use = await openClient(run);
				const { artifacts } = await withTimeout(
					listMs,
					use((client) => client.listArtifacts(from)),
				);
				const known = artifacts.map(({ id, name, size: bytes, createdAt, digest }) => ({
					id,
					name,
					bytes,
					digest,
					uploadedMs: createdAt?.getTime(),
				}));
				return { artifacts: known.sort((a, b) => a.id - b.id) };
			});
		},
		async take({ id, name, bytes, digest }, wanted) {
			const path = join(wanted.temp, String(id));
			await mkdir(path, { recursive: true });
			try {
				const fetched = await attempt(`download of the artifact ${name}`, async () => {
					const options = { ...from, path, skipDecompress: true, ...(digest && { expectedHash: digest }) };
					const use = await openClient(run);
					const { digestMismatch } = await withTimeout(
						listMs + bytes / bytesPerMs,
						use((client) => client.downloadArtifact(id, options)),
					);
					if (digestMismatch === true) throw new Error("its digest is not the one that the service lists");
					const [file] = await readdir(path);
					if (file === undefined) throw new Error("no file was downloaded");
					return { file: join(path, file) };
				});
				if (fetched.state === "failed") return { state: "refused", reason: fetched.fault.message };
				return await takeFile(fetched.file, wanted.name, wanted.limits);
			} finally {
				await rm(path, { recursive: true, force: true });
			}
		},
	};
}

/** 2 GB at 10 MB a second. */
const downloadMs = 200_000;
const cacheBytesPerMs = 10_000;
/** The client tries for 30 seconds, too long for a runner with a GPU. */
const answerMs = 10_000;

export function githubCache(available: boolean): RemoteCache {
	const missing = async () => ({ state: "failed" as const, fault: unsupported("caches") });
	if (!available) return { restore: missing, save: missing };
	return {
		restore: (folder, [first, ...others]) =>
			attempt(`restore of the cache ${first}`, async () => {
				const { restoreCache } = await import("@actions/cache");
				const looking = restoreCache([folder], first, others, { lookupOnly: true });
				const found = await withTimeout(answerMs, looking);
				if (found === undefined) return { key: null };
				return { key: (await withTimeout(downloadMs, restoreCache([folder], found, []))) ?? null };
			}),
		save: (folder, { key, bytes }) =>
			attempt(`save of the cache ${key}`, async () => {
				const { saveCache } = await import("@actions/cache");
				const id = await withTimeout(answerMs + bytes / cacheBytesPerMs, saveCache([folder], key));
				return { saved: id !== -1 };
			}),
	};
}

/** The name must be an entry's, so no path is followed. */
export async function takeFile(archive: string, name: string, limits: TakeLimits): Promise<TakenFile> {
	const file = await open(archive);
	try {
		const { size } = await file.stat();
		if (size > limits.packedBytes)
			return refused(`It has ${size} bytes; at most ${limits.packedBytes} are read.`);
		const source = fileSource(file.fd, size);
		const entries = findZipEntries(source, (candidate) => candidate === name);
		if (typeof entries === "string") return refused(`It cannot be read: ${entries}.`);
		const [entry, second] = entries;
		if (entry === undefined) return { state: "absent" };
		if (second !== undefined) return refused(`It contains ${name} twice.`);
		return unpack(source, entry, limits);
	} finally {
		await file.close();
	}
}

function refused(reason: string): TakenFile {
	return { state: "refused", reason };
}

function unpack(source: ByteSource, entry: ZipEntry, limits: TakeLimits): TakenFile {
	if (entry.isLink) return refused(`Its ${entry.name} is a symbolic link.`);
	if (entry.bytes > limits.bytes || entry.packedBytes > limits.bytes)
		return refused(`Its ${entry.name} has ${entry.bytes} bytes; at most ${limits.bytes} are read.`);
	const packed = source.read(entry.dataAt, entry.packedBytes);
	const bytes = entry.method === "stored" ? packed : inflate(packed, Math.min(limits.bytes, entry.bytes));
	if (bytes === null || bytes.length !== entry.bytes)
		return refused(`Its ${entry.name} does not have the size in its directory.`);
	if (crc32(bytes) !== entry.crc32) return refused(`Its ${entry.name} does not match its checksum.`);
	return decodeFile(bytes, entry.name);
}

export function decodeFile(bytes: Uint8Array, name: string): TakenFile {
	try {
		return { state: "read", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
	} catch {
		return refused(`Its ${name} is not UTF-8 text.`);
	}
}

/** null if the entry is broken, or unpacks to more than it declares. */
function inflate(packed: Uint8Array, maxBytes: number) {
	try {
		return inflateRawSync(packed, { maxOutputLength: Math.max(1, maxBytes) });
	} catch {
		return null;
	}
}
