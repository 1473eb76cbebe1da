// The one pull request of a branch: found, opened, rewritten, or left to the person whose words it holds.
import { expect, it } from "vitest";
import { propose } from "../../../src/stages/propose.ts";
import { openPlace, proposalOn, proposed } from "../../support/proposals.ts";

it("leaves a person's pull request and what they wrote as it is", async () => {
	const { repository, main } = openPlace();
	const first = await proposed(proposalOn(main[2]), repository);
	for (const pull of repository.pulls) Object.assign(pull, { title: "My title", body: `My words.\n${pull.body}` });
	const second = await proposed(proposalOn(main[2], { says: "newer" }), repository);
	expect(second).toMatchObject({ isNew: true, pullIs: "left as it is", pull: { number: first.pull.number } });
	expect(repository.pulls).toMatchObject([{ title: "My title", body: expect.stringMatching(/^My words\./) }]);
});

it("takes a pull request to another base for another", async () => {
	const { repository, main } = openPlace();
	repository.branches.set("release", main[2]);
	await proposed(proposalOn(main[2], { base: "release" }), repository);
	expect(await proposed(proposalOn(main[2]), repository)).toMatchObject({ isNew: false, pullIs: "opened" });
	expect(repository.pulls.map(({ base }) => base)).toEqual(["release", "main"]);
});

it.each(["openPulls", "createPull"] as const)("tells what kept it from %s, and asks once", async (name) => {
	const { repository, main } = openPlace();
	const fault = { code: "github-permission", message: "no", fix: "ask" } as const;
	let asked = 0;
	const call = async () => {
		asked += 1;
		return { state: "failed", fault } as const;
	};
	expect(await propose(proposalOn(main[2]), { ...repository, [name]: call })).toEqual({ state: "failed", fault });
	expect(asked).toBe(1);
});
