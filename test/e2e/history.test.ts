import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { HistoryRecord } from "../../generated/history.ts";
import type { trendFacts } from "../../src/core/report/trend-facts.ts";
import { runActionFolder } from "../support/action-runner.ts";
import { buildResult, buildWorkload } from "../support/build-result.ts";
import { git } from "../support/git-history.ts";
import { planOf, simulateNights } from "../support/history-nights.ts";
import { fasterNights, nightAt } from "../support/history-records.ts";
import { startLocalGitHub } from "../support/local-github/start.ts";
import {
	expectExit,
	expectRefusal,
	quickConfig,
	quickProject,
	readResult,
	runCli,
	temporaryFolder,
	writeProject,
} from "../support/project.ts";
import { comparisonFiles, installReplay } from "../support/replay/install.ts";

const branch = ["--branch", "trtgate-history"];

const files = (folder: string): string[] =>
	readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((path) => path.endsWith(".json"))
		.sort();

it("the history of a project gets one record per run, even if the result is imported again, and survives compaction", async () => {
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": `${quickConfig}history: { folder: kept, when: always }\n`,
	});
	expectExit(await runCli(["run", "--base", ".", "--out", "out"], { cwd: folder }), 0);
	const [record] = files(join(folder, "kept"));
	expect(record).toMatch(/^runs\/\d{4}\/\d{2}\//);
	const { notes } = readResult(join(folder, "out"));
	expect(notes).toContainEqual(expect.stringContaining("Kept a record in the history"));
	expect(notes.join("\n")).not.toContain("duplicate");
	const imported = await runCli(["history", "import", "out", `out/history/${record}`, "--folder", "other"], {
		cwd: folder,
	});
	const already = /^Imported (\d) records? into .*other; skipped (\d) records? that it has already\.\n$/;
	expect(already.exec(imported.stdout)?.slice(1)).toEqual(["1", "1"]);
	const again = await runCli(["history", "import", "out", "--folder", "other"], { cwd: folder });
	expect(already.exec(again.stdout)?.slice(1)).toEqual(["0", "1"]);
	expect(await runCli(["history", "compact", "--folder", "kept"], { cwd: folder })).toMatchObject({
		exit: 0,
		stdout: expect.stringContaining("nothing to compact"),
	});
});

it("the history of a project measures again what stands out against earlier nights, and fails with size, start, cause and commits", async () => {
	const { "trtgate.yml": config, ...project } = comparisonFiles(
		"same-model",
		"head",
		", identical-engines: measure",
	);
	const timed = String(config).replace("pairs: [5, 8]", "pairs: [5]");
	const folder = writeProject(temporaryFolder(), {
		...project,
		"trtgate.yml": `${timed}history: { folder: kept, when: always }\n`,
	});
	const runOnce = () =>
		runCli(["run", "--base", ".", "--out", "out"], {
			cwd: folder,
			env: { PATH: installReplay(folder, { comparison: "same-model" }) },
		});
	expectExit(await runOnce(), 0);
	const [path = ""] = files(join(folder, "kept"));
	const record = JSON.parse(readFileSync(join(folder, "kept", path), "utf8")) as HistoryRecord;
	const { machine, rows } = record;
	expect(machine).toMatchObject({
		gpuUuid: expect.stringMatching(/^GPU-/),
		tensorrt: expect.stringMatching(/^10\.6/),
	});
	expect(rows[0]?.head.structure).toMatch(/^[0-9a-f]{12}$/);
	expect(rows[0]?.head.structure).toBe(rows[0]?.base.structure);
	rmSync(join(folder, "kept", path));
	writeProject(join(folder, "kept"), fasterNights(record));
	const run = await runOnce();
	const result = readResult(join(folder, "out"));
	expect(result.workloads[0]?.fresh?.pairs).toBe(5);
	expect(run.exit).toBe(1);
	expect(result.gates.find(({ gate }) => gate === "trend")).toMatchObject({
		status: "fail",
		model: "net",
		message: expect.stringMatching(
			/^\+\d+ % ± .* slower since .*Cause: the change \(measured against the pin in one job/,
		),
	});
});

it("the history of a project makes a run red whose record cannot be written, and leaves the record to import", async () => {
	const folder = quickProject(temporaryFolder(), {
		"trtgate.yml": `${quickConfig}history: { folder: trtgate.yml, when: always }\n`,
	});
	const run = await runCli(["run", "--base", ".", "--out", "out"], { cwd: folder });
	expect(run).toMatchObject({ exit: 2, stdout: expect.stringContaining("output-unwritable") });
	expect(files(join(folder, "out", "history"))).toHaveLength(1);
});

it("the history of a project imports into a branch of the remote", async () => {
	const folder = temporaryFolder();
	const [remote, clone] = [join(folder, "remote.git"), join(folder, "clone")];
	git(folder, "init", "--quiet", "--bare", remote);
	git(folder, "clone", "--quiet", remote, clone);
	const result = buildResult({ startedAt: "2025-03-04T05:06:07.890Z", workloads: [buildWorkload()] });
	writeProject(clone, { "old/result.json": JSON.stringify(result) });
	expectExit(await runCli(["history", "import", "old", ...branch], { cwd: clone }), 0);
	expect(git(remote, "ls-tree", "-r", "--name-only", "trtgate-history")).toMatch(
		/^runs\/2025\/03\/20250304T050607Z-imported-/,
	);
	expectExit(await runCli(["history", "compact", ...branch], { cwd: clone }), 0);
	expect(git(remote, "ls-tree", "-r", "--name-only", "trtgate-history")).toBe("months/2025-03.jsonl.gz");
});

it("the history of a workflow without a clone ends in an error that asks for one", async () => {
	const workspace = temporaryFolder();
	quickProject(join(workspace, "base"));
	quickProject(workspace, { "trtgate.yml": `${quickConfig}history: { branch: trtgate-history }\n` });
	const github = await startLocalGitHub();
	onTestFinished(github.close);
	const env = await github.environment({
		...{ event: "workflow_dispatch", payload: {}, ref: "refs/heads/main", sha: "0".repeat(40) },
		...{ workspace, temp: temporaryFolder() },
		permissions: { contents: "write", checks: "write" },
	});
	const run = await runActionFolder(".", {
		cwd: workspace,
		inputs: { base: "base" },
		env: { ...env, TRTGATE_LOCKS: join(workspace, ".locks") },
	});
	expect(run.stdout).toContain("is not a clone, or git is not installed");
	expect(run.exitCode).not.toBe(0);
});

it("the history of forty nights on five machines finds a step of three series, each once, and names the change as its cause", async () => {
	const plan = planOf(1);
	const events = plan.events.filter(({ night }) => night < 34);
	const simulated = simulateNights({ ...plan, nights: 40, events });
	const root = temporaryFolder();
	git(root, "init", "--quiet", "--bare", "remote.git");
	for (const host of ["host-0", "host-1", "reader"]) git(root, "clone", "--quiet", "remote.git", host);
	const [step] = events;
	const stepAt = step?.night ?? 0;
	const branch = ["--branch", "trtgate-history"];
	const shown: ReturnType<typeof trendFacts>[] = [];
	for (const [from, to] of [
		[0, stepAt],
		[stepAt, stepAt + 3],
		[stepAt + 3, 40],
	] as const) {
		await Promise.all(
			[0, 1].map((host) => {
				const own = simulated.records.slice(from, to).filter((_, index) => index % 2 === host);
				const cwd = writeProject(
					join(root, `host-${host}`),
					Object.fromEntries(own.map(({ name, record }) => [name, JSON.stringify(record)])),
				);
				return runCli(["history", "import", ...own.map(({ name }) => name), ...branch], { cwd });
			}),
		);
		const { stdout } = await runCli(["trend", "--json", ...branch], { cwd: join(root, "reader") });
		shown.push(JSON.parse(stdout));
	}
	expect(shown[0]?.alarms).toEqual([]);
	const [alarm, ...others] = shown[1]?.alarms ?? [];
	expect(others).toEqual([]);
	expect(alarm).toMatchObject({ start: nightAt(stepAt), cause: "change", isOpen: true });
	expect(alarm?.series.map(({ series }) => series).sort()).toEqual(
		step?.series.map((index) => `net-${index}/fp16/b1`).sort(),
	);
	const days = (alarm?.days ?? 0) + 40 - (stepAt + 3);
	expect(shown[2]?.alarms).toEqual([{ ...alarm, days }]);
});

it("the history of a project: a command says what is missing if no history is named", async () => {
	const run = await runCli(["history", "import", "out"], { cwd: temporaryFolder() });
	expectRefusal(run, "Give --folder DIR, or --branch trtgate-history.");
});

it("trend says what is no history, and which records it skipped if none is left", async () => {
	const record = "runs/2026/11/20261129T100929Z-local-dd8a96e8225a.json";
	const cwd = writeProject(temporaryFolder(), { file: "", [`kept/${record}`]: "{" });
	const file = await runCli(["trend", "file"], { cwd });
	expect(file).toMatchObject({
		exit: 3,
		stderr: expect.stringMatching(/file cannot be read as the folder of a history .*\[history-unreadable\]/),
	});
	expectRefusal(await runCli(["trend", "kept"], { cwd }), /has no records\..*\n.*Skipped runs.*not JSON/);
});
