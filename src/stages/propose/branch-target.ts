// Finds the target of a proposal: on top of the base and trtgate's own branch, never on top of foreign commits.
import type { CommitRelation, Repository } from "../../ports/code-host.ts";
import type { NotProposed, Proposal } from "./proposal.ts";

/** `head` is where the branch is now; null where it is still to be made. */
type BranchTarget = { state: "done"; head: string | null; parents: readonly string[] } | NotProposed;

/** The checked out commit must be on the base, or the pull request would include it. */
export async function checkTarget({ commit, base, branch }: Proposal, repository: Repository): Promise<NotProposed | null> {
	if (branch === base) return refused(`The branch to propose on is the base itself, ${base}.`, "Give another `branch`.");
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

export async function findTarget({ base, commit, branch, trailer }: Proposal, repository: Repository): Promise<BranchTarget> {
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
	if (compared.relation === "identical" || compared.relation === "behind") return { state: "done", head, parents: [commit] };
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
