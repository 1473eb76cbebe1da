// The action in golden/ with `calibrate: true`, on recorded engines of TensorRT against the local GitHub.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { parseManifest } from "../../src/golden/core/manifest/parse-manifest.ts";
import { runActionFolder } from "../support/action-runner.ts";
import { workflowDispatch } from "../support/event-payloads.ts";
import { checkOut, git } from "../support/git-history.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "../support/local-github/start.ts";
import { temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay, type Replay } from "../support/replay/install.ts";

const main = "refs/heads/main";
const proposed = "refs/heads/trtgate/goldens";

async function calibrate(comparison: Replay["comparison"], limits: string) {
	const root = temporaryFolder();
	const [work, origin, workspace, temp] = [
		join(root, "work"),
		join(root, "origin.git"),
		join(root, "workspace"),
		join(root, "temp"),
	];
	for (const folder of [work, temp]) mkdirSync(folder);
	git(work, "init", "-q");
	git(root, "init", "-q", "--bare", origin);
	const github: LocalGitHub = await startLocalGitHub({ gitDir: origin });
	onTestFinished(() => github.close());
	const files = comparisonFiles(comparison, "head");
	const golden = { ...JSON.parse(String(files["golden/golden.json"])), ...JSON.parse(limits) };
	writeProject(work, { ...files, "golden/golden.json": JSON.stringify(golden) });
	git(work, "add", "-A");
	git(work, "commit", "-q", "-m", "first");
	git(work, "push", "-q", origin, `HEAD:${main}`);
	const sha = git(work, "rev-parse", "HEAD");
	checkOut({ origin, folder: workspace, ref: main, commit: sha, depth: 1 });
	const job: Job = {
		event: "workflow_dispatch",
		payload: workflowDispatch(main),
		sha,
		ref: main,
		workspace,
		temp,
	};
	const env = {
		...(await github.environment(job)),
		PATH: installReplay(root, { comparison }),
		TRTGATE_LOCKS: temp,
	};
	const run = await runActionFolder("golden", {
		inputs: { reason: "New GPU.", calibrate: "true" },
		env,
		cwd: workspace,
	});
	return { run, github, origin };
}

it("the golden action proposes the limits that follow from the engines as a pull request with the evidence", async () => {
	const tight = JSON.stringify({
		outputs: { hidden: { comparators: [{ kind: "relative-l2", tolerance: { fp16: 2e-3 } }] } },
	});
	const { run, github, origin } = await calibrate("same-model", tight);
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
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
	const { run, github } = await calibrate("wrong-head", "{}");
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
	expect(run.outputs).toMatchObject({ changed: "false", "pull-request": "" });
	expect(run.stdout).toContain("says that the engine is wrong");
	expect(run.summary).toContain("sets no limit");
	expect(github.state.pulls).toEqual([]);
});
