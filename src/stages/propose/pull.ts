// Finds the one pull request of a branch of ours, or opens it.
import type { ApiFault, HostedPull, Repository } from "../../ports/code-host.ts";
import type { Proposal } from "./proposal.ts";

export type FoundPull =
	| { state: "done"; pull: HostedPull; is: "opened" | "updated" | "left as it is" }
	| { state: "failed"; fault: ApiFault };

export async function findPull(proposal: Proposal, repository: Repository): Promise<FoundPull> {
	const { branch: head, base, title, body, draft } = proposal;
	const there = await existing(proposal, repository);
	if (there !== null) return there;
	const created = await repository.createPull({ title, body, head, base, draft });
	if (created.state === "done") return { state: "done", pull: created.pull, is: "opened" };
	// Another run may have been quicker, or the answer was lost.
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
	// A person's own words stay.
	if (!pull.body.startsWith(marker)) return { state: "done", pull, is: "left as it is" };
	if (pull.title === title && pull.body === body) return { state: "done", pull, is: "left as it is" };
	const updated = await repository.updatePull(pull.number, { title, body });
	return updated.state === "done" ? { state: "done", pull: updated.pull, is: "updated" } : updated;
}
