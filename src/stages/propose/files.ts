// Stores the files of a proposal on the code host, as the tree of their commit.
import type { ApiFault, ApiResult, GitFile, Repository } from "../../ports/code-host.ts";
import type { Proposal, ProposedFile } from "./proposal.ts";

/** @param head commit of an earlier proposal, whose files need not be sent again. */
export async function writeFiles(
	proposal: Proposal,
	head: string | null,
	repository: Repository,
): Promise<ApiResult<{ tree: string }>> {
	const before = await filesOf(proposal.commit, proposal, repository);
	if (before.state === "failed") return before;
	const earlier =
		head === null ? ({ state: "done", files: [] } as const) : await filesOf(head, proposal, repository);
	if (earlier.state === "failed") return earlier;
	const known = new Set([...before.files, ...earlier.files].map(({ blob }) => blob));
	const entries: { path: string; blob: string | null }[] = [];
	for (const file of proposal.files) {
		const stored = await storeFile(file, {
			known,
			earlier: earlier.files.find(({ path }) => path === file.path),
			repository,
		});
		if (stored.state === "failed") return stored;
		entries.push({ path: file.path, blob: stored.blob });
	}
	// GitHub refuses to remove missing files.
	const there = new Set(before.files.map(({ path }) => path));
	for (const path of proposal.removed) if (there.has(path)) entries.push({ path, blob: null });
	const base = await repository.treeOf(proposal.commit);
	if (base.state === "failed") return base;
	const tree = await repository.writeTree(base.tree, entries);
	return tree.state === "failed" ? tree : { state: "done", tree: tree.sha };
}

async function filesOf(
	commit: string,
	{ folders }: Proposal,
	repository: Repository,
): Promise<ApiResult<{ files: readonly GitFile[] }>> {
	const files: GitFile[] = [];
	for (const folder of folders) {
		const listed = await repository.filesUnder(commit, folder);
		if (listed.state === "failed") return listed;
		files.push(...listed.files);
	}
	return { state: "done", files };
}

interface Storing {
	/** Blobs that the repository already has. */
	known: Set<string>;
	/** The file of this path on our branch. */
	earlier: GitFile | undefined;
	repository: Repository;
}

async function storeFile(
	file: ProposedFile,
	{ known, earlier, repository }: Storing,
): Promise<ApiResult<{ blob: string }>> {
	if (known.has(file.blob)) return { state: "done", blob: file.blob };
	if (earlier !== undefined && file.agreesWith !== undefined) {
		const read = await repository.readBlob(earlier.blob);
		if (read.state === "failed") return read;
		if (file.agreesWith(read.bytes)) return { state: "done", blob: earlier.blob };
	}
	const written = await repository.writeBlob(await file.read());
	if (written.state === "failed") return { state: "failed", fault: tooLarge(written.fault, file) };
	known.add(written.sha);
	return { state: "done", blob: written.sha };
}

function tooLarge(fault: ApiFault, { path, bytes }: ProposedFile): ApiFault {
	if (!/too large|\b413\b/i.test(fault.message)) return fault;
	return { ...fault, message: `${path} (${bytes} bytes): ${fault.message}`, fix: largeFileFix };
}

export const largeFileFix =
	"Record fewer or smaller cases, or record with the command line and commit the golden by hand, its tensors with Git LFS (`git lfs track`).";
