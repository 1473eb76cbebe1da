import { createBlob, digestOf, signedUrl } from "./blobs.ts";
import type { Reply } from "./http.ts";
import { formatTime } from "./render.ts";
import type { Artifact, Blob } from "./state.ts";
import type { JobRights, World } from "./world.ts";

export interface TwirpCall {
	world: World;
	rights: JobRights;
	body: Readonly<Record<string, unknown>>;
}

export type TwirpMethod = (call: TwirpCall) => Reply;

export function twirpError(status: number, code: string, msg: string): Reply {
	return { status, body: { code, msg } };
}

/** protobuf's JSON takes both spellings of a field. */
export function fieldOf(call: TwirpCall, name: string): string {
	const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
	const value = call.body[name] ?? call.body[camel];
	return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

const forbidden = /[":<>|*?\r\n\\/]/;

function isOwnRun(call: TwirpCall): boolean {
	return fieldOf(call, "workflow_run_backend_id") === call.rights.runBackendId;
}

const foreign = (): Reply => twirpError(403, "permission_denied", "the token is not of this workflow run");

function named(call: TwirpCall, isFinal: boolean): Artifact | undefined {
	const { runId, attempt } = call.rights;
	const name = fieldOf(call, "name");
	const fits = (artifact: Artifact): boolean =>
		artifact.name === name && artifact.runId === runId && artifact.isFinal === isFinal;
	return (
		call.world.state.artifacts.findLast((artifact) => fits(artifact) && artifact.attempt === attempt) ??
		call.world.state.artifacts.findLast(fits)
	);
}

function expiryOf(days: number): string {
	return formatTime(Date.now() + days * 86_400_000);
}

type Named = Pick<Artifact, "name" | "runId" | "attempt" | "jobBackendId" | "mimeType" | "expiresAt">;

function createArtifact(
	world: World,
	{ name, runId, attempt, jobBackendId, mimeType, expiresAt }: Named,
): Artifact {
	const artifact: Artifact = {
		...{ id: world.nextId(), name, runId, attempt, jobBackendId, mimeType, expiresAt },
		...{ createdAt: world.now(), sizeBytes: 0, digest: null, isFinal: false },
		blob: createBlob(world, mimeType === "application/zip" ? ".zip" : ""),
	};
	world.state.artifacts.push(artifact);
	return artifact;
}

function finish(artifact: Artifact, blob: Blob): void {
	const [ending, digest] = [artifact.mimeType === "application/zip" ? ".zip" : "", digestOf(blob.content)];
	const encoded = encodeURIComponent(artifact.name);
	blob.contentType = artifact.mimeType;
	blob.disposition = `attachment; filename="${artifact.name}${ending}"; filename*=UTF-8''${encoded}${ending}`;
	Object.assign(artifact, { isFinal: true, sizeBytes: blob.content.length, digest });
}

export type NewArtifact = { runId: number; name: string; archive: Buffer; attempt?: number };

export function addArtifact(world: World, given: NewArtifact): Artifact {
	const { archive, attempt = 1, ...named } = given;
	const artifact = createArtifact(world, {
		...named,
		attempt,
		jobBackendId: "earlier",
		mimeType: "application/zip",
		expiresAt: expiryOf(90),
	});
	const blob = world.state.blobs.get(artifact.blob);
	if (!blob) throw new Error("the blob of a new artifact is there");
	Object.assign(blob, { content: archive, isComplete: true });
	finish(artifact, blob);
	return artifact;
}

function create(call: TwirpCall): Reply {
	if (!isOwnRun(call)) return foreign();
	const { world, rights } = call;
	const name = fieldOf(call, "name");
	if (name === "" || forbidden.test(name))
		return twirpError(400, "invalid_argument", `invalid artifact name: ${JSON.stringify(name)}`);
	if (fieldOf(call, "version") !== "7")
		return twirpError(400, "invalid_argument", "only version 7 of artifacts is spoken here");
	if (named(call, true)?.attempt === rights.attempt)
		return twirpError(409, "already_exists", "an artifact with this name already exists on the workflow run");
	const mimeType = fieldOf(call, "mime_type") || "application/zip";
	const { blob } = createArtifact(world, {
		name,
		mimeType,
		...rights,
		expiresAt: fieldOf(call, "expires_at") || expiryOf(90),
	});
	return { status: 200, body: { ok: true, signed_upload_url: signedUrl(world, blob) } };
}

function finalize(call: TwirpCall): Reply {
	if (!isOwnRun(call)) return foreign();
	const artifact = named(call, false);
	const blob = call.world.state.blobs.get(artifact?.blob ?? "");
	if (!artifact || !blob?.isComplete)
		return twirpError(404, "not_found", "no upload of this name is under way");
	const digest = digestOf(blob.content);
	if (fieldOf(call, "size") !== String(blob.content.length))
		return twirpError(400, "invalid_argument", "size is not that of the upload");
	const hash = fieldOf(call, "hash");
	if (hash !== "" && hash !== digest)
		return twirpError(400, "invalid_argument", "hash is not that of the upload");
	finish(artifact, blob);
	return { status: 200, body: { ok: true, artifact_id: String(artifact.id) } };
}

function renderArtifact(call: TwirpCall, artifact: Artifact): object {
	return {
		workflow_run_backend_id: call.rights.runBackendId,
		workflow_job_run_backend_id: artifact.jobBackendId,
		database_id: String(artifact.id),
		name: artifact.name,
		size: String(artifact.sizeBytes),
		created_at: artifact.createdAt,
		...(artifact.digest === null ? {} : { digest: artifact.digest }),
	};
}

function list(call: TwirpCall): Reply {
	if (!isOwnRun(call)) return foreign();
	const [name, id] = [fieldOf(call, "name_filter"), fieldOf(call, "id_filter")];
	const found = call.world.state.artifacts.filter(
		(artifact) =>
			artifact.runId === call.rights.runId &&
			artifact.isFinal &&
			(name === "" || artifact.name === name) &&
			(id === "" || String(artifact.id) === id),
	);
	return { status: 200, body: { artifacts: found.map((artifact) => renderArtifact(call, artifact)) } };
}

function sign(call: TwirpCall): Reply {
	if (!isOwnRun(call)) return foreign();
	const artifact = named(call, true);
	return artifact
		? { status: 200, body: { name: artifact.name, signed_url: signedUrl(call.world, artifact.blob) } }
		: twirpError(404, "not_found", "artifact not found");
}

export const artifactService: Readonly<Record<string, TwirpMethod>> = {
	CreateArtifact: create,
	FinalizeArtifact: finalize,
	ListArtifacts: list,
	GetSignedArtifactURL: sign,
};
