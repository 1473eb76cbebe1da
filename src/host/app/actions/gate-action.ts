// The action: the gate, reported to the workflow run.
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { saveState, setFailed } from "@actions/core";
import type { Result } from "../../../../generated/result.ts";
import { cacheFolder } from "../../../app/compose.ts";
import { chooseConfig } from "../../../app/config-file.ts";
import { exitCodes, exitOfResult, explainError } from "../../../app/exit.ts";
import { type GateOptions, gate } from "../../../app/gate.ts";
import { outRoots } from "../../../app/out-folder.ts";
import { openTerminal, progressFor, stopOnSignals, type Terminal } from "../../../app/terminal.ts";
import { ConfigError } from "../../../core/errors.ts";
import { headline } from "../../../core/report/highlights.ts";
import { renderTerminal } from "../../../core/report/terminal.ts";
import { reportFiles } from "../../../stages/report.ts";
import { readInputs, readPublishInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { setOutputs, writeAnnotations } from "../../adapters/github/publish.ts";
import { cacheWriteRefusal, isUntrustedRun, type RunEvent } from "../../formats/github/event.ts";
import {
	publishNoResult,
	reportNoResult,
	writePublishOutputs,
	writeResultOutputs,
} from "../publish/publish-result.ts";
import { announce, type PublishContext, publishRun } from "../publish/publish-run.ts";
import { type SharedCaches, sharedCaches } from "../publish/shared-caches.ts";
import { accessOf, readRun, workflowJob } from "./workflow-run.ts";

interface Job {
	terminal: Terminal;
	cwd: string;
	configPath: string;
	inputs: ReturnType<typeof readPublishInputs>;
	/** null outside a workflow. */
	context: PublishContext | null;
	caches: SharedCaches | null;
	stop: { requested: boolean };
}

/** @param ports in place of the real ones, for a replay. */
export async function runAction(ports?: GateOptions["ports"]): Promise<number> {
	const terminal = openTerminal({ color: false });
	let job: Job | null = null;
	try {
		job = await openJob(terminal);
		const ran = await runJob(job, ports);
		if (ran === null) return exitCodes.internal;
		await publishJob(job, ran);
		const exit = exitOfResult(ran.result);
		if (exit !== exitCodes.ok) setFailed(headline(ran.result));
		return exit;
	} catch (error) {
		if (job !== null) await writeNoResultOutputs(job, error);
		return reportNoResult(error);
	}
}

async function writeNoResultOutputs({ terminal, cwd, configPath, context, stop }: Job, fault: unknown) {
	if (context === null || stop.requested) return;
	const place = { outFolder: resolve(cwd, readInputs().out), roots: outRoots(terminal.environment, cwd) };
	if (await publishNoResult(explainError(fault).records, { ...context, configPath, ...place }))
		saveState("published", "true");
}

async function openJob(terminal: Terminal) {
	const { environment } = terminal;
	const inputs = readPublishInputs();
	const known = await readRun(environment, inputs);
	const cwd = environment.workspace ?? terminal.cwd;
	const context = known && { ...known, inputs };
	const shared = { terminal, cwd, configPath: chooseConfig({ cwd, ...readInputs() }), inputs, context };
	return { ...shared, caches: openCaches(shared), stop: { requested: false } };
}

/** An untrusted run leaves nothing that later runs use. */
function environmentOf({ terminal, context }: Pick<Job, "terminal" | "context">) {
	const { environment } = terminal;
	if (context === null || !isUntrustedRun(context.event, context.run.eventName)) return environment;
	return { ...environment, toolCache: join(environment.temp ?? tmpdir(), "trtgate-untrusted") };
}

function openCaches({ terminal, inputs, context }: Omit<Job, "caches" | "stop">) {
	if (inputs.cache === "false" || context === null) return null;
	const { event, host, run } = context;
	return sharedCaches({
		remote: host.cache(),
		temp: terminal.environment.temp ?? tmpdir(),
		cacheFolder: cacheFolder(environmentOf({ terminal, context })),
		refusal: cacheWriteRefusal(event, { eventName: run.eventName, cacheMode: run.services.cacheMode }),
		always: inputs.cache === "true",
		startedMs: Date.now(),
	});
}

async function runJob(job: Job, ports: GateOptions["ports"]) {
	const { overrides, ...inputs } = readInputs();
	const { cwd, context, caches, configPath, stop, terminal } = job;
	const { cache } = job.inputs;
	saveState("out", resolve(cwd, inputs.out));
	saveState("config", configPath);
	const requested = requestedCommit(context?.event);
	// The measurement does not wait for it.
	const announced = context === null ? undefined : announce("measuring", configPath, context);
	const completed = await gate({
		cwd,
		workspace: cwd,
		...inputs,
		...(requested !== undefined && { head: requested }),
		inputs: overrides,
		environment: environmentOf(job),
		ports,
		event: context?.event,
		job: context === null ? undefined : workflowJob(context.run, context.inputs.name),
		...accessOf(job.inputs),
		isFresh: cache === "false",
		progress: progressFor(terminal, { quiet: false }),
		onStart: (stopRun) =>
			stopOnSignals((reason) => {
				stop.requested = true;
				saveState("stopped", "true");
				stopRun(reason);
			}),
		beforeBuild: async (known) => caches?.restore(known),
	}).finally(() => (stop.requested ? undefined : announced));
	if (completed.state !== "ran") return null;
	const { result, outFolder } = completed;
	log(renderTerminal(result, { color: false, columns: 120 }));
	setOutputs(result, join(outFolder, reportFiles.result));
	await writeResultOutputs(result);
	return { result, outFolder };
}

/** @throws ConfigError git-ref if it is no longer the pull request's head. */
function requestedCommit(event: RunEvent | undefined) {
	if (event?.kind !== "pull-request" || event.newestSha === undefined) return undefined;
	const { number, headSha, newestSha } = event;
	if (headSha === newestSha) return headSha;
	throw new ConfigError({
		code: "git-ref",
		message: `The comment asks for ${headSha.slice(0, 7)}, which is not the head of pull request ${number}; expected ${newestSha.slice(0, 7)}.`,
		fix: "Review what was pushed, and comment again with the hash of the last commit.",
	});
}

async function publishJob(job: Job, { result, outFolder }: { result: Result; outFolder: string }) {
	const { context, caches, terminal, cwd } = job;
	if (context === null || job.stop.requested) {
		writeAnnotations(result);
		return;
	}
	try {
		const roots = outRoots(terminal.environment, cwd);
		const shown = await publishRun(result, { ...context, outFolder, roots });
		saveState("published", "true");
		await caches?.save();
		const published = [...shown.published, ...(caches?.published() ?? [])];
		await writePublishOutputs(result, { ...shown, published }, { outFolder });
	} catch (error) {
		log(`Publishing failed: ${explainError(error).text}The outcome stands; the reports are in ${outFolder}.`);
		writeAnnotations(result);
	}
}
