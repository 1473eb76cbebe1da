// Proposes the goldens that were recorded in a checkout: one commit, one branch, one pull request.
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { dirname, join, posix, relative, sep } from "node:path";
import type { GoldenManifest } from "../../../generated/golden.ts";
import { fileStore } from "../../adapters/files/store.ts";
import { firstLine, type Git, gitIn, succeeded } from "../../adapters/git/run-git.ts";
import { createProcesses, type Processes } from "../../adapters/process/processes.ts";
import { inputKinds } from "../../core/input-kind.ts";
import {
	type GoldenPull,
	goldenCommitMessage,
	goldenPullBody,
	goldenPullMarker,
	goldenPullTitle,
	goldenTrailer,
} from "../../core/report/golden-pull.ts";
import { childEnvironment } from "../../host/adapters/github/env.ts";
import { isEquivalentGolden } from "../core/manifest/draft.ts";
import { parseManifest } from "../core/manifest/parse-manifest.ts";
import {
	done,
	largeFileFix,
	type Proposal,
	type Proposed,
	type ProposedFile,
	proposalRefused,
	propose,
} from "../stages/propose.ts";
import type { GoldenJob, RecordedGoldens, RecordedModel } from "./action-models.ts";
import { tensorPaths } from "./keep.ts";

export type GoldenProposal =
	| { state: "none" }
	| { state: "proposed"; proposed: Proposed; branch: string; body: string }
	| { state: "failed"; error: unknown; body: string };

export async function proposeGoldens(recorded: RecordedGoldens, job: GoldenJob): Promise<GoldenProposal> {
	const written = recorded.recorded.filter(({ state }) => state === "written");
	if (written.length === 0) return { state: "none" };
	const processes = createProcesses({ env: childEnvironment() });
	let body = "";
	try {
		const checkout = await openCheckout(recorded.home, processes);
		const { inputs, author } = job;
		const pull: GoldenPull = {
			goldens: written.map(({ model, path, manifest, old, change }) => {
				return { model: model.name, path, manifest, before: old?.goldenId ?? null, change };
			}),
			reason: inputs.reason,
			author,
			commit: checkout.commit,
			branch: inputs.branch,
			notes: recorded.notes,
			calibrated: inputs.calibrate,
		};
		body = goldenPullBody(pull);
		const proposed = await sendPull(pull, body, await changedFiles(written, recorded.home, checkout), job);
		return { state: "proposed", proposed, branch: pull.branch, body };
	} catch (error) {
		return { state: "failed", error, body };
	} finally {
		await processes.killAll();
	}
}

async function sendPull(
	pull: GoldenPull,
	body: string,
	files: ChangedFiles,
	{ inputs, repository }: GoldenJob,
) {
	const proposal: Proposal = {
		...files,
		commit: pull.commit,
		base: inputs.base || done(await repository.defaultBranch()).branch,
		branch: pull.branch,
		draft: inputs.draft,
		title: goldenPullTitle(pull),
		body,
		marker: goldenPullMarker,
		message: goldenCommitMessage(pull),
		trailer: goldenTrailer(pull.branch),
	};
	return propose(proposal, repository);
}

interface Checkout {
	git: Git;
	top: string;
	commit: string;
}

export async function openCheckout(folder: string, processes: Processes): Promise<Checkout> {
	const git = gitIn(folder, processes);
	const top = await git(["rev-parse", "--show-toplevel"]);
	const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
	if (succeeded(top) && succeeded(head)) {
		const path = await realpath(firstLine(top));
		return { git: gitIn(path, processes), top: path, commit: firstLine(head) };
	}
	const reason = succeeded(top) ? "git has no commit here" : (top.tail.at(-1) ?? "");
	throw proposalRefused(
		`${folder} is not a checkout of the repository: ${reason.slice(0, 200)}`,
		"Run actions/checkout before this action. If git reports dubious ownership, as in a container, run `git config --global --add safe.directory '*'` before.",
	);
}

type ChangedFiles = Pick<Proposal, "files" | "removed" | "folders">;

/** Each needs a request, and GitHub allows a workflow 1,000 an hour. */
const maxFiles = 600;

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
		const inFolder = (name: string) => posix.join(folder, name);
		folders.push(folder);
		for (const name of ["golden.json", ...tensorPaths(manifest)]) manifests.set(inFolder(name), manifest);
		if (old !== null) before.push(...tensorPaths(old).map(inFolder));
	}
	if (manifests.size > maxFiles)
		throw proposalRefused(
			`${manifests.size} files were recorded, and a pull request takes at most ${maxFiles}.`,
			"Record fewer cases, or some models at a time, or commit the golden by hand.",
		);
	await checkFilters([...manifests.keys()], checkout);
	const files: ProposedFile[] = [];
	for (const [path, manifest] of manifests) files.push(await proposedFile(path, checkout.top, manifest));
	return { files, folders, removed: before.filter((path) => !manifests.has(path)) };
}

/** A folder of the config as git knows it. @throws ConfigError proposal-refused. */
async function folderInCheckout({ top }: Checkout, home: string, folder: string) {
	const [wanted, real] = [join(await realpath(home), folder), await realpath(join(home, folder))];
	const inside = relative(top, real).split(sep).join("/");
	if (wanted === real && inside !== "" && inside.split("/")[0] !== "..") return inside;
	throw proposalRefused(
		`${folder} is a link, or no folder inside the checkout ${top}, so a golden cannot be proposed there.`,
		"Keep each golden in a folder of the repository itself.",
	);
}

/** GitHub's API would commit the unfiltered file. @throws ConfigError proposal-refused. */
async function checkFilters(paths: readonly string[], { git }: Checkout) {
	const attributes = await git(["check-attr", "-z", "--stdin", "filter"], {
		stdin: paths.map((path) => `${path}\0`).join(""),
		captureBytes: 16 * 1024 * 1024,
	});
	if (!succeeded(attributes))
		throw proposalRefused(
			`git could not read the attributes of the files: ${attributes.tail.at(-1) ?? ""}`,
			"Check .gitattributes.",
		);
	const fields = attributes.stdout.split("\0");
	for (let at = 0; at + 2 < fields.length; at += 3) {
		const [path = "", , filter = ""] = fields.slice(at, at + 3);
		if (filter === "unspecified" || filter === "unset") continue;
		const what = filter === "lfs" ? "Git LFS" : `git's filter ${JSON.stringify(filter)}`;
		throw proposalRefused(
			`${path} belongs to ${what} by .gitattributes, which GitHub's API cannot apply.`,
			`Record with the command line and push the golden by hand, or take goldens out of the filter: \`${posix.dirname(path)}/** !filter\` in .gitattributes.`,
		);
	}
}

const maxBlobBytes = 100 * 1000 * 1000;

async function proposedFile(path: string, top: string, manifest: GoldenManifest): Promise<ProposedFile> {
	const read = () => fileStore().readBytes(join(top, path), inputKinds.tensor);
	const bytes = await read();
	if (bytes.length > maxBlobBytes)
		throw proposalRefused(
			`${path} has ${bytes.length} bytes, and GitHub takes at most ${maxBlobBytes} in one file.`,
			largeFileFix,
		);
	const blob = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
	const file = { path, blob, bytes: bytes.length, read };
	return path.endsWith("/golden.json")
		? { ...file, agreesWith: (earlier) => isEquivalentFile(earlier, manifest) }
		: file;
}

function isEquivalentFile(earlier: Uint8Array, manifest: GoldenManifest) {
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
