// The action in plan/: trtgate.yml in, the job matrix out.
import { relative, resolve } from "node:path";
import { setOutput, summary } from "@actions/core";
import { openHistory } from "../../adapters/git/history.ts";
import { gitIn, succeeded } from "../../adapters/git/run-git.ts";
import { childEnvironment, readWorkflowRun } from "../../adapters/github/env.ts";
import { type PlanInputs, readPlanInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { createProcesses } from "../../adapters/process/processes.ts";
import { loadConfig } from "../../core/config/parse.ts";
import { parsePatterns } from "../../core/config/select.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { formatMatrix, type MatrixJob, parseLabels, planMatrix } from "../../core/plan/matrix.ts";
import { renderMatrix } from "../../core/plan/render.ts";
import { refuseNewRunners } from "../../core/plan/trusted-runners.ts";
import { counted } from "../../core/text/labels.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import { artifactName } from "../../formats/github/names.ts";
import { missingCommit, unknownBase } from "../arms/find-base.ts";
import { readConfigFile } from "../config-file.ts";
import { exitCodes } from "../exit.ts";
import { announce } from "../publish/under-way.ts";
import { openTerminal } from "../terminal.ts";
import { accessOf, readRunEvent, reportError } from "./workflow-run.ts";

export async function runPlanAction(): Promise<number> {
	const terminal = openTerminal({ color: false });
	try {
		const inputs = readPlanInputs();
		const event = await readRunEvent(terminal.environment);
		const jobs = await plan(terminal.environment.workspace ?? terminal.cwd, inputs, event);
		setOutput("matrix", formatMatrix(jobs));
		setOutput("count", jobs.length);
		for (const { name, runner, only } of jobs) log(`${name}: ${only === "" ? "all engines" : only} on ${runner}`);
		await summary.addRaw(renderMatrix(jobs)).write();
		const run = readWorkflowRun();
		if (!inputs.announce || run === null || event === undefined) return exitCodes.ok;
		const shown = { ...inputs, comment: "one", checkRun: true, issue: "false", artifactEngines: false, cache: "false" } as const;
		await announce(`waiting for ${counted(jobs.length, "job")}`, inputs.config, { run, event, inputs: shown });
		return exitCodes.ok;
	} catch (error) {
		return reportError(error);
	}
}

async function plan(cwd: string, inputs: PlanInputs, event: RunEvent | undefined): Promise<MatrixJob[]> {
	const { config } = await readConfigFile({ cwd, path: inputs.config, workspace: cwd });
	const labels = parseLabels(inputs.runners);
	if (event !== undefined && config.runners.length > 0)
		refuseNewRunners(config, { labels, base: (await runnersOfBase(event, { cwd, ...inputs })) ?? config.runners });
	return planMatrix({
		config,
		labels,
		only: parsePatterns(inputs.only),
		name: inputs.name,
		artifactOf: (job) => artifactName(inputs.artifact, { config: config.path, job }),
	});
}

/** null where the event is no pull request: its config is one that a maintainer accepted. @throws ConfigError git-ref; ToolError. */
async function runnersOfBase(event: RunEvent, { cwd, config: path, token }: { cwd: string; config: string; token: string }) {
	if (event.kind === "other" && event.name.startsWith("pull_request")) throw unknownBase("the event does not name the base");
	if (event.kind !== "pull-request") return null;
	const git = gitIn(cwd, createProcesses({ env: childEnvironment() }), accessOf({ token }).access);
	const { baseSha, baseRef } = event;
	if (!(await (await openHistory(git)).bring(baseSha))) throw missingCommit(baseSha, `${baseRef}, whose config names the runners`);
	const file = `${baseSha}:./${relative(cwd, resolve(cwd, path))}`;
	const read = await git(["cat-file", "blob", file], { captureBytes: inputKinds.config.maxBytes });
	const base = succeeded(read) ? loadConfig(read.stdout, { path }) : null;
	return base?.state === "ok" ? base.config.runners : [];
}
