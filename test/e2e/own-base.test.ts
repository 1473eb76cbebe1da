import { expect, it } from "vitest";
import { mergeGroup } from "../support/event-payloads.ts";
import { openPlay } from "../support/github-play.ts";
import { expectExit, untimed, untimedFiles } from "../support/project.ts";

/** The absolute error is within the limit: only the comparison with the target branch shows that it grew. */
const config = (more = ""): string =>
	untimed().replace("gates: {", `${more}gates: { golden: { relative-l2: 10 },`);
const files = (more = "") => ({ ...untimedFiles, "trtgate.yml": config(more) });
const wrong = { "model.onnx": "fixture:wrong.onnx" };
const ref = "refs/heads/feature/faster";

it.each([
	["its own head", 'baseline: { from: pinned, ref: "HEAD^2" }', "baseline.from: base-ref → pinned."],
	["a release that is not there", "baseline: { from: tag }", "baseline.from: base-ref → tag."],
])(
	"a pull request that names %s as its base is compared with the target branch, and fails",
	async (_, line, change) => {
		const play = await openPlay();
		const base = play.commit(files(), { ref: "refs/heads/main" });
		const head = play.commit({ ...files(`${line}\n`), ...wrong }, { onto: base, ref });
		const played = await play.pull({ base, head }, { depth: 0 });
		expectExit(played.run, 1);
		const { arms, golden, gates } = played.result();
		expect(arms.base).toMatchObject({ label: "main", commit: base });
		expect(golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
		expect(gates.filter(({ gate }) => gate === "limit-change")).toContainEqual(
			expect.objectContaining({ status: "warn", message: expect.stringContaining(change) }),
		);
		expect(play.github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
	},
);

it("a pull request is compared with the commit that the target branch's config pins", async () => {
	const play = await openPlay();
	const release = play.commit(files(), { ref: "refs/heads/main" });
	play.tag("v1", release);
	const base = play.commit(
		{ ...files("baseline: { from: pinned, ref: v1 }\n"), ...wrong },
		{ onto: release, ref: "refs/heads/main" },
	);
	const head = play.commit({ "trtgate.yml": config(), ...wrong }, { onto: base, ref });
	const played = await play.pull({ base, head }, { depth: 0 });
	expectExit(played.run, 1);
	expect(played.result().arms.base).toMatchObject({ label: "v1", commit: release });
});

it("a change in the merge queue that has nothing to be compared with is an error", async () => {
	const play = await openPlay();
	const ref = "refs/heads/gh-readonly-queue/main/pr-7";
	const base = play.commit(files(), { ref });
	const played = await play.run({ event: "merge_group", payload: mergeGroup(base, base), sha: base, ref });
	expectExit(played.run, 2);
	expect(played.result().errors).toMatchObject([
		{
			code: "git-ref",
			message: expect.stringContaining("A change under review has nothing to be compared with"),
		},
	]);
});
