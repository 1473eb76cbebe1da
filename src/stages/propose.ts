// Proposes changed files as one pull request: a commit on a branch of trtgate's own, never over others' work.
import type { ApiFault, CommitRelation, HostedPull, Repository } from "../ports/code-host.ts";
import { writeFiles } from "./propose/files.ts";
import type { NotProposed, Proposal, ProposalEnd } from "./propose/proposal.ts";

/** Other runs may propose at the same time; after so many of them, this one gives up. */
const maxTries = 4;

export async function propose(proposal: Proposal, repository: Repository): Promise<ProposalEnd> {
	const refusal = await checkTarget(proposal, repository);
	if (refusal !== null) return refusal;
	for (let tries = 1; ; tries += 1) {
		const pushed = await push(proposal, repository);
		if (pushed.state === "lost" && tries < maxTries) continue;
		if (pushed.state === "lost") return { state: "failed", fault: pushed.fault };
		if (pushed.state !== "done") return pushed;
		const found = await findPull(proposal, repository);
		if (found.state === "failed") return found;
		const { commit, isNew } = pushed;
		return { state: "done", proposed: { commit, isNew, pull: found.pull, pullIs: found.is } };
	}
}

/** lost: the branch moved meanwhile, perhaps by another run. */
type Pushed =
	| { state: "done"; commit: string; isNew: boolean }
	| { state: "lost"; fault: ApiFault }
	| NotProposed;

async function push(proposal: Proposal, repository: Repository): Promise<Pushed> {
	const target = await findTarget(proposal, repository);
	if (target.state !== "done") return target;
	const { head, parents } = target;
	const written = await writeFiles(proposal, head, repository);
	if (written.state === "failed") return written;
	const { snapshot } = written;
	// A run before may have put just these files on just this commit. A merged branch has nothing left to propose.
	if (head !== null && parents.includes(head)) {
		const current = await repository.snapshotOf(head);
		if (current.state === "failed") return current;
		if (current.snapshot === snapshot) return { state: "done", commit: head, isNew: false };
	}
	const made = await repository.writeCommit({ message: proposal.message, snapshot, parents });
	return made.state === "failed"
		? made
		: moveBranch({ branch: proposal.branch, from: head, to: made.sha }, repository);
}

interface Move {
	branch: string;
	/** null: the branch does not exist. */
	from: string | null;
	to: string;
}

async function moveBranch({ branch, from, to }: Move, repository: Repository): Promise<Pushed> {
	const moved =
		from === null ? await repository.createBranch(branch, to) : await repository.advanceBranch(branch, to);
	if (moved.state === "done") return { state: "done", commit: to, isNew: true };
	// Where the branch is now shows why it failed: the update went through after all, or another process moved it.
	const now = await repository.branchHead(branch);
	if (now.state === "done" && now.sha === to) return { state: "done", commit: to, isNew: true };
	const isMoved = now.state === "done" && now.sha !== from;
	return isMoved ? { state: "lost", fault: moved.fault } : { state: "failed", fault: moved.fault };
}

type FoundPull =
	| { state: "done"; pull: HostedPull; is: "opened" | "updated" | "left as it is" }
	| { state: "failed"; fault: ApiFault };

async function findPull(proposal: Proposal, repository: Repository): Promise<FoundPull> {
	const { branch: head, base, title, body, draft } = proposal;
	const there = await existing(proposal, repository);
	if (there !== null) return there;
	const created = await repository.createPull({ title, body, head, base, draft });
	if (created.state === "done") return { state: "done", pull: created.pull, is: "opened" };
	// Another run may have created it first, or the response was lost.
	const { code, unclear } = created.fault;
	const later = code === "github-rejected" || unclear === true ? await existing(proposal, repository) : null;
	return later?.state === "done" ? later : { state: "failed", fault: created.fault };
}

/** null: there is none. */
async function existing(proposal: Proposal, repository: Repository): Promise<FoundPull | null> {
	const { branch: head, base, title, body, marker } = proposal;
	const listed = await repository.openPulls({ head, base });
	if (listed.state === "failed") return listed;
	const [pull] = listed.pulls;
	if (pull === undefined) return null;
	// Text that a person edited stays.
	if (!pull.body.startsWith(marker)) return { state: "done", pull, is: "left as it is" };
	if (pull.title === title && pull.body === body) return { state: "done", pull, is: "left as it is" };
	const updated = await repository.updatePull(pull.number, { title, body });
	return updated.state === "done" ? { state: "done", pull: updated.pull, is: "updated" } : updated;
}

/** `head` is where the branch is now; null where it is still to be made. */
type BranchTarget = { state: "done"; head: string | null; parents: readonly string[] } | NotProposed;

/** The checked out commit must be on the base, or the pull request would include it. */
async function checkTarget(
	{ commit, base, branch }: Proposal,
	repository: Repository,
): Promise<NotProposed | null> {
	if (branch === base)
		return refused(`The branch to propose on is the base itself, ${base}.`, "Give another `branch`.");
	const compared = await repository.compare(base, commit);
	const short = commit.slice(0, 7);
	if (compared.state === "failed" && compared.fault.code === "github-not-found") {
		const why = `GitHub does not know commit ${short}, or has no branch ${base}: ${compared.fault.message}`;
		return refused(why, "Check out a commit that is pushed, and give the branch that it is on as `base`.");
	}
	if (compared.state === "failed") return compared;
	if (compared.relation === "identical" || compared.relation === "behind") return null;
	return refused(
		`The workspace is at commit ${short}, which is not on ${base}: a pull request would bring its other changes along.`,
		"Run on the base branch, or give the branch that is checked out as `base`.",
	);
}

async function findTarget(
	{ base, commit, branch, trailer }: Proposal,
	repository: Repository,
): Promise<BranchTarget> {
	const at = await repository.branchHead(branch);
	if (at.state === "failed") return at;
	const head = at.sha;
	if (head === null) return { state: "done", head, parents: [commit] };
	const added = await repository.compare(base, head);
	if (added.state === "failed") return added;
	const foreignCommit = firstForeignCommit(added, trailer);
	if (foreignCommit !== null) {
		return refused(
			`Branch ${branch} has ${foreignCommit}, which trtgate did not make; nothing was written over it.`,
			"Merge or close its pull request and delete the branch, or give another `branch`.",
		);
	}
	const compared = await repository.compare(commit, head);
	if (compared.state === "failed") return compared;
	// The commit has all of the branch in it, as after a merge.
	if (compared.relation === "identical" || compared.relation === "behind")
		return { state: "done", head, parents: [commit] };
	// Files of an older commit on top of a newer one would revert the changes in between.
	if (added.total === 0 || firstForeignCommit(compared, trailer) !== null) {
		return refused(
			`Branch ${branch} is made from a newer commit of ${base} than ${commit.slice(0, 7)}, which is checked out.`,
			`Start a new run on ${base} instead of running an old one again.`,
		);
	}
	return { state: "done", head, parents: compared.relation === "ahead" ? [head] : [head, commit] };
}

/** Describes the first foreign commit; null where there is none and the code host listed all commits. */
function firstForeignCommit({ commits, total }: CommitRelation, trailer: string): string | null {
	const foreignCommit = commits.find(({ message }) => message.trimEnd().split("\n").at(-1) !== trailer);
	if (foreignCommit !== undefined) return `commit ${foreignCommit.sha.slice(0, 7)}`;
	return total > commits.length ? `${total - commits.length} more commits` : null;
}

function refused(why: string, fix: string): NotProposed {
	return { state: "refused", why, fix };
}
