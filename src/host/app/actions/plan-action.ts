// The action in plan/: turns trtgate.yml into the job matrix.
import { basename, dirname, join, relative, resolve } from "node:path";
import { setOutput } from "@actions/core";
import { firstLine, gitIn, succeeded } from "../../../adapters/git/run-git.ts";
import { requireCommit, unknownBase } from "../../../app/arms/find-base.ts";
import { readConfigFile, textAt } from "../../../app/config-file.ts";
import { exitCodes } from "../../../app/exit.ts";
import { ownProcesses } from "../../../app/own-processes.ts";
import { openTerminal } from "../../../app/terminal.ts";
import type { Config } from "../../../core/config/config.ts";
import { loadConfig } from "../../../core/config/parse.ts";
import { type Counterparts, underRulesOf } from "../../../core/config/rules.ts";
import { keepSelected, parsePatterns } from "../../../core/config/select.ts";
import { judgeCoverage, judgeLimitChanges } from "../../../core/gates/change.ts";
import {
	formatMatrix,
	formatReview,
	keepRunners,
	parseLabels,
	planMatrix,
	refuseNewRunners,
} from "../../../core/plan/matrix.ts";
import { type EngineSpec, engineSpecs, findCounterparts } from "../../../core/plan/plan.ts";
import { renderMatrix } from "../../../core/plan/render.ts";
import { counted } from "../../../core/text/labels.ts";
import { openHistory } from "../../../history/adapters/history.ts";
import { type PlanInputs, readPlanInputs } from "../../adapters/github/inputs.ts";
import { log, writeSummary } from "../../adapters/github/log.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import { artifactName } from "../../formats/github/names.ts";
import { announce } from "../publish/publish-run.ts";
import { accessOf, readRun, readRunEvent, reportError } from "./workflow-run.ts";

export async function runPlanAction(): Promise<number> {
	const terminal = openTerminal({ color: false });
	try {
		const inputs = readPlanInputs();
		const { environment } = terminal;
		const event = await readRunEvent(environment);
		const { jobs, review } = await plan(environment.workspace ?? terminal.cwd, inputs, event);
		setOutput("matrix", formatMatrix(jobs));
		setOutput("count", jobs.length);
		setOutput("review", formatReview(review));
		for (const { status, message, model, engine = "" } of review)
			if (status !== "pass") log(`${status}: ${model} ${engine}: ${message}`);
		for (const { name, runner, only } of jobs)
			log(`${name}: ${only === "" ? "all engines" : only} on ${runner}`);
		await writeSummary(renderMatrix(jobs));
		const known = inputs.announce ? await readRun(environment, inputs) : null;
		if (known === null) return exitCodes.ok;
		const shown = { ...inputs, parts: "", comment: "auto", checkRun: true, issue: "false" } as const;
		await announce(`waiting for ${counted(jobs.length, "job")}`, inputs.config, { ...known, inputs: shown });
		return exitCodes.ok;
	} catch (error) {
		return reportError(error);
	}
}

/** With gates on reduced coverage and changed rules of the whole change, which no single job sees. */
async function plan(cwd: string, inputs: PlanInputs, event: RunEvent | undefined) {
	const { config: own } = await readConfigFile({ cwd, path: inputs.config, workspace: cwd });
	const labels = parseLabels(inputs.runners);
	const base = event === undefined ? null : await readTarget(event, { cwd, ...inputs });
	// Without the base's rules, the head must not choose other machines.
	if (base !== null && base.rules === null) refuseNewRunners(own, labels);
	const only = parsePatterns(inputs.only);
	const review = base?.rules ? await reviewOf({ own, rules: base.rules, only }, base.blobs) : null;
	const jobs = planMatrix({
		config: base?.rules && review !== null ? underBase(base.rules, own, review.counterparts) : own,
		labels,
		only,
		name: inputs.name,
		artifactOf: (job) => artifactName(inputs.artifact, { config: own.path, job }),
	});
	return { jobs, review: review?.gates ?? [] };
}

function underBase(rules: Config, own: Config, counterparts: Counterparts) {
	return { ...underRulesOf(rules, own, counterparts), runners: keepRunners(rules, own, counterparts) };
}

type Blobs = (side: "base" | "head", path: string) => Promise<string | null>;

/** null if nothing is under review. @throws ConfigError git-ref; ToolError. */
async function readTarget(
	event: RunEvent,
	{ cwd, config: path, token }: { cwd: string; config: string; token: string },
) {
	if (event.kind === "other" && event.name.startsWith("pull_request"))
		throw unknownBase("the event does not name the base");
	if (event.kind !== "pull-request" && event.kind !== "merge-group") return null;
	const git = gitIn(cwd, ownProcesses(), accessOf({ token }).access);
	const { baseSha, baseRef } = event;
	await requireCommit(baseSha, `${baseRef}, whose config decides what is checked`, await openHistory(git));
	const home = dirname(relative(cwd, resolve(cwd, path)));
	const text = await textAt(baseSha, join(home, basename(path)), git);
	const loaded = text === null ? null : loadConfig(text, { path });
	const blobs: Blobs = async (side, file) => {
		const found = await git([
			"rev-parse",
			"--verify",
			"--quiet",
			"--end-of-options",
			`${side === "base" ? baseSha : "HEAD"}:./${join(home, file)}`,
		]);
		return succeeded(found) ? firstLine(found) : null;
	};
	return { rules: loaded?.state === "ok" ? loaded.config : null, blobs };
}

async function reviewOf(
	{ own, rules, only }: { own: Config; rules: Config; only: readonly string[] },
	blobs: Blobs,
) {
	const selected = (config: Config) => engineSpecs({ models: keepSelected(config.models, only) });
	const base = selected(rules);
	const head = selected(own);
	const read = async (side: "base" | "head", specs: readonly EngineSpec[]) => {
		const paths = [...new Set(specs.map(({ engine }) => engine.onnx))];
		return new Map(await Promise.all(paths.map(async (path) => [path, await blobs(side, path)] as const)));
	};
	const was = await read("base", base);
	const is = await read("head", head);
	const isSame = (one: EngineSpec, other: EngineSpec) =>
		(was.get(one.engine.onnx) ?? 0) === (is.get(other.engine.onnx) ?? 1);
	const counterparts = findCounterparts(base, head, isSame);
	const changes = judgeLimitChanges({ base: rules, head: own, counterparts, holds: "base" });
	return { counterparts, gates: [...judgeCoverage({ base, head, counterparts }), ...changes] };
}
