// Proposes changed files as one pull request: a commit on trtgate's own branch, never over others' work.
import type {
	ApiFault,
	ApiResult,
	CommitRelation,
	HostedPull,
	Repository,
	StoredFile,
} from "../../ports/code-host.ts";

export interface ProposedFile {
	/** Relative to the root of the repository. */
	path: string;
	/** Git's hash of the content. */
	blob: string;
	bytes: number;
	read(): Promise<Uint8Array>;
	/** Whether an earlier proposal's file is equivalent, so that it can stay. */
	agreesWith?(earlier: Uint8Array): boolean;
}

export interface Proposal {
	/** The commit that the files were made from; they are put on top of it. */
	commit: string;
	/** The branch to propose to. */
	base: string;
	/** trtgate's own branch. */
	branch: string;
	files: readonly ProposedFile[];
	/** Paths to remove, if the commit has them. */
	removed: readonly string[];
	/** Folders that hold all of these paths. */
	folders: readonly string[];
	title: string;
	/** Starts with `marker`. */
	body: string;
	/** First line of the body of a pull request of trtgate's, which may be rewritten. */
	marker: string;
	message: string;
	/** Last line of the message of each commit of trtgate's. */
	trailer: string;
	draft: boolean;
}

export interface Proposed {
	commit: string;
	/** false: the branch already had the same content. */
	isNew: boolean;
	pull: HostedPull;
	pullIs: "opened" | "updated" | "left as it is";
}

type Failed = { state: "failed"; fault: ApiFault };
/** refused: the code host is not at fault. */
type NotProposed = { state: "refused"; why: string; fix: string } | Failed;

export async function propose(
	proposal: Proposal,
	repository: Repository,
): Promise<{ state: "done"; proposed: Proposed } | NotProposed> {
	const refusal = await checkTarget(proposal, repository);
	if (refusal !== null) return refusal;
	const pushed = await push(proposal, repository);
	if (pushed.state !== "done") return pushed;
	const found = await findPull(proposal, repository);
	if (found.state === "failed") return found;
	const { commit, isNew } = pushed;
	return { state: "done", proposed: { commit, isNew, pull: found.pull, pullIs: found.is } };
}

async function push(
	proposal: Proposal,
	repository: Repository,
): Promise<{ state: "done"; commit: string; isNew: boolean } | NotProposed> {
	const target = await findTarget(proposal, repository);
	if (target.state !== "done") return target;
	const { head, parents } = target;
	const written = await writeFiles(proposal, head, repository);
	if (written.state === "failed") return written;
	const { snapshot } = written;
	// An earlier run may have put the same files on the same commit. A merged branch has nothing left to propose.
	if (head !== null && parents.includes(head)) {
		const current = await repository.snapshotOf(head);
		if (current.state === "failed") return current;
		if (current.snapshot === snapshot) return { state: "done", commit: head, isNew: false };
	}
	const made = await repository.writeCommit({ message: proposal.message, snapshot, parents });
	if (made.state === "failed") return made;
	const { branch } = proposal;
	// Neither call moves a branch that another run or a person moved meanwhile.
	const moved =
		head === null
			? await repository.createBranch(branch, made.sha)
			: await repository.advanceBranch(branch, made.sha);
	return moved.state === "failed" ? moved : { state: "done", commit: made.sha, isNew: true };
}

type FoundPull = { state: "done"; pull: HostedPull; is: Proposed["pullIs"] } | Failed;

async function findPull(proposal: Proposal, repository: Repository): Promise<FoundPull> {
	const there = await existing(proposal, repository);
	if (there !== null) return there;
	const { branch: head, base, title, body, draft } = proposal;
	const created = await repository.createPull({ title, body, head, base, draft });
	return created.state === "failed" ? created : { state: "done", pull: created.pull, is: "opened" };
}

async function existing(
	{ branch: head, base, title, body, marker }: Proposal,
	repository: Repository,
): Promise<FoundPull | null> {
	const listed = await repository.openPulls({ head, base });
	if (listed.state === "failed") return listed;
	const [pull] = listed.pulls;
	if (pull === undefined) return null;
	// Text that a person edited is kept.
	if (!pull.body.startsWith(marker) || (pull.title === title && pull.body === body))
		return { state: "done", pull, is: "left as it is" };
	const updated = await repository.updatePull(pull.number, { title, body });
	return updated.state === "done" ? { state: "done", pull: updated.pull, is: "updated" } : updated;
}

/** The checked out commit must be on the base, or the pull request would include it. */
async function checkTarget(
	{ commit, base, branch }: Proposal,
	repository: Repository,
): Promise<NotProposed | null> {
	if (branch === base)
		return refused(`The branch to propose on is the base itself, ${base}.`, "Give another `branch`.");
	const compared = await repository.compare(base, commit);
	const short = commit.slice(0, 7);
	if (compared.state === "failed")
		return compared.fault.code !== "github-not-found"
			? compared
			: refused(
					`GitHub does not know commit ${short}, or has no branch ${base}: ${compared.fault.message}`,
					"Check out a commit that is pushed, and give the branch that it is on as `base`.",
				);
	if (compared.relation === "identical" || compared.relation === "behind") return null;
	return refused(
		`The workspace is at commit ${short}, which is not on ${base}: a pull request would bring its other changes along.`,
		"Run on the base branch, or give the branch that is checked out as `base`.",
	);
}

/** @returns `head`: where the branch is now; null if it does not exist yet. */
async function findTarget(
	{ base, commit, branch, trailer }: Proposal,
	repository: Repository,
): Promise<{ state: "done"; head: string | null; parents: readonly string[] } | NotProposed> {
	const at = await repository.branchHead(branch);
	if (at.state === "failed") return at;
	const head = at.sha;
	if (head === null) return { state: "done", head, parents: [commit] };
	const added = await repository.compare(base, head);
	if (added.state === "failed") return added;
	const foreign = firstForeignCommit(added, trailer);
	if (foreign !== null)
		return refused(
			`Branch ${branch} has ${foreign}, which trtgate did not make; nothing was written over it.`,
			"Merge or close its pull request and delete the branch, or give another `branch`.",
		);
	const compared = await repository.compare(commit, head);
	if (compared.state === "failed") return compared;
	// After a merge the commit contains the whole branch.
	if (compared.relation === "identical" || compared.relation === "behind")
		return { state: "done", head, parents: [commit] };
	// Files of an older commit on top of a newer one would revert the changes in between.
	if (added.total === 0 || firstForeignCommit(compared, trailer) !== null)
		return refused(
			`Branch ${branch} is made from a newer commit of ${base} than ${commit.slice(0, 7)}, which is checked out.`,
			`Start a new run on ${base} instead of running an old one again.`,
		);
	return { state: "done", head, parents: compared.relation === "ahead" ? [head] : [head, commit] };
}

/** Describes the commit; null if there is none and the code host listed all commits. */
function firstForeignCommit({ commits, total }: CommitRelation, trailer: string): string | null {
	const foreign = commits.find(({ message }) => message.trimEnd().split("\n").at(-1) !== trailer);
	if (foreign !== undefined) return `commit ${foreign.sha.slice(0, 7)}`;
	return total > commits.length ? `${total - commits.length} more commits` : null;
}

function refused(why: string, fix: string): NotProposed {
	return { state: "refused", why, fix };
}

/** Stores the files as the tree of their commit. @param head commit of an earlier proposal, whose files need not be sent again. */
export async function writeFiles(
	proposal: Proposal,
	head: string | null,
	repository: Repository,
): Promise<ApiResult<{ snapshot: string }>> {
	const before = await filesOf(proposal.commit, proposal, repository);
	if (before.state === "failed") return before;
	const earlier = head === null ? null : await filesOf(head, proposal, repository);
	if (earlier?.state === "failed") return earlier;
	const known = new Set([...before.files, ...(earlier?.files ?? [])].map(({ hash }) => hash));
	const entries: { path: string; hash: string | null }[] = [];
	for (const file of proposal.files) {
		const mine = earlier?.files.find(({ path }) => path === file.path);
		const stored = await storeFile(file, mine, known, repository);
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

async function filesOf(commit: string, { folders }: Proposal, repository: Repository) {
	const files: StoredFile[] = [];
	for (const folder of folders) {
		const listed = await repository.filesUnder(commit, folder);
		if (listed.state === "failed") return listed;
		files.push(...listed.files);
	}
	return { state: "done" as const, files };
}

async function storeFile(
	{ path, blob, bytes, read, agreesWith }: ProposedFile,
	earlier: StoredFile | undefined,
	known: Set<string>,
	repository: Repository,
): Promise<ApiResult<{ blob: string }>> {
	if (known.has(blob)) return { state: "done", blob };
	if (earlier !== undefined && agreesWith !== undefined) {
		const stored = await repository.readFile(earlier.hash);
		if (stored.state === "failed") return stored;
		if (agreesWith(stored.bytes)) return { state: "done", blob: earlier.hash };
	}
	const written = await repository.storeFile(await read());
	if (written.state === "failed") {
		const { fault } = written;
		if (!/too large|\b413\b/i.test(fault.message)) return written;
		const message = `${path} (${bytes} bytes): ${fault.message}`;
		return { state: "failed", fault: { ...fault, message, fix: largeFileFix } };
	}
	known.add(written.hash);
	return { state: "done", blob: written.hash };
}

export const largeFileFix =
	"Record fewer or smaller cases, or record with the command line and commit the golden by hand, its tensors with Git LFS (`git lfs track`).";
