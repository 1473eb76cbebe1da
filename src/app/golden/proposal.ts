// Makes a proposal of what was recorded: which files of the repository change, and what git thinks of them.
import { createHash } from "node:crypto";
import { realpath } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { firstLine, type Git, gitIn, succeeded } from "../../adapters/git/run-git.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import { ConfigError } from "../../core/errors.ts";
import { parseManifest } from "../../core/golden/manifest.ts";
import { saysTheSame } from "../../core/golden/manifest-draft.ts";
import type { GoldenManifest } from "../../core/schema/golden.ts";
import type { ProposedFile } from "../../stages/proposal.ts";
import { largeFileFix } from "../../stages/propose.ts";
import { type RecordedModel, tensorPaths } from "./record-models.ts";

/** A checkout of the repository. */
export interface Checkout {
	/** At its top. */
	git: Git;
	/** Absolute, links resolved. */
	top: string;
	commit: string;
}

/** @throws ConfigError proposal-refused. */
export async function openCheckout(folder: string, processes: Processes): Promise<Checkout> {
	const git = gitIn(folder, processes);
	const top = await git(["rev-parse", "--show-toplevel"]);
	const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
	if (succeeded(top) && succeeded(head)) {
		const path = await realpath(firstLine(top));
		return { git: gitIn(path, processes), top: path, commit: firstLine(head) };
	}
	const said = top.tail.at(-1) ?? "git knows no commit here";
	throw refused(
		`${folder} is no checkout of the repository: ${said.slice(0, 200)}`,
		"Run actions/checkout before this action. Where git speaks of dubious ownership, as in a container, run `git config --global --add safe.directory '*'` before.",
	);
}

export interface ChangedFiles {
	files: ProposedFile[];
	removed: string[];
	folders: string[];
}

/** GitHub takes no larger blob. */
const mostBlobBytes = 100 * 1000 * 1000;
/** A workflow's token may ask 1,000 times an hour, and each new file is one question. */
const mostFiles = 600;

/** @throws ConfigError proposal-refused. */
export async function changedFiles(recorded: readonly RecordedModel[], home: string, checkout: Checkout): Promise<ChangedFiles> {
	const changed: ChangedFiles = { files: [], removed: [], folders: [] };
	for (const one of recorded) {
		const folder = await folderIn(checkout, home, dirname(one.path));
		changed.folders.push(folder);
		const names = ["golden.json", ...tensorPaths(one.manifest)];
		for (const name of names) changed.files.push(await proposedFile(`${folder}/${name}`, checkout, one));
		const kept = new Set(names);
		changed.removed.push(
			...(one.old === null ? [] : tensorPaths(one.old)).filter((name) => !kept.has(name)).map((name) => `${folder}/${name}`),
		);
	}
	if (changed.files.length > mostFiles) {
		throw refused(
			`${changed.files.length} files were recorded, and each is a request of its own: GitHub allows a workflow 1,000 in an hour.`,
			`Record fewer cases, or some models at a time (at most ${mostFiles} files), or record with the command line and commit the golden by hand.`,
		);
	}
	await checkFilters(changed.files, checkout.git);
	return changed;
}

/** A folder of the config as git knows it. */
async function folderIn({ top }: Checkout, home: string, folder: string): Promise<string> {
	const [wanted, real] = [join(await realpath(home), folder), await realpath(join(home, folder))];
	const inside = relative(top, real).split(sep).join("/");
	if (wanted === real && !inside.startsWith("..") && inside !== "") return inside;
	throw refused(
		`${folder} is a link, or not inside the checkout ${top}, so git cannot hold it there.`,
		"Keep goldens in folders of the repository itself.",
	);
}

async function proposedFile(path: string, { top }: Checkout, { manifest }: RecordedModel): Promise<ProposedFile> {
	const absolute = join(top, path);
	const files = fileStore();
	const bytes = await files.readBytes(absolute);
	if (bytes.length > mostBlobBytes)
		throw refused(`${path} has ${bytes.length} bytes, and GitHub takes at most ${mostBlobBytes} in one file.`, largeFileFix);
	const blob = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
	const file = { path, blob, bytes: bytes.length, read: () => files.readBytes(absolute) };
	return path.endsWith("/golden.json") ? { ...file, agreesWith: (earlier) => isSaidBefore(earlier, manifest) } : file;
}

/** Recording the same again differs in the time alone. */
function isSaidBefore(earlier: Uint8Array, manifest: GoldenManifest): boolean {
	try {
		const before = parseManifest(new TextDecoder().decode(earlier), "golden.json");
		return (
			saysTheSame(before, manifest) &&
			before.goldenId === manifest.goldenId &&
			before.reason === manifest.reason &&
			before.author === manifest.author &&
			tensorPaths(before).join("\n") === tensorPaths(manifest).join("\n")
		);
	} catch {
		return false;
	}
}

/** What a filter makes of a file is not known to GitHub's interface: the file itself would be committed. */
async function checkFilters(files: readonly ProposedFile[], git: Git): Promise<void> {
	const stdin = files.map(({ path }) => `${path}\0`).join("");
	const asked = await git(["check-attr", "-z", "--stdin", "filter"], { stdin, captureBytes: 16 * 1024 * 1024 });
	if (!succeeded(asked))
		throw refused(`git does not tell the attributes of the files: ${asked.tail.at(-1) ?? ""}`, "Check .gitattributes.");
	const fields = asked.stdout.split("\0");
	for (let at = 0; at + 2 < fields.length; at += 3) {
		const [path = "", , filter = ""] = fields.slice(at, at + 3);
		if (filter === "unspecified" || filter === "unset") continue;
		const what = filter === "lfs" ? "Git LFS" : `git's filter ${JSON.stringify(filter)}`;
		throw refused(
			`${path} belongs to ${what} by .gitattributes, which a commit through GitHub's interface cannot feed.`,
			`Record with the command line and push the golden by hand, or take goldens out of the filter: \`${path.split("/").slice(0, -1).join("/")}/** !filter\` in .gitattributes.`,
		);
	}
}

function refused(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "proposal-refused", message, details: { fix } });
}
