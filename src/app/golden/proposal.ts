// Which files of the repository change by what was recorded.
import { createHash } from "node:crypto";
import { dirname, join, posix } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { isEquivalentGolden } from "../../core/golden/manifest/draft.ts";
import { parseManifest } from "../../core/golden/manifest/parse-manifest.ts";
import { inputKinds } from "../../core/input-kind.ts";
import type { GoldenManifest } from "../../core/schema/golden.ts";
import { largeFileFix } from "../../stages/propose/files.ts";
import type { Proposal, ProposedFile } from "../../stages/propose/proposal.ts";
import { type Checkout, checkFilters, folderInCheckout, proposalRefused } from "./checkout.ts";
import type { RecordedModel } from "./record-models.ts";
import { tensorPaths } from "./write.ts";

export type ChangedFiles = Pick<Proposal, "files" | "removed" | "folders">;

/** GitHub takes no larger blob. */
const maxBlobBytes = 100 * 1000 * 1000;
/** A workflow's token allows 1,000 requests an hour, and each new file takes one. */
const maxFiles = 600;

type Recorded = Pick<RecordedModel, "path" | "manifest" | "old">;

/** @throws ConfigError proposal-refused. */
export async function changedFiles(recorded: readonly Recorded[], home: string, checkout: Checkout): Promise<ChangedFiles> {
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
		`${count} files were recorded, and each takes a request: GitHub allows a workflow 1,000 requests an hour.`,
		`Record fewer cases, or some models at a time (at most ${maxFiles} files), or record with the command line and commit the golden by hand.`,
	);
}

async function proposedFile(path: string, top: string, manifest: GoldenManifest): Promise<ProposedFile> {
	const absolute = join(top, path);
	const files = fileStore();
	const bytes = await files.readBytes(absolute, inputKinds.tensor);
	if (bytes.length > maxBlobBytes)
		throw proposalRefused(`${path} has ${bytes.length} bytes, and GitHub takes at most ${maxBlobBytes} in one file.`, largeFileFix);
	const blob = createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
	const file = { path, blob, bytes: bytes.length, read: () => files.readBytes(absolute, inputKinds.tensor) };
	return path.endsWith("/golden.json") ? { ...file, agreesWith: (earlier) => isEquivalentFile(earlier, manifest) } : file;
}

/** Recording the same golden again differs only in the time. */
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
