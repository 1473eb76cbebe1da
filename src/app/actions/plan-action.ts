// The action in plan/: trtgate.yml in, the job matrix out.
import { setOutput, summary } from "@actions/core";
import { readPlanInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { formatMatrix, type MatrixJob, parseLabels, planMatrix } from "../../core/plan/matrix.ts";
import { renderMatrix } from "../../core/plan/render.ts";
import { artifactName } from "../../formats/github/names.ts";
import { readConfigFile } from "../config-file.ts";
import { exitCodes } from "../exit.ts";
import { openTerminal } from "../terminal.ts";
import { reportError } from "./workflow-run.ts";

export async function runPlanAction(): Promise<number> {
	const terminal = openTerminal({ color: false });
	try {
		const jobs = await plan(terminal.environment.workspace ?? terminal.cwd);
		setOutput("matrix", formatMatrix(jobs));
		setOutput("count", jobs.length);
		for (const { name, runner, only } of jobs) log(`${name}: ${only === "" ? "all engines" : only} on ${runner}`);
		await summary.addRaw(renderMatrix(jobs)).write();
		return exitCodes.ok;
	} catch (error) {
		return reportError(error);
	}
}

async function plan(cwd: string): Promise<MatrixJob[]> {
	const inputs = readPlanInputs();
	const { config } = await readConfigFile({ cwd, path: inputs.config, workspace: cwd });
	return planMatrix({
		config,
		labels: parseLabels(inputs.runners),
		name: inputs.name,
		artifactOf: (job) => artifactName(inputs.artifact, { config: config.path, job }),
	});
}
