// Proposes the goldens that were recorded: one commit, one branch, one pull request.
import { createHash } from "node:crypto";
import { dirname, join, posix } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { PlatformError } from "../../core/errors.ts";
import { isEquivalentGolden } from "../../core/golden/manifest/draft.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { inputKinds } from "../../core/input-kind.ts";
import {
	type GoldenPull,
	goldenCommitMessage,
	goldenPullBody,
	goldenPullMarker,
	goldenPullTitle,
	goldenTrailer,
} from "../../core/report/golden-pull.ts";
import type { ApiFault } from "../../ports/code-host.ts";
import {
	largeFileFix,
	type Proposal,
	type Proposed,
	type ProposedFile,
	propose,
} from "../../stages/propose.ts";
import type { GoldenJob } from "./action-job.ts";
import { type Checkout, checkFilters, folderInCheckout, openCheckout, proposalRefused } from "./checkout.ts";
import { tensorPaths } from "./keep.ts";
import type { RecordedModel } from "./record-models.ts";

export interface RecordedGoldens {
	home: string;
	recorded: RecordedModel[];
	errors: unknown[];
	notes: string[];
}

export type GoldenProposal =
	| { state: "none" }
	| { state: "proposed"; proposed: Proposed; branch: string; body: string }
	| { state: "failed"; error: unknown; body: string };

export async function proposeGoldens(done: RecordedGoldens, job: GoldenJob): Promise<GoldenProposal> {
	const written = done.recorded.filter(({ state }) => state === "written");
	if (written.length === 0) return { state: "none" };
	const processes = createProcesses({ env: childEnvironment() });
	let body = "";
	try {
		const checkout = await openCheckout(done.home, processes);
		const { inputs, author } = job;
		const pull: GoldenPull = {
			goldens: written.map(({ model, path, manifest, old, change }) => {
				return { model: model.name, path, manifest, before: old?.goldenId ?? null, change };
			}),
			reason: inputs.reason,
			author,
			commit: checkout.commit,
			branch: inputs.branch,
			notes: done.notes,
			calibrated: inputs.calibrate,
		};
		body = goldenPullBody(pull);
		const proposed = await sendPull(pull, body, await changedFiles(written, done.home, checkout), job);
		return { state: "proposed", proposed, branch: pull.branch, body };
	} catch (error) {
		return { state: "failed", error, body };
	} finally {
		await processes.killAll();
	}
}

/** @throws ConfigError proposal-refused, PlatformError. */
async function sendPull(
	pull: GoldenPull,
	body: string,
	files: ChangedFiles,
	{ inputs, host }: GoldenJob,
): Promise<Proposed> {
	const repository = host.repository();
	const found = inputs.base === "" ? await repository.defaultBranch() : null;
	if (found?.state === "failed") throw platformError(found.fault);
	const proposal: Proposal = {
		...files,
		commit: pull.commit,
		base: found?.branch ?? inputs.base,
		branch: pull.branch,
		draft: inputs.draft,
		title: goldenPullTitle(pull),
		body,
		marker: goldenPullMarker,
		message: goldenCommitMessage(pull),
		trailer: goldenTrailer(pull.branch),
	};
	const end = await propose(proposal, repository);
	if (end.state === "failed") throw platformError(end.fault);
	if (end.state === "refused") throw proposalRefused(end.why, end.fix);
	return end.proposed;
}

function platformError({ code, message, fix }: ApiFault): PlatformError {
	return new PlatformError({ code, message, fix });
}

/** The files of the repository that change by what was recorded. */
type ChangedFiles = Pick<Proposal, "files" | "removed" | "folders">;

const maxBlobBytes = 100 * 1000 * 1000;
const maxFiles = 600;

/** @throws ConfigError proposal-refused. */
export async function changedFiles(
	recorded: readonly Pick<RecordedModel, "path" | "manifest" | "old">[],
	home: string,
	checkout: Checkout,
): Promise<ChangedFiles> {
	const manifests = new Map<string, GoldenManifest>();
	const folders: string[] = [];
	const before: string[] = [];
	for (const { path, manifest, old } of recorded) {
		const folder = await folderInCheckout(checkout, home, dirname(path));
		const inFolder = (name: string): string => posix.join(folder, name);
		folders.push(folder);
		for (const name of ["golden.json", ...tensorPaths(manifest)]) manifests.set(inFolder(name), manifest);
		if (old !== null) before.push(...tensorPaths(old).map(inFolder));
	}
	if (manifests.size > maxFiles)
		throw proposalRefused(
			`${manifests.size} files were recorded, and each needs a request: GitHub allows a workflow 1,000 requests an hour.`,
			`Record fewer cases, or some models at a time (at most ${maxFiles} files), or record with the command line and commit the golden by hand.`,
		);
	await checkFilters([...manifests.keys()], checkout);
	const files: ProposedFile[] = [];
	for (const [path, manifest] of manifests) files.push(await proposedFile(path, checkout.top, manifest));
	return { files, folders, removed: before.filter((path) => !manifests.has(path)) };
}

async function proposedFile(path: string, top: string, manifest: GoldenManifest): Promise<ProposedFile> {
	const absolute = join(top, path);
	const files = fileStore();
	const bytes = await files.readBytes(absolute, inputKinds.tensor);
	if (bytes.length > maxBlobBytes)
		throw proposalRefused(
			`${path} has ${bytes.length} bytes, and GitHub takes at most ${maxBlobBytes} in one file.`,
			largeFileFix,
		);
	const blob = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
	const file = { path, blob, bytes: bytes.length, read: () => files.readBytes(absolute, inputKinds.tensor) };
	return path.endsWith("/golden.json")
		? { ...file, agreesWith: (earlier) => isEquivalentFile(earlier, manifest) }
		: file;
}

function isEquivalentFile(earlier: Uint8Array, manifest: GoldenManifest): boolean {
	try {
		const before = parseManifest(new TextDecoder().decode(earlier), "golden.json");
		return (
			isEquivalentGolden(before, manifest) &&
			before.goldenId === manifest.goldenId &&
			before.reason === manifest.reason &&
			before.author === manifest.author &&
			tensorPaths(before).join("\n") === tensorPaths(manifest).join("\n")
		);
	} catch {
		return false;
	}
}
