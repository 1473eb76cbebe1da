// Stores the files of a proposal on the code host, as the tree of their commit.
import type { ApiFault, ApiResult, Repository, StoredFile } from "../../ports/code-host.ts";
import type { Proposal, ProposedFile } from "./proposal.ts";

/** @param head commit of an earlier proposal, whose files need not be sent again. */
export async function writeFiles(
	proposal: Proposal,
	head: string | null,
	repository: Repository,
): Promise<ApiResult<{ snapshot: string }>> {
	const before = await filesOf(proposal.commit, proposal, repository);
	if (before.state === "failed") return before;
	const earlier =
		head === null ? ({ state: "done", files: [] } as const) : await filesOf(head, proposal, repository);
	if (earlier.state === "failed") return earlier;
	const known = new Set([...before.files, ...earlier.files].map(({ hash }) => hash));
	const entries: { path: string; hash: string | null }[] = [];
	for (const file of proposal.files) {
		const stored = await storeFile(file, {
			known,
			earlier: earlier.files.find(({ path }) => path === file.path),
			repository,
		});
		if (stored.state === "failed") return stored;
		entries.push({ path: file.path, hash: stored.blob });
	}
	// GitHub refuses to remove missing files.
	const there = new Set(before.files.map(({ path }) => path));
	for (const path of proposal.removed) if (there.has(path)) entries.push({ path, hash: null });
	const base = await repository.snapshotOf(proposal.commit);
	if (base.state === "failed") return base;
	return repository.writeSnapshot(base.snapshot, entries);
}

async function filesOf(
	commit: string,
	{ folders }: Proposal,
	repository: Repository,
): Promise<ApiResult<{ files: readonly StoredFile[] }>> {
	const files: StoredFile[] = [];
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
	earlier: StoredFile | undefined;
	repository: Repository;
}

async function storeFile(
	file: ProposedFile,
	{ known, earlier, repository }: Storing,
): Promise<ApiResult<{ blob: string }>> {
	if (known.has(file.blob)) return { state: "done", blob: file.blob };
	if (earlier !== undefined && file.agreesWith !== undefined) {
		const read = await repository.readFile(earlier.hash);
		if (read.state === "failed") return read;
		if (file.agreesWith(read.bytes)) return { state: "done", blob: earlier.hash };
	}
	const written = await repository.storeFile(await file.read());
	if (written.state === "failed") return { state: "failed", fault: tooLarge(written.fault, file) };
	known.add(written.hash);
	return { state: "done", blob: written.hash };
}

function tooLarge(fault: ApiFault, { path, bytes }: ProposedFile): ApiFault {
	if (!/too large|\b413\b/i.test(fault.message)) return fault;
	return { ...fault, message: `${path} (${bytes} bytes): ${fault.message}`, fix: largeFileFix };
}

export const largeFileFix =
	"Record fewer or smaller cases, or record with the command line and commit the golden by hand, its tensors with Git LFS (`git lfs track`).";
