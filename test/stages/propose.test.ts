// Proposing to a repository in memory: what is committed, and what others do meanwhile.
import { describe, expect, it } from "vitest";
import type { Repository } from "../../src/ports/code-host.ts";
import { propose } from "../../src/stages/propose.ts";
import {
	branch,
	goldenFiles,
	openPlace,
	type ProposalPlace,
	proposalOn,
	proposed,
} from "../support/proposals.ts";

/** A repository where another actor intervenes just before a call, once for each act. */
function interrupted<Name extends keyof Repository>(
	repository: Repository,
	name: Name,
	acts: (() => unknown)[],
): Repository {
	const call = repository[name] as (...given: unknown[]) => Promise<unknown>;
	const busy = async (...given: unknown[]): Promise<unknown> => {
		await acts.shift()?.();
		return call(...given);
	};
	return { ...repository, [name]: busy };
}

/** A repository whose call is carried out, but its answer lost. */
function forgetful<Name extends keyof Repository>(repository: Repository, name: Name): Repository {
	const call = repository[name] as (...given: unknown[]) => Promise<unknown>;
	const lost = {
		state: "failed",
		fault: { code: "github-unavailable", message: "gone", fix: "", unclear: true },
	};
	const once = [lost];
	return {
		...repository,
		[name]: async (...given: unknown[]) => call(...given).then((answer) => once.pop() ?? answer),
	};
}

it("a first proposal is one commit on the one that was checked out, with files put and taken, and a pull request", async () => {
	const { repository, main } = openPlace();
	const { commit, isNew, pull, pullIs } = await proposed(proposalOn(main[1], { draft: true }), repository);
	expect([isNew, pullIs]).toEqual([true, "opened"]);
	expect(repository.branches.get(branch)).toBe(commit);
	expect(repository.parents(commit)).toEqual([main[1]]);
	expect(repository.files(commit)).toEqual(goldenFiles("new", "main-1"));
	expect(repository.pulls).toMatchObject([
		{ number: pull.number, head: branch, base: "main", draft: true, title: "Record new" },
	]);
	expect(repository.branches.get("main")).toBe(main[2]);
});

it("a second proposal of the same changes nothing that anybody sees", async () => {
	const { repository, main } = openPlace();
	const first = await proposed(proposalOn(main[2]), repository);
	repository.writes.splice(0);
	const second = await proposed(proposalOn(main[2]), repository);
	expect(second).toMatchObject({ commit: first.commit, isNew: false, pullIs: "left as it is" });
	expect(repository.writes).toEqual(["tree"]);
});

describe("another run at the same time", () => {
	const rival =
		({ repository, main }: ProposalPlace, says: string) =>
		() =>
			proposed(proposalOn(main[2], { says }), repository);
	const headOf = ({ repository }: ProposalPlace): string => repository.branches.get(branch) ?? "";
	const beneath = ({ repository }: ProposalPlace, commit: string) =>
		repository.files(repository.parents(commit)[0] ?? "");

	it("another run at the same time that made the branch first is built on, and shares its pull request", async () => {
		const place = openPlace();
		const repository = interrupted(place.repository, "createBranch", [rival(place, "rival")]);
		const { commit, pullIs } = await proposed(proposalOn(place.main[2]), repository);
		expect([pullIs, place.repository.pulls.length]).toEqual(["updated", 1]);
		expect(beneath(place, commit)).toEqual(goldenFiles("rival", "main-2"));
	});

	it("another run at the same time is a person's: what they committed meanwhile stays", async () => {
		const place = openPlace();
		await rival(place, "first")();
		const person = () =>
			place.repository.branches.set(branch, place.repository.commit({ parents: [headOf(place)] }));
		const end = await propose(
			proposalOn(place.main[2]),
			interrupted(place.repository, "advanceBranch", [person]),
		);
		expect(end).toMatchObject({
			state: "refused",
			why: expect.stringMatching(/which trtgate did not make; nothing was written over it/),
		});
		expect(place.repository.files(headOf(place))).toEqual(goldenFiles("first", "main-2"));
	});
});

it.each(["createBranch", "createPull"] as const)(
	"an answer that is lost of %s is looked for, and nothing comes twice",
	async (name) => {
		const { repository, main } = openPlace();
		const { commit } = await proposed(proposalOn(main[2]), forgetful(repository, name));
		expect(repository.branches.get(branch)).toBe(commit);
		expect(repository.writes).toEqual(["blob", "blob", "tree", "commit", "branch", "pull"]);
	},
);

it("an answer that is lost of advanceBranch is looked for", async () => {
	const { repository, main } = openPlace();
	await proposed(proposalOn(main[2]), repository);
	const { commit, isNew } = await proposed(
		proposalOn(main[2], { says: "newer" }),
		forgetful(repository, "advanceBranch"),
	);
	expect([isNew, repository.branches.get(branch)]).toEqual([true, commit]);
});

it("propose leaves a person's pull request and what they wrote as it is", async () => {
	const { repository, main } = openPlace();
	const first = await proposed(proposalOn(main[2]), repository);
	for (const pull of repository.pulls)
		Object.assign(pull, { title: "My title", body: `My words.\n${pull.body}` });
	const second = await proposed(proposalOn(main[2], { says: "newer" }), repository);
	expect(second).toMatchObject({ isNew: true, pullIs: "left as it is", pull: { number: first.pull.number } });
	expect(repository.pulls).toMatchObject([{ title: "My title", body: expect.stringMatching(/^My words\./) }]);
});

it.each(["openPulls", "createPull"] as const)(
	"propose reports what kept it from %s, and asks once",
	async (name) => {
		const { repository, main } = openPlace();
		const fault = { code: "github-permission", message: "no", fix: "ask" } as const;
		let asked = 0;
		const call = async () => {
			asked += 1;
			return { state: "failed", fault } as const;
		};
		expect(await propose(proposalOn(main[2]), { ...repository, [name]: call })).toEqual({
			state: "failed",
			fault,
		});
		expect(asked).toBe(1);
	},
);
