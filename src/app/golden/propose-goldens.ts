// Proposes the goldens that were recorded: one commit, one branch, one pull request.
import { createHash } from "node:crypto";
import { dirname, join, posix } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { childEnvironment } from "../../adapters/github/env.ts";
import { githubRepository } from "../../adapters/github/repository.ts";
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
import type { ApiFault, Repository } from "../../ports/code-host.ts";
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
	if (done.recorded.every(({ state }) => state === "same")) return { state: "none" };
	const processes = createProcesses({ env: childEnvironment() });
	let body = "";
	try {
		const checkout = await openCheckout(done.home, processes);
		const pull = describePull(done, job, checkout);
		body = goldenPullBody(pull);
		const proposed = await sendPull(pull, body, { done, job, checkout });
		return { state: "proposed", proposed, branch: pull.branch, body };
	} catch (error) {
		return { state: "failed", error, body };
	} finally {
		await processes.killAll();
	}
}

function describePull(
	{ recorded, notes }: RecordedGoldens,
	{ inputs, author }: GoldenJob,
	{ commit }: Checkout,
): GoldenPull {
	const goldens = recorded
		.filter(({ state }) => state === "written")
		.map(({ model, path, manifest, old, change }) => ({
			model: model.name,
			path,
			manifest,
			before: old?.goldenId ?? null,
			change,
		}));
	return {
		goldens,
		reason: inputs.reason,
		author,
		commit,
		branch: inputs.branch,
		notes,
		calibrated: inputs.calibrate,
	};
}

interface Sending {
	done: RecordedGoldens;
	job: GoldenJob;
	checkout: Checkout;
}

/** @throws ConfigError proposal-refused, PlatformError. */
async function sendPull(pull: GoldenPull, body: string, { done, job, checkout }: Sending): Promise<Proposed> {
	const { inputs, run } = job;
	const written = done.recorded.filter(({ state }) => state === "written");
	const files = await changedFiles(written, done.home, checkout);
	const repository = githubRepository({ ...run, token: inputs.token });
	const end = await propose(
		{
			...files,
			commit: checkout.commit,
			base: inputs.base || (await defaultBranch(repository)),
			branch: pull.branch,
			draft: inputs.draft,
			title: goldenPullTitle(pull),
			body,
			marker: goldenPullMarker,
			message: goldenCommitMessage(pull),
			trailer: goldenTrailer(pull.branch),
		},
		repository,
	);
	if (end.state === "failed") throw platformError(end.fault);
	if (end.state === "refused") throw proposalRefused(end.why, end.fix);
	return end.proposed;
}

async function defaultBranch(repository: Repository): Promise<string> {
	const found = await repository.defaultBranch();
	if (found.state === "failed") throw platformError(found.fault);
	return found.branch;
}

function platformError({ code, message, fix }: ApiFault): PlatformError {
	return new PlatformError({ code, message, fix });
}

// Which files of the repository change by what was recorded.

type ChangedFiles = Pick<Proposal, "files" | "removed" | "folders">;

const maxBlobBytes = 100 * 1000 * 1000;
/** A workflow's token allows 1,000 requests an hour, and each new file takes one. */
const maxFiles = 600;

type Recorded = Pick<RecordedModel, "path" | "manifest" | "old">;

/** @throws ConfigError proposal-refused. */
export async function changedFiles(
	recorded: readonly Recorded[],
	home: string,
	checkout: Checkout,
): Promise<ChangedFiles> {
	const manifests = new Map<string, GoldenManifest>();
	const [folders, before]: [string[], string[]] = [[], []];
	for (const { path, manifest, old } of recorded) {
		const folder = await folderInCheckout(checkout, home, dirname(path));
		const inFolder = (name: string): string => posix.join(folder, name);
		folders.push(folder);
		for (const name of ["golden.json", ...tensorPaths(manifest)]) manifests.set(inFolder(name), manifest);
		if (old !== null) before.push(...tensorPaths(old).map(inFolder));
	}
	if (manifests.size > maxFiles) throw tooMany(manifests.size);
	await checkFilters([...manifests.keys()], checkout);
	const files: ProposedFile[] = [];
	for (const [path, manifest] of manifests) files.push(await proposedFile(path, checkout.top, manifest));
	return { files, folders, removed: before.filter((path) => !manifests.has(path)) };
}

function tooMany(count: number) {
	return proposalRefused(
		`${count} files were recorded, and each needs a request: GitHub allows a workflow 1,000 requests an hour.`,
		`Record fewer cases, or some models at a time (at most ${maxFiles} files), or record with the command line and commit the golden by hand.`,
	);
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
