// Proposes changed files as one pull request, on a branch that holds only trtgate's commits.
import { ConfigError, PlatformError } from "../../core/errors.ts";
import type { ApiResult, CommitRelation, HostedPull, Repository, StoredFile } from "../../ports/code-host.ts";

export interface ProposedFile {
	path: string;
	blob: string;
	bytes: number;
	read(): Promise<Uint8Array>;
	/** Whether an earlier proposal's file can stay. */
	agreesWith?(earlier: Uint8Array): boolean;
}

export interface Proposal {
	commit: string;
	base: string;
	branch: string;
	files: readonly ProposedFile[];
	removed: readonly string[];
	folders: readonly string[];
	title: string;
	body: string;
	marker: string;
	message: string;
	trailer: string;
	draft: boolean;
}

export interface Proposed {
	commit: string;
	isNew: boolean;
	pull: HostedPull;
	pullIs: "opened" | "updated" | "left as it is";
}

export async function propose(proposal: Proposal, repository: Repository): Promise<Proposed> {
	await checkTarget(proposal, repository);
	const pushed = await push(proposal, repository);
	return { ...pushed, ...(await findPull(proposal, repository)) };
}

export function done<Value extends object>(answer: ApiResult<Value>): Value {
	if (answer.state === "failed") throw new PlatformError(answer.fault);
	return answer;
}

export function proposalRefused(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "proposal-refused", message, fix });
}

async function push(proposal: Proposal, repository: Repository) {
	const { head, parents } = await findTarget(proposal, repository);
	const snapshot = await writeFiles(proposal, head, repository);
	// A merged branch has nothing left to propose.
	if (head !== null && parents.includes(head)) {
		const current = done(await repository.snapshotOf(head));
		if (current.snapshot === snapshot) return { commit: head, isNew: false };
	}
	const { sha } = done(await repository.writeCommit({ message: proposal.message, snapshot, parents }));
	// Neither call overwrites a branch that someone else has moved.
	const move = head === null ? repository.createBranch : repository.advanceBranch;
	done(await move(proposal.branch, sha));
	return { commit: sha, isNew: true };
}

async function findPull(
	{ branch: head, base, title, body, marker, draft }: Proposal,
	repository: Repository,
): Promise<Pick<Proposed, "pull" | "pullIs">> {
	const [pull] = done(await repository.openPulls({ head, base })).pulls;
	if (pull === undefined) {
		const opened = done(await repository.createPull({ title, body, head, base, draft }));
		return { pull: opened.pull, pullIs: "opened" };
	}
	// Text that a person edited is kept.
	if (!pull.body.startsWith(marker) || (pull.title === title && pull.body === body))
		return { pull, pullIs: "left as it is" };
	const updated = done(await repository.updatePull(pull.number, { title, body }));
	return { pull: updated.pull, pullIs: "updated" };
}

/** The pull request would include a commit that is not on the base. */
async function checkTarget({ commit, base, branch }: Proposal, repository: Repository) {
	if (branch === base)
		throw proposalRefused(`The branch to propose on is the base itself, ${base}.`, "Give another `branch`.");
	const compared = await repository.compare(base, commit);
	const short = commit.slice(0, 7);
	if (compared.state === "failed" && compared.fault.code === "github-not-found")
		throw proposalRefused(
			`GitHub does not know commit ${short}, or has no branch ${base}: ${compared.fault.message}`,
			"Check out a commit that is pushed, and give the branch that it is on as `base`.",
		);
	const { relation } = done(compared);
	if (relation !== "identical" && relation !== "behind")
		throw proposalRefused(
			`The workspace is at commit ${short}, which is not on ${base}: a pull request would bring its other changes along.`,
			"Run on the base branch, or give the branch that is checked out as `base`.",
		);
}

async function findTarget({ base, commit, branch, trailer }: Proposal, repository: Repository) {
	const { sha: head } = done(await repository.branchHead(branch));
	if (head === null) return { head, parents: [commit] };
	const added = done(await repository.compare(base, head));
	const foreign = firstForeignCommit(added, trailer);
	if (foreign !== null)
		throw proposalRefused(
			`Branch ${branch} has ${foreign}, which trtgate did not make; nothing was written over it.`,
			"Merge or close its pull request and delete the branch, or give another `branch`.",
		);
	const compared = done(await repository.compare(commit, head));
	// After a merge the commit contains the whole branch.
	if (compared.relation === "identical" || compared.relation === "behind") return { head, parents: [commit] };
	// Files of an older commit on top of a newer one would revert the changes in between.
	if (added.total === 0 || firstForeignCommit(compared, trailer) !== null)
		throw proposalRefused(
			`Branch ${branch} is made from a newer commit of ${base} than ${commit.slice(0, 7)}, which is checked out.`,
			`Start a new run on ${base} instead of running an old one again.`,
		);
	return { head, parents: compared.relation === "ahead" ? [head] : [head, commit] };
}

function firstForeignCommit({ commits, total }: CommitRelation, trailer: string) {
	const foreign = commits.find(({ message }) => message.trimEnd().split("\n").at(-1) !== trailer);
	if (foreign !== undefined) return `commit ${foreign.sha.slice(0, 7)}`;
	return total > commits.length ? `${total - commits.length} more commits` : null;
}

/** @param head commit of an earlier proposal, whose files need not be sent again. @returns the tree. */
export async function writeFiles(
	proposal: Proposal,
	head: string | null,
	repository: Repository,
): Promise<string> {
	const before = await filesOf(proposal.commit, proposal, repository);
	const earlier = head === null ? [] : await filesOf(head, proposal, repository);
	const known = new Set([...before, ...earlier].map(({ hash }) => hash));
	const entries: { path: string; hash: string | null }[] = [];
	for (const file of proposal.files) {
		const mine = earlier.find(({ path }) => path === file.path);
		entries.push({ path: file.path, hash: await storeFile(file, mine, known, repository) });
	}
	// GitHub refuses to remove missing files.
	const there = new Set(before.map(({ path }) => path));
	for (const path of proposal.removed) if (there.has(path)) entries.push({ path, hash: null });
	const base = done(await repository.snapshotOf(proposal.commit));
	return done(await repository.writeSnapshot(base.snapshot, entries)).snapshot;
}

async function filesOf(commit: string, { folders }: Proposal, repository: Repository) {
	const files: StoredFile[] = [];
	for (const folder of folders) files.push(...done(await repository.filesUnder(commit, folder)).files);
	return files;
}

async function storeFile(
	{ path, blob, bytes, read, agreesWith }: ProposedFile,
	earlier: StoredFile | undefined,
	known: Set<string>,
	repository: Repository,
) {
	if (known.has(blob)) return blob;
	if (earlier !== undefined && agreesWith !== undefined) {
		const stored = done(await repository.readFile(earlier.hash));
		if (agreesWith(stored.bytes)) return earlier.hash;
	}
	const written = await repository.storeFile(await read());
	if (written.state === "failed" && /too large|\b413\b/i.test(written.fault.message)) {
		const { fault } = written;
		const message = `${path} (${bytes} bytes): ${fault.message}`;
		throw new PlatformError({ ...fault, message, fix: largeFileFix });
	}
	const { hash } = done(written);
	known.add(hash);
	return hash;
}

export const largeFileFix =
	"Record fewer or smaller cases, or commit the golden by hand, its tensors with Git LFS (`git lfs track`).";
