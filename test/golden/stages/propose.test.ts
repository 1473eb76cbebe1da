import { expect, it } from "vitest";
import { PlatformError } from "../../../src/core/errors.ts";
import { done, type Proposal, propose, writeFiles } from "../../../src/golden/stages/propose.ts";
import type { Repository } from "../../../src/ports/code-host.ts";
import {
	branch,
	goldenFiles,
	openPlace,
	type ProposalPlace,
	proposalOn,
	proposedFile,
	trailer,
} from "../../support/proposals.ts";

type Given = Parameters<ProposalPlace["repository"]["commit"]>[0];

const proposeOn = (
	{ main, repository }: ProposalPlace,
	at: 0 | 1 | 2,
	more?: Parameters<typeof proposalOn>[1],
) => propose(proposalOn(main[at], more), repository);

function commitTo({ repository }: ProposalPlace, name: string, given: Given) {
	const made = repository.commit(given);
	repository.branches.set(name, made);
	return made;
}

async function proposedBefore(act: (place: ProposalPlace, ours: string) => unknown) {
	const place = openPlace();
	const { commit: ours } = await proposeOn(place, 1);
	act(place, ours);
	return { ...place, ours };
}

const headOf = ({ repository }: ProposalPlace, name = branch) => repository.branches.get(name) ?? "";

type Calls = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

function interrupted(repository: Repository, name: keyof Repository, act: () => unknown): Repository {
	const call = (repository as unknown as Calls)[name];
	const busy = async (...given: unknown[]): Promise<unknown> => {
		await act();
		return call?.(...given);
	};
	return { ...repository, [name]: busy };
}

it("a first proposal is one commit on the checked out one, which adds and removes files, and a pull request", async () => {
	const { repository, main } = openPlace();
	const { commit, isNew, pull, pullIs } = await propose(proposalOn(main[1], { draft: true }), repository);
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
	const place = openPlace();
	const { repository } = place;
	const first = await proposeOn(place, 2);
	repository.writes.splice(0);
	const second = await proposeOn(place, 2);
	expect(second).toMatchObject({ commit: first.commit, isNew: false, pullIs: "left as it is" });
	expect(repository.writes).toEqual(["tree"]);
});

it("meanwhile another run makes the branch: it stays, and the next run builds on it", async () => {
	const place = openPlace();
	const rival = () => proposeOn(place, 2, { says: "rival" });
	const busy = interrupted(place.repository, "createBranch", rival);
	await expect(propose(proposalOn(place.main[2]), busy)).rejects.toThrow(PlatformError);
	expect(place.repository.files(headOf(place))).toEqual(goldenFiles("rival", "main-2"));
	const { commit, pullIs } = await proposeOn(place, 2);
	expect([pullIs, place.repository.pulls.length]).toEqual(["updated", 1]);
	const [parent = ""] = place.repository.parents(commit);
	expect(place.repository.files(parent)).toEqual(goldenFiles("rival", "main-2"));
});

it("meanwhile a person commits to the branch: their commit stays", async () => {
	const place = openPlace();
	await proposeOn(place, 2, { says: "first" });
	const person = () => commitTo(place, branch, { parents: [headOf(place)] });
	const busy = interrupted(place.repository, "advanceBranch", person);
	await expect(propose(proposalOn(place.main[2]), busy)).rejects.toThrow(PlatformError);
	expect(place.repository.files(headOf(place))).toEqual(goldenFiles("first", "main-2"));
	await expect(proposeOn(place, 2)).rejects.toThrow(
		/which trtgate did not make; nothing was written over it/,
	);
});

it("propose does not change a person's pull request or text", async () => {
	const place = openPlace();
	const { pulls } = place.repository;
	const first = await proposeOn(place, 2);
	for (const pull of pulls) Object.assign(pull, { title: "My title", body: `My words.\n${pull.body}` });
	const second = await proposeOn(place, 2, { says: "newer" });
	expect(second).toMatchObject({ isNew: true, pullIs: "left as it is", pull: { number: first.pull.number } });
	expect(pulls).toMatchObject([{ title: "My title", body: expect.stringMatching(/^My words\./) }]);
});

it.each(["openPulls", "createPull"])("propose reports what kept it from %s, and asks once", async (name) => {
	const { repository, main } = openPlace();
	const fault = { code: "github-permission", message: "no", fix: "ask" } as const;
	let asked = 0;
	const call = async () => {
		asked += 1;
		return { state: "failed", fault } as const;
	};
	await expect(propose(proposalOn(main[2]), { ...repository, [name]: call })).rejects.toMatchObject(fault);
	expect(asked).toBe(1);
});

const golden = "golden/net/golden.json";

it.each(["GitHub answered 413 to POST", "Sorry, your input was too large to process."])(
	"a file that GitHub does not take is named if GitHub says %j",
	async (message) => {
		const { repository, main } = openPlace();
		const storeFile = async () =>
			({ state: "failed", fault: { code: "github-rejected", message, fix: "?" } }) as const;
		await expect(writeFiles(proposalOn(main[2]), null, { ...repository, storeFile })).rejects.toMatchObject({
			message: `${golden} (6 bytes): ${message}`,
			fix: expect.stringMatching(/Git LFS/),
		});
	},
);

it("propose reads a golden of an earlier proposal only if the bytes differ, and keeps it if its content is the same", async () => {
	const { repository, main } = openPlace();
	let reads = 0;
	const counting: typeof repository = {
		...repository,
		readFile: (hash) => repository.readFile(hash).finally(() => (reads += 1)),
	};
	const write = (text: string, agrees: boolean) => {
		const files = [proposedFile(golden, text, (earlier) => agrees && earlier === "of old")];
		return writeFiles(proposalOn(main[1], { files, removed: [] }), main[0], counting);
	};
	const { snapshot: tree } = done(await repository.snapshotOf(main[1]));
	expect(await write("of old", false)).toEqual(tree);
	expect(reads).toBe(0);
	expect(await write("of another", true)).toEqual(tree);
	expect(await write("of another", false)).not.toEqual(tree);
	expect(reads).toBe(2);
});

it("a branch of ours whose base moved on merges the base", async () => {
	const place = await proposedBefore(() => {});
	const { commit } = await proposeOn(place, 2, { says: "newer" });
	expect(place.repository.parents(commit)).toEqual([place.ours, place.main[2]]);
	expect(place.repository.files(commit)).toEqual(goldenFiles("newer", "main-2"));
});

it("a branch of ours that was merged starts from the base", async () => {
	const place = await proposedBefore((at, ours) => {
		commitTo(at, "main", { parents: [at.main[1], ours], treeOf: ours });
		at.repository.pulls.splice(0);
	});
	const main = headOf(place, "main");
	const { commit } = await propose(proposalOn(main, { says: "newer" }), place.repository);
	expect(place.repository.parents(commit)).toEqual([main]);
});

it("a branch of ours that is made from a newer commit of the base is not changed", async () => {
	const place = openPlace();
	const { commit } = await proposeOn(place, 2);
	await expect(proposeOn(place, 1, { says: "older" })).rejects.toThrow(
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
	const { pullIs } = await propose(proposalOn(feature, { base: "feature" }), place.repository);
	expect(pullIs).toBe("opened");
});

it.each([
	["an unknown commit", { commit: "1".repeat(40) }, /does not know commit 1111111, or has no/],
	["a base that is not there", { base: "nowhere" }, /has no branch nowhere/],
	["the base itself as the branch", { branch: "main" }, /is the base itself, main/],
])("a proposal is refused, with nothing written, for %s", async (_, more, why) => {
	const place = openPlace();
	await refuses(proposalOn(place.main[2], more), place, why, /\w/);
	expect(place.repository.writes).toEqual([]);
});
