// Files of a proposal: what is read from an earlier one, and the message about files that are too large.
import { describe, expect, it } from "vitest";
import { writeFiles } from "../../../src/stages/propose.ts";
import { openPlace, proposalOn, proposedFile } from "../../support/proposals.ts";

const golden = "golden/net/golden.json";

describe("a file that GitHub does not take", () => {
	const refusing = (message: string) => async () =>
		({ state: "failed", fault: { code: "github-rejected", message, fix: "?" } }) as const;

	it.each(["GitHub answered 413 to POST", "Sorry, your input was too large to process."])(
		"a file that GitHub does not take is named where GitHub says %j",
		async (message) => {
			const { repository, main } = openPlace();
			const written = await writeFiles(proposalOn(main[2]), null, {
				...repository,
				storeFile: refusing(message),
			});
			expect(written).toMatchObject({
				state: "failed",
				fault: { message: `${golden} (6 bytes): ${message}`, fix: expect.stringMatching(/Git LFS/) },
			});
		},
	);
});

it("propose reads a golden of an earlier proposal only if the bytes differ, and keeps it if its content is the same", async () => {
	const { repository, main } = openPlace();
	let reads = 0;
	const counting: typeof repository = {
		...repository,
		readFile: (hash) => repository.readFile(hash).finally(() => (reads += 1)),
	};
	const write = (text: string, agrees: boolean) =>
		writeFiles(
			proposalOn(main[1], {
				files: [proposedFile(golden, text, (earlier) => agrees && earlier === "of old")],
				removed: [],
			}),
			main[0],
			counting,
		);
	const tree = (await repository.snapshotOf(main[1])) as object;
	expect(await write("of old", false)).toEqual(tree);
	expect(reads).toBe(0);
	expect(await write("of another", true)).toEqual(tree);
	expect(await write("of another", false)).not.toEqual(tree);
	expect(reads).toBe(2);
});
