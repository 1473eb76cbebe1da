// Proposes changed files as one pull request: a commit on a branch that is ours alone, never over another's work.
import type { Forged, ForgeFault, ForgePull, GitFile, Repository } from "../ports/forge.ts";
import type { Proposal, ProposedFile } from "./proposal.ts";
import { findPull } from "./propose-pull.ts";

export interface Proposed {
	commit: string;
	/** The branch held the same already. */
	isNew: boolean;
	pull: ForgePull;
	pullIs: "opened" | "updated" | "left as it is";
}

/** refused: not a fault of the forge; a sentence, and what to do. */
export type ProposalEnd =
	| { state: "done"; proposed: Proposed }
	| { state: "refused"; why: string; fix: string }
	| { state: "failed"; fault: ForgeFault };

/** Other runs may propose at the same time; after so many of them, this one gives up. */
const mostTries = 4;

export async function propose(proposal: Proposal, repository: Repository): Promise<ProposalEnd> {
	const misplaced = await checkPlace(proposal, repository);
	if (misplaced !== null) return misplaced;
	for (let tries = 1; ; tries += 1) {
		const pushed = await push(proposal, repository);
		if (pushed.state === "lost" && tries < mostTries) continue;
		if (pushed.state === "lost") return { state: "failed", fault: pushed.fault };
		if (pushed.state !== "done") return pushed;
		const found = await findPull(proposal, repository);
		if (found.state === "failed") return found;
		const { commit, isNew } = pushed;
		return { state: "done", proposed: { commit, isNew, pull: found.pull, pullIs: found.is } };
	}
}

/** What was made from a commit that the base does not have would bring that commit along. */
async function checkPlace({ commit, base, branch }: Proposal, repository: Repository): Promise<ProposalEnd | null> {
	if (branch === base) {
		return { state: "refused", why: `The branch to propose on is the base itself, ${base}.`, fix: "Give another `branch`." };
	}
	const compared = await repository.compare(base, commit);
	const short = commit.slice(0, 7);
	if (compared.state === "failed" && compared.fault.code === "github-not-found") {
		const why = `GitHub does not know commit ${short}, or has no branch ${base}: ${compared.fault.message}`;
		return { state: "refused", why, fix: "Check out a commit that is pushed, and give the branch that it is on as `base`." };
	}
	if (compared.state === "failed") return compared;
	if (compared.relation === "identical" || compared.relation === "behind") return null;
	return {
		state: "refused",
		why: `The workspace is at commit ${short}, which is not on ${base}: a pull request would bring its other changes along.`,
		fix: "Run on the base branch, or give the branch that is checked out as `base`.",
	};
}

/** lost: somebody moved the branch meanwhile, which may be another run of ours. */
type Pushed =
	| { state: "done"; commit: string; isNew: boolean }
	| { state: "lost"; fault: ForgeFault }
	| Exclude<ProposalEnd, { state: "done" }>;

async function push(proposal: Proposal, repository: Repository): Promise<Pushed> {
	const head = await repository.branchHead(proposal.branch);
	if (head.state === "failed") return head;
	const parents = await parentsOf(proposal, head.sha, repository);
	if (parents.state !== "done") return parents;
	const written = await writeFiles(proposal, head.sha, repository);
	if (written.state === "failed") return written;
	if (head.sha !== null && (await holdsTree(head.sha, written.tree, { proposal, repository })))
		return { state: "done", commit: head.sha, isNew: false };
	const made = await repository.writeCommit({ message: proposal.message, tree: written.tree, parents: parents.parents });
	if (made.state === "failed") return made;
	return moveBranch({ proposal, from: head.sha, to: made.sha }, repository);
}

type Parents = { state: "done"; parents: string[] } | Exclude<ProposalEnd, { state: "done" }>;

/** The branch goes on from where it is; commits of others on it are theirs. */
async function parentsOf(proposal: Proposal, head: string | null, repository: Repository): Promise<Parents> {
	const { base, commit, branch, trailer } = proposal;
	if (head === null) return { state: "done", parents: [commit] };
	const added = await repository.compare(base, head);
	if (added.state === "failed") return added;
	const stranger = added.commits.find(({ message }) => message.trimEnd().split("\n").at(-1) !== trailer);
	if (stranger !== undefined || added.total > added.commits.length) {
		const whose = stranger === undefined ? `${added.total} commits` : `commit ${stranger.sha.slice(0, 7)}, which trtgate did not make`;
		return {
			state: "refused",
			why: `Branch ${branch} has ${whose}; nothing was written over it.`,
			fix: "Merge or close its pull request and delete the branch, or give another `branch`.",
		};
	}
	const compared = await repository.compare(commit, head);
	if (compared.state === "failed") return compared;
	if (compared.relation === "ahead") return { state: "done", parents: [head] };
	// A branch that the commit has in it needs no second parent.
	return { state: "done", parents: compared.relation === "diverged" ? [head, commit] : [commit] };
}

async function writeFiles(proposal: Proposal, head: string | null, repository: Repository): Promise<Forged<{ tree: string }>> {
	const [before, proposed] = [
		await filesOf(proposal.commit, proposal, repository),
		head === null ? ({ state: "done", files: [] } as const) : await filesOf(head, proposal, repository),
	];
	if (before.state === "failed") return before;
	if (proposed.state === "failed") return proposed;
	const known = new Set([...before.files, ...proposed.files].map(({ blob }) => blob));
	const entries: { path: string; blob: string | null }[] = [];
	for (const file of proposal.files) {
		const stored = await storeFile(file, { known, earlier: proposed.files.find(({ path }) => path === file.path), repository });
		if (stored.state === "failed") return stored;
		entries.push({ path: file.path, blob: stored.blob });
	}
	const there = new Set(before.files.map(({ path }) => path));
	for (const path of proposal.removed) if (there.has(path)) entries.push({ path, blob: null });
	const base = await repository.treeOf(proposal.commit);
	if (base.state === "failed") return base;
	const tree = await repository.writeTree(base.tree, entries);
	return tree.state === "failed" ? tree : { state: "done", tree: tree.sha };
}

async function filesOf(commit: string, { folders }: Proposal, repository: Repository): Promise<Forged<{ files: readonly GitFile[] }>> {
	const files: GitFile[] = [];
	for (const folder of folders) {
		const listed = await repository.filesUnder(commit, folder);
		if (listed.state === "failed") return listed;
		files.push(...listed.files);
	}
	return { state: "done", files };
}

interface Storing {
	/** What the repository has already. */
	known: Set<string>;
	/** The file of this path on our branch. */
	earlier: GitFile | undefined;
	repository: Repository;
}

async function storeFile(file: ProposedFile, { known, earlier, repository }: Storing): Promise<Forged<{ blob: string }>> {
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

function tooLarge(fault: ForgeFault, { path, bytes }: ProposedFile): ForgeFault {
	if (!/too large|\b413\b/i.test(fault.message)) return fault;
	return { ...fault, message: `${path} (${bytes} bytes): ${fault.message}`, fix: largeFileFix };
}

export const largeFileFix =
	"Record fewer or smaller cases, or record with the command line and commit the golden by hand, its tensors with Git LFS (`git lfs track`).";

/** The branch may hold just these files on just this commit, from a run before. */
async function holdsTree(head: string, tree: string, at: { proposal: Proposal; repository: Repository }): Promise<boolean> {
	const held = await at.repository.treeOf(head);
	return held.state === "done" && held.tree === tree;
}

interface Move {
	proposal: Proposal;
	from: string | null;
	to: string;
}

async function moveBranch({ proposal, from, to }: Move, repository: Repository): Promise<Pushed> {
	const { branch } = proposal;
	const moved = from === null ? await repository.createBranch(branch, to) : await repository.advanceBranch(branch, to);
	if (moved.state === "done") return { state: "done", commit: to, isNew: true };
	// Why it failed is told by where the branch is now: there after all, or moved by somebody else.
	const now = await repository.branchHead(branch);
	if (now.state === "done" && now.sha === to) return { state: "done", commit: to, isNew: true };
	const isMoved = now.state === "done" && now.sha !== from;
	return isMoved ? { state: "lost", fault: moved.fault } : { state: "failed", fault: moved.fault };
}
