// Gets a plan that something else than trtexec builds: a command of the user writes it, or it is there already.
import type { OwnBuildConfig } from "../core/config/config.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import type { BuildJob } from "../ports/backend.ts";
import type { Ports } from "../ports/ports.ts";
import type { Files } from "../ports/world.ts";
import { confine } from "./resolve-in-workspace.ts";

export type PlanPorts = Pick<Ports, "shell"> & { files: Pick<Files, "realPath" | "size" | "changedMs"> };

interface PlanJob extends Pick<BuildJob, "logPath" | "timeoutMs"> {
	/** Of the engine. */
	id: string;
	/** Of the side. */
	folder: string;
	timingCache?: string | undefined;
}

const fixOfFile = "Let it write the file that build.plan names, anew in each run.";

/** An absolute path. @throws ConfigError plan-failed, path-outside-workspace; ToolError interrupted. */
export async function getPlan(build: OwnBuildConfig, job: PlanJob, ports: PlanPorts): Promise<string> {
	const { command, env = [], plan } = build;
	const { id, folder } = job;
	const changed = async () => {
		const path = await confine(ports.files, folder, plan);
		return path === null ? null : ports.files.changedMs(path);
	};
	const code = "plan-failed";
	if (command !== undefined) {
		const before = await changed();
		const log = await runCommand({ command, env }, job, ports);
		const after = await changed();
		// What lies there of an earlier build must not pass for this one.
		if (after === null || after === before) {
			const what = after === null ? "wrote no" : "left the old";
			const message = `The build command of ${id} succeeded but ${what} ${plan}.`;
			throw new ConfigError({ code, message, fix: fixOfFile, log });
		}
	}
	const path = await confine(ports.files, folder, plan);
	if (path !== null && (await ports.files.size(path))) return path;
	const message = `The plan ${plan} of ${id} is ${path === null ? "missing" : "not a file, or empty"}.`;
	throw new ConfigError({ code, message, fix: "Correct build.plan, or what writes it." });
}

async function runCommand(
	build: { command: string; env: readonly string[] },
	{ id, folder: cwd, logPath, timeoutMs, timingCache }: PlanJob,
	ports: PlanPorts,
) {
	const log = logPath.replace(/(\.log)?$/, "-command.log");
	const what = `The build command of ${id}`;
	const variables = timingCache && { TRTGATE_TIMING_CACHE: timingCache };
	const options = { cwd, logPath: log, timeoutMs, what, ...(variables && { variables }) };
	const result = await ports.shell.run(build, options);
	if (result.state === "done") return log;
	const { failure } = result;
	if (failure.code === "interrupted") throw new ToolError(failure);
	const fix = `Run it by hand in ${cwd}: ${build.command}. A variable that holds credentials must be listed under build.env.`;
	throw new ConfigError({ ...failure, code: "plan-failed", fix, log });
}
