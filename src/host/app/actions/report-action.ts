// The action in report/: fetches, merges and shows the parts' results.
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { notice, setFailed } from "@actions/core";
import type { Result } from "../../../../generated/result.ts";
import { fileStore } from "../../../adapters/files/store.ts";
import { exitCodes, exitOfResult } from "../../../app/exit.ts";
import { checkOutFolder, type OutRoots, outRoots, removeEarlierResult } from "../../../app/out-folder.ts";
import { collectParts, findSubject, type Subject } from "../../../app/parts.ts";
import { openTerminal } from "../../../app/terminal.ts";
import { version } from "../../../app/version.ts";
import { recordError, ToolError } from "../../../core/errors.ts";
import { mergeResults } from "../../../core/merge/merge.ts";
import { dropSuperseded, hasEarlier, type PartInput } from "../../../core/merge/parts.ts";
import { parseMatrix, parseReview } from "../../../core/plan/matrix.ts";
import { headline } from "../../../core/report/highlights.ts";
import { renderTerminal } from "../../../core/report/terminal.ts";
import type { Host, RunFacts, WorkflowRun } from "../../../ports/code-host.ts";
import { reportFiles, reportList, writeReport } from "../../../stages/report.ts";
import { type ReportInputs, readReportInputs } from "../../adapters/github/inputs.ts";
import { log } from "../../adapters/github/log.ts";
import { setOutputs } from "../../adapters/github/publish.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import { artifactName } from "../../formats/github/names.ts";
import type { Published } from "../../stages/publish/check-run.ts";
import {
	publishNoResult,
	reportNoResult,
	type Unmeasured,
	writePublishOutputs,
	writeResultOutputs,
} from "../publish/publish-result.ts";
import { publishRun } from "../publish/publish-run.ts";
import { requireRun, workflowJob } from "./workflow-run.ts";

interface Reporting {
	inputs: ReportInputs;
	run: WorkflowRun;
	host: Host;
	subject: Subject;
	outFolder: string;
	roots: OutRoots;
}

export async function runReportAction(): Promise<number> {
	try {
		return await report();
	} catch (error) {
		return reportNoResult(error);
	}
}

async function report() {
	const terminal = openTerminal({ color: false });
	const { environment } = terminal;
	const cwd = environment.workspace ?? terminal.cwd;
	const given = readReportInputs();
	const inputs = { ...given, config: relative(cwd, resolve(cwd, given.config)) };
	const { run, event, host } = await requireRun(
		environment,
		inputs,
		"`trtgate report --merge DIR…` merges results",
	);
	const expected = inputs.expected === "" ? [onlyPart(inputs)] : parseMatrix(inputs.expected);
	const review = parseReview(inputs.review);
	const facts = host.runFacts();
	const subject = await findSubject(run, event, facts);
	const collected = await collectParts({
		artifacts: host.runArtifacts(subject.isForeign ? subject.run.id : undefined),
		expected,
		temp: environment.temp ?? tmpdir(),
		log,
	});
	const own = inputs.expected === "" ? collected.filter((part) => isOwn(part, inputs)) : collected;
	const parts = await partsThatCount(own, subject, facts);
	const roots = outRoots(environment, terminal.cwd);
	const outFolder = resolve(roots.workspace, inputs.out);
	const reporting = { inputs, run, host, subject, outFolder, roots };
	const hasAny = parts.some(({ content }) => content.state !== "missing");
	if (!hasAny && inputs.expected === "") return reportNoParts(reporting, parts[0]);
	const headCommits = await commitsOfChange(parts, subject);
	const result = mergeResults(parts, {
		expected,
		review,
		config: inputs.config,
		unverified: subject.isFork,
		headCommits: headCommits ?? undefined,
		run: { ...workflowJob(run, inputs.name), id: subject.run.id, attempt: subject.run.attempt },
		version,
		files: [...reportList],
	});
	const files = fileStore();
	await checkOutFolder(outFolder, roots);
	await files.makeFolder(outFolder);
	await removeEarlierResult(outFolder, { isOwn: true });
	await writeReport(result, outFolder, files);
	log(renderTerminal(result, { color: false, columns: 120 }));
	await show(result, reporting);
	return conclude(result, inputs, subject);
}

function onlyPart({ artifact, config, name, job }: ReportInputs) {
	const part = name || job;
	return { name: part, artifact: artifactName(artifact, { config, job: part }) };
}

/** Gates whose names differ only in what an artifact's name cannot hold share one. */
function isOwn({ content }: PartInput, { name, job }: ReportInputs) {
	const run = content.state === "read" ? content.result.run : undefined;
	if (run === undefined) return true;
	return name === "" ? run.part === undefined && run.job === job : run.part === name;
}

/** Artifacts of earlier attempts remain. */
async function partsThatCount(parts: readonly PartInput[], { run }: Subject, facts: RunFacts) {
	if (!hasEarlier(parts, run.attempt)) return parts;
	const listed = await facts.jobs(run.id);
	return dropSuperseded(
		parts,
		run.attempt,
		listed.state === "done"
			? { state: "listed", jobs: listed.jobs }
			: { state: "unknown", why: `${listed.fault.message} ${listed.fault.fix}` },
	);
}

async function commitsOfChange(parts: readonly PartInput[], subject: Subject) {
	if (subject.isRequested) return [subject.sha];
	if (!subject.isForeign) return null;
	const claimed = new Set(
		parts.flatMap(({ content }) => (content.state === "read" ? (content.result.arms.head.commit ?? []) : [])),
	);
	const confirmed = new Set([subject.sha]);
	// Genuine parts agree on one commit.
	for (const commit of [...claimed].sort().slice(0, 5))
		if (await subject.isOfChange(commit)) confirmed.add(commit);
	return [...confirmed];
}

const hostedPatienceMs = 300_000;

async function show(result: Result, reporting: Reporting) {
	const { inputs, subject, outFolder } = reporting;
	setOutputs(result, join(outFolder, reportFiles.result));
	await writeResultOutputs(result);
	// The config's path identifies the comment, and a result could forge it.
	const named = { ...result, config: { ...result.config, path: inputs.config } };
	const shown = await publishRun(named, contextOf(reporting), hostedPatienceMs);
	const uncommented: Published[] =
		subject.why === null ? [] : [{ what: "comment", state: "skipped", why: subject.why }];
	if (inputs.comment !== "never" && subject.why !== null)
		notice(`No comment: ${subject.why}.`, { title: "trtgate" });
	const published = [...shown.published, ...uncommented];
	await writePublishOutputs(result, { ...shown, published }, { outFolder });
}

function contextOf({ inputs, run, host, subject, outFolder, roots }: Reporting): Unmeasured {
	return {
		// The report on the later measurement counts as newer.
		run: { ...run, sha: subject.sha, runId: subject.run.id, runAttempt: subject.run.attempt },
		event: eventOf(subject),
		// The next report must not mistake it for a part.
		inputs: { ...inputs, artifact: inputs.artifact === "none" ? "none" : "merged" },
		outFolder,
		roots,
		host,
		configPath: inputs.config,
	};
}

/** A lost runner leaves its check run and comment unfinished. */
async function reportNoParts(reporting: Reporting, part: PartInput | undefined) {
	const reason = part?.content.state === "missing" ? part.content.reason : null;
	const why =
		reason ?? `It has no artifact ${onlyPart(reporting.inputs).artifact} with a ${reportFiles.result}.`;
	const fault = new ToolError({
		code: "part-missing",
		message: `The run left no result. ${why}`,
		fix: "Its runner was lost, or a step before trtgate failed: read the logs of its jobs, and run them again. Give the gate and the report the same `config`, `name` and `artifact`, and the report the id of the gate's `job`.",
	});
	await publishNoResult([recordError(fault)], contextOf(reporting));
	const exit = reportNoResult(fault);
	return failsJob(reporting.inputs, reporting.subject) ? exit : exitCodes.ok;
}

/** Our token may write even for a fork's change. */
function eventOf({ pullRequest, sha, event }: Subject): RunEvent {
	if (event !== null) return event;
	if (pullRequest === null) return { kind: "other", name: "workflow_run", sha };
	return { kind: "pull-request", number: pullRequest, headSha: sha, baseRef: "", baseSha: "", isFork: false };
}

function conclude(result: Result, inputs: ReportInputs, subject: Subject) {
	const exit = exitOfResult(result);
	if (exit === exitCodes.ok || !failsJob(inputs, subject)) return exitCodes.ok;
	setFailed(headline(result));
	return exit;
}

/** Another run that measured has already failed by itself. */
function failsJob({ fail }: ReportInputs, { isForeign }: Subject) {
	return fail === "auto" ? !isForeign : fail === "true";
}
