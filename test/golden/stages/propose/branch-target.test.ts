// A proposal goes on top of our newest commit, and never where it would undo other people's commits.
import { expect, it } from "vitest";
import { type Proposal, propose } from "../../../../src/golden/stages/propose.ts";
import {
	branch,
	goldenFiles,
	openPlace,
	type ProposalPlace,
	proposalOn,
	trailer,
} from "../../../support/proposals.ts";

type Given = Parameters<ProposalPlace["repository"]["commit"]>[0];

/** Another person commits to a branch. */
function commitTo({ repository }: ProposalPlace, name: string, given: Given): string {
	const made = repository.commit(given);
	repository.branches.set(name, made);
	return made;
}

/** Proposes from main's second commit; then another actor intervenes. */
async function proposedBefore(
	act: (place: ProposalPlace, ours: string) => unknown,
): Promise<ProposalPlace & { ours: string }> {
	const place = openPlace();
	const { commit: ours } = await propose(proposalOn(place.main[1]), place.repository);
	act(place, ours);
	return { ...place, ours };
}

/** The pull request is merged into main, whose third commit was never there; by what GitHub's button says. */
function merge(place: ProposalPlace, ours: string, how: "squash" | "merge"): void {
	const parents = how === "squash" ? [place.main[1]] : [place.main[1], ours];
	commitTo(place, "main", { parents, treeOf: ours });
	place.repository.pulls.splice(0);
}

const headOf = ({ repository }: ProposalPlace, name = branch): string => repository.branches.get(name) ?? "";

it("a branch of ours whose base moved on merges the base", async () => {
	const place = await proposedBefore(() => {});
	const { commit } = await propose(proposalOn(place.main[2], { says: "newer" }), place.repository);
	expect(place.repository.parents(commit)).toEqual([place.ours, place.main[2]]);
	expect(place.repository.files(commit)).toEqual(goldenFiles("newer", "main-2"));
});

it("a branch of ours that was merged starts from the base", async () => {
	const place = await proposedBefore((at, ours) => merge(at, ours, "merge"));
	const main = headOf(place, "main");
	const { commit } = await propose(proposalOn(main, { says: "newer" }), place.repository);
	expect(place.repository.parents(commit)).toEqual([main]);
});

it("a branch of ours that is made from a newer commit of the base is not changed", async () => {
	const place = openPlace();
	const { commit } = await propose(proposalOn(place.main[2]), place.repository);
	await expect(propose(proposalOn(place.main[1], { says: "older" }), place.repository)).rejects.toThrow(
		/^Branch trtgate\/goldens is made from a newer commit of main than [0-9a-f]{7}, which is checked out\.$/,
	);
	expect(headOf(place)).toBe(commit);
});

const refuses = (proposal: Proposal, { repository }: ProposalPlace, why: RegExp, fix: RegExp) =>
	expect(propose(proposal, repository)).rejects.toMatchObject({
		code: "proposal-refused",
		message: expect.stringMatching(why),
		fix: expect.stringMatching(fix),
	});

it.each<[string, (ours: string, main: ProposalPlace["main"]) => Given]>([
	["a person's commit on the branch", (ours) => ({ parents: [ours] })],
	["a person's merge of main into it", (ours, main) => ({ parents: [ours, main[2]], message: "Merge main" })],
	["a commit that only speaks of ours", (ours) => ({ parents: [ours], message: `${trailer}\n\nnot ours` })],
	["a commit of ours for another branch", (ours) => ({ parents: [ours], message: `${trailer}-2` })],
	["a branch that is another's", (_, main) => ({ parents: [main[0]], message: "theirs" })],
])("a proposal is refused, with nothing written, for %s", async (_, given) => {
	const place = await proposedBefore((at, ours) => commitTo(at, branch, given(ours, at.main)));
	const head = headOf(place);
	place.repository.writes.splice(0);
	await refuses(
		proposalOn(place.main[2], { says: "newer" }),
		place,
		/^Branch trtgate\/goldens has commit [0-9a-f]{7}, which trtgate did not make/,
		/delete the branch, or give another `branch`/,
	);
	expect([headOf(place), place.repository.writes]).toEqual([head, []]);
});

it("a proposal is refused, with nothing written, for a commit that the base does not have", async () => {
	const place = openPlace();
	const feature = commitTo(place, "feature", { parents: [place.main[2]] });
	await refuses(
		proposalOn(feature),
		place,
		/is at commit [0-9a-f]{7}, which is not on main/,
		/^Run on the base branch, or give the branch that is checked out as `base`/,
	);
	expect(await propose(proposalOn(feature, { base: "feature" }), place.repository)).toMatchObject({
		pullIs: "opened",
	});
});

it.each([
	[
		"a commit that GitHub does not know",
		{ commit: "1".repeat(40) },
		/GitHub does not know commit 1111111, or has no branch main/,
	],
	["a base that is not there", { base: "nowhere" }, /has no branch nowhere/],
	["the base itself as the branch", { branch: "main" }, /is the base itself, main/],
])("a proposal is refused, with nothing written, for %s", async (_, more, why) => {
	const place = openPlace();
	await refuses(proposalOn(place.main[2], more), place, why, /\w/);
	expect(place.repository.writes).toEqual([]);
});
