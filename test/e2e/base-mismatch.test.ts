// A golden that the base fails too, and an error that grows: what the change is blamed for, and what it is not.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runActionFolder } from "../support/action-runner.ts";
import { pullRequest } from "../support/event-payloads.ts";
import { type Job, startLocalGitHub } from "../support/local-github/start.ts";
import {
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	untimed,
} from "../support/project.ts";
import { makeRepository, workspaceOf } from "../support/pull-repository.ts";

/** Nothing is timed: these tests are about goldens. */
const config = untimed(quickConfig);
const wrong = { "trtgate.yml": config, "model.onnx": "fixture:wrong.onnx", golden: "fixture:golden" };

const withGolden = (gates: string): string => config.replace("gates: {", `gates: { golden: { ${gates} },`);

/** Runs the gate on two folders, without git. */
async function compare(base: Readonly<Record<string, string>>, head: Readonly<Record<string, string>>) {
	const cwd = temporaryFolder();
	quickProject(join(cwd, "base"), base);
	quickProject(join(cwd, "head"), head);
	const run = await runCli(["run", "--base", "base", "--head", "head", "--out", "out"], { cwd });
	return {
		run,
		result: readResult(join(cwd, "out")),
		report: (name: string) => readFileSync(join(cwd, "out", name), "utf8"),
	};
}

it("the gate does not block a pull request for a golden that its base fails too, and reports it everywhere", async () => {
	const repo = makeRepository({ base: wrong, head: { ...wrong, "notes.txt": "new" } });
	const workspace = workspaceOf(repo);
	const github = await startLocalGitHub({ gitDir: repo.origin });
	onTestFinished(() => github.close());
	const temp = join(repo.root, "temp");
	mkdirSync(temp);
	const payload = pullRequest({ head: repo.head, base: repo.base, merge: repo.merge });
	const job: Job = {
		event: "pull_request",
		payload,
		sha: repo.merge,
		ref: "refs/pull/7/merge",
		workspace,
		temp,
	};
	const env = await github.environment(job);
	const run = await runActionFolder(".", {
		env: { ...env, INPUT_TOKEN: "token", TRTGATE_LOCKS: temp },
		cwd: workspace,
	});
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
	const { outcome, golden, gates } = readResult(join(workspace, "trtgate-out"));
	expect(outcome).toBe("warn");
	expect(golden.map(({ state }) => state)).toEqual(["existing", "existing"]);
	expect(gates.filter(({ gate }) => gate === "golden")).toMatchObject(
		Array(2).fill({ status: "warn", message: expect.stringContaining("this change did not cause it") }),
	);
	const topic = "1 pre-existing golden mismatch";
	expect(github.state.comments[0]?.body).toContain(topic);
	expect(github.state.comments[0]?.body).toContain("as the base does; this change did not cause it");
	expect(github.state.checkRuns).toMatchObject([
		{ conclusion: "success", title: expect.stringContaining(topic) },
	]);
	expect(github.state.checkRuns[0]?.annotations).toMatchObject([
		{ annotation_level: "warning", message: expect.stringContaining("did not cause it") },
	]);
	expect(run.summary).toContain("golden: { existing: fail }");
});

it("the gate fails for it if the config requires it", async () => {
	const fails = { ...wrong, "trtgate.yml": withGolden("existing: fail") };
	const { run, result, report } = await compare(fails, fails);
	expect(run.exit, run.stdout + run.stderr).toBe(1);
	expect(result.golden.map(({ state }) => state)).toEqual(["existing", "existing"]);
	expect(run.stdout.replace(/\s+/g, " ")).toContain("1 pre-existing golden mismatch");
	for (const name of ["report.md", "report.html", "junit.xml"])
		expect(report(name), name).toContain("this change did not cause it");
});

it("the gate fails a change on a check that its base passes", async () => {
	const { run, result } = await compare({ "trtgate.yml": config }, wrong);
	expect(run.exit).toBe(1);
	expect(result.golden.map(({ state }) => state)).toEqual(["mismatch", "mismatch"]);
	expect(run.stdout).not.toContain("did not cause");
});

it.each([
	["", 1, "fail"],
	["error-growth: { fail: off }, ", 0, "warn"],
	["error-growth: { warn: off, fail: off }, ", 0, undefined],
])(
	"the gate judges an error far above the base's within a wide limit, with %j: exit %i",
	async (limits, exit, severity) => {
		const config = { "trtgate.yml": withGolden(`${limits}relative-l2: 10`) };
		const { run, result, report } = await compare(config, { ...config, "model.onnx": "fixture:wrong.onnx" });
		expect(run.exit, run.stdout + run.stderr).toBe(exit);
		const growth = result.golden.map(({ checks }) => checks.find(({ metric }) => metric === "error-growth"));
		expect(growth.map((check) => check?.severity)).toEqual([severity, severity]);
		if (severity === undefined) return;
		expect(report("report.md")).toMatch(
			/the fp32 error grew [\d,]+×: its relative L2 went from noise \(\S+\) in the base to 0\.\d+/,
		);
		expect(growth[0]?.detail).toContain(
			exit === 1 ? "growth above 2× warns, above 10× fails" : "growth above 2× warns",
		);
	},
);

it("the gate refuses limits on growth in the wrong order, and below the base's own error", async () => {
	const cwd = temporaryFolder();
	const refused = async (limits: string) => {
		quickProject(cwd, { "trtgate.yml": withGolden(`error-growth: { ${limits} }`) });
		return runCli(["run", "--dry-run"], { cwd });
	};
	expect(await refused("warn: 20")).toMatchObject({
		exit: 2,
		stderr: expect.stringMatching(/is 20×, above the limit that fails, 10×/),
	});
	expect(await refused("warn: 0.5")).toMatchObject({
		exit: 2,
		stderr: expect.stringContaining("error-growth"),
	});
});
