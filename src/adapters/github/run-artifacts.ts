// Artifacts of this or of another workflow run: their list, and the archives as they are, never unpacked.
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ApiResult } from "../../ports/code-host.ts";
import type { WorkflowRun } from "./env.ts";
import { serviceFault, unsupported } from "./service-faults.ts";
import { withTimeout } from "./with-timeout.ts";

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
/** The slowest downlink that is worth waiting for: 2 MB a second. */
const bytesPerMs = 2000;

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
