import { expect, it } from "vitest";
import { mergeGroup, pullRequest } from "../support/event-payloads.ts";
import { openPlay, type Play, type Played } from "../support/github-play.ts";
import { expectExit, quickConfig, untimed } from "../support/project.ts";

/** The absolute error is within the limit: only the comparison with the target branch shows that it grew. */
const config = (more = ""): string =>
	untimed(quickConfig).replace("gates: {", `${more}gates: { golden: { relative-l2: 10 },`);
const files = (more = "") => ({
	"trtgate.yml": config(more),
	"model.onnx": "fixture:model.onnx",
	golden: "fixture:golden",
});

interface Opened {
	play: Play;
	base: string;
	head: string;
	merge: string;
}

async function openPull(base: string, head: string): Promise<Opened> {
	const play = await openPlay();
	const target = play.commit(files(base), { ref: "refs/heads/main" });
	const change = play.commit(
		{ ...files(head), "model.onnx": "fixture:wrong.onnx" },
		{ onto: target, ref: "refs/heads/feature" },
	);
	return { play, base: target, head: change, merge: play.merge({ number: 7, base: target, head: change }) };
}

function runPull({ play, base, head, merge }: Opened): Promise<Played> {
	const payload = pullRequest({ head, base, merge }, { headRef: "feature" });
	const job = { event: "pull_request", payload, sha: merge, ref: "refs/pull/7/merge" } as const;
	return play.run({ ...job, replay: { comparison: "same-model" }, depth: 0 });
}

it.each([
	["its own head", 'baseline: { from: pinned, ref: "HEAD^2" }', "baseline.from: base-ref → pinned."],
	["a release that is not there", "baseline: { from: tag }", "baseline.from: base-ref → tag."],
])(
	"a pull request that names %s as its base is compared with the target branch, and fails",
	async (_, line, change) => {
		const pull = await openPull("", `${line}\n`);
		const played = await runPull(pull);
		expectExit(played.run, 1);
		const { arms, golden, gates } = played.result();
		expect(arms.base).toMatchObject({ label: "main", commit: pull.base });
		expect(golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
		expect(gates.filter(({ gate }) => gate === "limit-change")).toContainEqual(
			expect.objectContaining({ status: "warn", message: expect.stringContaining(change) }),
		);
		expect(pull.play.github.state.checkRuns).toMatchObject([{ conclusion: "failure" }]);
	},
);

it("a pull request is compared with the commit that the target branch's config pins", async () => {
	const play = await openPlay();
	const release = play.commit(files(), { ref: "refs/heads/main" });
	play.tag("v1", release);
	const wrong = { "model.onnx": "fixture:wrong.onnx" };
	const base = play.commit(
		{ ...files("baseline: { from: pinned, ref: v1 }\n"), ...wrong },
		{ onto: release, ref: "refs/heads/main" },
	);
	const head = play.commit({ "trtgate.yml": config(), ...wrong }, { onto: base, ref: "refs/heads/feature" });
	const played = await runPull({ play, base, head, merge: play.merge({ number: 7, base, head }) });
	expectExit(played.run, 1);
	expect(played.result().arms.base).toMatchObject({ label: "v1", commit: release });
});

it("a change in the merge queue that has nothing to be compared with is an error", async () => {
	const play = await openPlay();
	const ref = "refs/heads/gh-readonly-queue/main/pr-7";
	const base = play.commit(files(), { ref });
	const payload = mergeGroup(base, base);
	const played = await play.run({
		event: "merge_group",
		payload,
		sha: base,
		ref,
		replay: { comparison: "same-model" },
	});
	expectExit(played.run, 2);
	expect(played.result().errors).toMatchObject([
		{
			code: "git-ref",
			message: expect.stringContaining("A change under review has nothing to be compared with"),
		},
	]);
});
