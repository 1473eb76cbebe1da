import { expect, it } from "vitest";
import { mergeGroup } from "../support/event-payloads.ts";
import { openPlay } from "../support/github-play.ts";
import { expectExit, untimed, untimedFiles } from "../support/project.ts";

/** The absolute error is within the limit: only the comparison with the target branch shows that it grew. */
const config = (more = ""): string =>
	untimed().replace("gates: {", `${more}gates: { golden: { relative-l2: 10 },`);
const files = (more = "") => ({ ...untimedFiles, "trtgate.yml": config(more) });
const wrong = { "model.onnx": "fixture:wrong.onnx" };

it("a pull request that names its own head as its base is compared with the target branch, and fails", async () => {
	const play = await openPlay();
	const base = play.commit(files(), { ref: "refs/heads/main" });
	const own = files('baseline: { from: pinned, ref: "HEAD^2" }\n');
	const head = play.commit({ ...own, ...wrong }, { onto: base, ref: "refs/heads/feature/faster" });
	const played = await play.pull({ base, head }, { depth: 0 });
	expectExit(played.run, 1);
	const { arms, golden, gates } = played.result();
	expect(arms.base).toMatchObject({ label: "main", commit: base });
	expect(golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
	const change = expect.stringContaining("baseline.from: base-ref → pinned.");
	expect(gates.filter(({ gate }) => gate === "limit-change")).toContainEqual(
		expect.objectContaining({ status: "warn", message: change }),
	);
	expect(play.github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
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
