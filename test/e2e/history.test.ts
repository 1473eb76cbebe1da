// The history as a user meets it: a run keeps its record, earlier results are imported, past months are compacted.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fileOf } from "../../src/core/history/files.ts";
import type { HistoryRecord } from "../../src/core/schema/history.ts";
import { runActionFolder } from "../support/action-runner.ts";
import { buildResult, buildWorkload } from "../support/build-result.ts";
import { drawRepository, git, line } from "../support/git-history.ts";
import { buildRatio, hash, nightAt, short } from "../support/history-records.ts";
import { startLocalGitHub } from "../support/local-github/start.ts";
import { quickConfig, quickProject, readResult, runCli, temporaryFolder, writeProject } from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

const files = (folder: string): string[] =>
	readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".json"))
		.sort();

it("the history of a project gets a record of a run, takes its result no second time, and survives compaction", async () => {
	const folder = quickProject(temporaryFolder(), { "trtgate.yml": `${quickConfig}history: { folder: kept, when: always }\n` });
	const run = await runCli(["run", "--base", ".", "--out", "out"], { cwd: folder });
	expect(run).toMatchObject({ exit: 0 });
	const [record] = files(join(folder, "kept"));
	expect(record).toMatch(/^runs\/\d{4}\/\d{2}\//);
	expect(readResult(join(folder, "out")).notes).toContainEqual(expect.stringContaining("Kept 1 record in the history"));
	const imported = await runCli(["history", "import", "out", `out/history/${record}`, "--folder", "other"], { cwd: folder });
	expect(imported).toMatchObject({ exit: 0, stdout: expect.stringContaining("Imported 2 records") });
	expect(await runCli(["history", "compact", "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
		stdout: expect.stringContaining("nothing to compact"),
	});
});

it("the history of a project measures again what stands out against earlier nights, and fails with size, start, cause and commits", async () => {
	const { "trtgate.yml": config, ...project } = comparisonFiles("same-model", "head", ", identical-engines: measure");
	const timed = String(config).replace("pairs: [5, 8]", "pairs: [5]");
	const folder = writeProject(temporaryFolder(), { ...project, "trtgate.yml": `${timed}history: { folder: kept, when: always }\n` });
	const runOnce = () =>
		runCli(["run", "--base", ".", "--out", "out"], { cwd: folder, env: { PATH: installReplay(folder, { comparison: "same-model" }) } });
	expect(await runOnce()).toMatchObject({ exit: 0 });
	const [path = ""] = files(join(folder, "kept"));
	const record = JSON.parse(readFileSync(join(folder, "kept", path), "utf8")) as HistoryRecord;
	rmSync(join(folder, "kept", path));
	// A month of nights in which the engine, then of another model, took a fifth of its time.
	for (let night = 0; night < 30; night += 1) {
		const rows = record.rows.map((row) => ({
			...row,
			ratio: buildRatio(-1_600_000 + (night % 3) * 500),
			head: { ...row.head, model: short("earlier") },
		}));
		const file = fileOf({ ...record, at: nightAt(night), source: short(`${night}`), commit: hash(`${night}`).slice(0, 40), rows }, hash);
		writeProject(join(folder, "kept"), { [file.path]: file.text });
	}
	const run = await runOnce();
	const result = readResult(join(folder, "out"));
	expect(result.workloads[0]?.fresh?.pairs).toBe(5);
	expect(run.exit).toBe(1);
	expect(result.gates.find(({ gate }) => gate === "trend")).toMatchObject({
		status: "fail",
		model: "net",
		message: expect.stringMatching(/^\+\d+ % ± .* slower since .*Cause: the change \(measured against the pin in one job/),
	});
});

it("the history of a project makes a run red whose record cannot be written, and leaves the record to import", async () => {
	const folder = quickProject(temporaryFolder(), { "trtgate.yml": `${quickConfig}history: { folder: trtgate.yml, when: always }\n` });
	const run = await runCli(["run", "--base", ".", "--out", "out"], { cwd: folder });
	expect(run).toMatchObject({ exit: 2, stdout: expect.stringContaining("output-unwritable") });
	expect(files(join(folder, "out", "history"))).toHaveLength(1);
});

it("the history of a project imports into a branch of the remote", async () => {
	const folder = temporaryFolder();
	const remote = join(folder, "remote.git");
	git(folder, "init", "--quiet", "--bare", remote);
	git(folder, "init", "--quiet", "clone");
	const clone = join(folder, "clone");
	git(clone, "remote", "add", "origin", remote);
	mkdirSync(join(clone, "old"));
	writeFileSync(
		join(clone, "old", "result.json"),
		JSON.stringify(buildResult({ startedAt: "2025-03-04T05:06:07.890Z", workloads: [buildWorkload()] })),
	);
	const argv = ["--branch", "trtgate-history"];
	expect(await runCli(["history", "import", "old", ...argv], { cwd: clone })).toMatchObject({ exit: 0 });
	expect(git(remote, "ls-tree", "-r", "--name-only", "trtgate-history")).toMatch(/^runs\/2025\/03\/20250304T050607Z-imported-/);
	expect(await runCli(["history", "compact", ...argv], { cwd: clone })).toMatchObject({ exit: 0 });
	expect(git(remote, "ls-tree", "-r", "--name-only", "trtgate-history")).toBe("months/2025-03.json");
});

it("the history of a workflow without a clone is kept through the API", async () => {
	const origin = join(temporaryFolder(), "origin.git");
	drawRepository(origin, { commits: line("main", 1), refs: { "refs/heads/main": "main-0" } });
	const github = await startLocalGitHub({ gitDir: origin });
	onTestFinished(github.close);
	const workspace = temporaryFolder();
	quickProject(join(workspace, "base"));
	quickProject(workspace, { "trtgate.yml": `${quickConfig}history: { branch: trtgate-history }\n` });
	const sha = git(origin, "rev-parse", "main");
	const env = await github.environment({
		...{ event: "workflow_dispatch", payload: {}, ref: "refs/heads/main", sha, workspace, temp: temporaryFolder() },
		permissions: { contents: "write", checks: "write" },
	});
	const run = await runActionFolder(".", {
		cwd: workspace,
		inputs: { base: "base" },
		env: { ...env, TRTGATE_LOCKS: join(workspace, ".locks") },
	});
	expect(run.exitCode, run.stdout + run.stderr).toBe(0);
	expect(readResult(join(workspace, "trtgate-out")).notes).toContain("Kept 1 record in the history (branch trtgate-history).");
	expect(git(origin, "ls-tree", "-r", "--name-only", "trtgate-history")).toMatch(/^runs\/\S+\.json$/);
});

it("the history of a project says what is missing where no history is named", async () => {
	const folder = temporaryFolder();
	const run = await runCli(["history", "import", "out"], { cwd: folder });
	expect(run).toMatchObject({ exit: 2, stderr: expect.stringContaining("Give --folder DIR, or --branch trtgate-history.") });
});
