import { expect, it } from "vitest";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import { workflowDispatch } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { armFiles, type Comparison, openPlay } from "../support/github-play.ts";
import { expectExit } from "../support/project.ts";

const main = "refs/heads/main";
const proposed = "refs/heads/trtgate/goldens";

async function calibrate(comparison: Comparison, limits: object) {
	const play = await openPlay();
	const files = armFiles(comparison, "head");
	const golden = { ...JSON.parse(String(files["golden/golden.json"])), ...limits };
	const sha = play.commit({ ...files, "golden/golden.json": JSON.stringify(golden) }, { ref: main });
	const { run } = await play.run({
		...{ event: "workflow_dispatch", payload: workflowDispatch(main), sha, ref: main, action: "golden" },
		inputs: { reason: "New GPU.", calibrate: "true" },
		replay: { comparison },
	});
	return { run, github: play.github, origin: play.origin };
}

it("the golden action proposes the limits that follow from the engines as a pull request with the evidence", async () => {
	const { run, github, origin } = await calibrate("same-model", {
		outputs: { hidden: { comparators: [{ kind: "relative-l2", tolerance: { fp16: 2e-3 } }] } },
	});
	expectExit(run, 0);
	expect(run.outputs).toMatchObject({ changed: "true", branch: "trtgate/goldens", "failure-kind": "" });
	const manifest = parseManifest(git(origin, "show", `${proposed}:golden/golden.json`), "golden.json");
	expect(manifest).toMatchObject({ goldenId: "encoder@2", reason: "New GPU.", author: "octocat" });
	expect(manifest.outputs["hidden"]?.comparators?.[0]?.tolerance).toEqual({ fp16: 5e-3 });
	expect(git(origin, "diff", "--name-status", main, proposed)).toBe("M\tgolden/golden.json");
	const [pull] = github.state.issues;
	expect(pull?.title).toBe("Calibrate the golden of net");
	expect(pull?.body).toContain("net/fp16 at fp16, TensorRT 10.6.0 on NVIDIA H200:");
	expect(pull?.body).toMatch(/\| hidden \| relative-l2 \| case-1 \| 1\.2e-3 \| 2e-3 \| 5e-3 \| too tight: /);
	expect(pull?.body).toContain("| looser |");
	expect(github.state.violations).toEqual([]);
});

it("the golden action proposes nothing from an engine that is wrong, and says why", async () => {
	const { run, github } = await calibrate("wrong-head", {});
	expectExit(run, 0);
	expect(run.outputs).toMatchObject({ changed: "false", "pull-request": "" });
	expect(run.stdout).toContain("says that the engine is wrong");
	expect(run.summary).toContain("sets no limit");
	expect(github.state.pulls).toEqual([]);
});
