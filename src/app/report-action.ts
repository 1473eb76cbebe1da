// The action in report/: fetches the parts' results, merges and shows them. It needs no GPU, no checkout and runs nothing of the change.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { info, notice, setFailed, warning } from "@actions/core";
import { fileStore } from "../adapters/files/store.ts";
import { githubArtifacts } from "../adapters/github/artifacts.ts";
import { readWorkflowRun, type WorkflowRun } from "../adapters/github/env.ts";
import { githubForge } from "../adapters/github/forge.ts";
import { type ReportInputs, readReportInputs } from "../adapters/github/inputs.ts";
import { githubRunFacts } from "../adapters/github/measured-run.ts";
import { publishFailure, publishToRun } from "../adapters/github/publish.ts";
import { runArtifacts } from "../adapters/github/run-artifacts.ts";
import { ConfigError } from "../core/errors.ts";
import { mergeResults } from "../core/merge/merge.ts";
import type { PartInput } from "../core/merge/parts.ts";
import { parseMatrix } from "../core/plan/matrix.ts";
import { headline } from "../core/report/headline.ts";
import type { ReportLinks } from "../core/report/links.ts";
import { renderMarkdown } from "../core/report/markdown.ts";
import { markerId } from "../core/report/marker.ts";
import { renderTerminal } from "../core/report/terminal.ts";
import type { Result } from "../core/schema/result.ts";
import { slug } from "../formats/github/artifact-name.ts";
import type { Published } from "../stages/publish/plan.ts";
import { publish } from "../stages/publish.ts";
import { reportFiles, writeReport } from "../stages/report.ts";
import { announce } from "./announce.ts";
import { collectParts } from "./collect-parts.ts";
import { exitCodes, exitOfResult } from "./exit.ts";
import { findSubject, type Subject } from "./find-measured-run.ts";
import { reportList } from "./kept-files.ts";
import { readRunEvent } from "./run-event.ts";
import { openTerminal } from "./terminal.ts";
import { version } from "./version.ts";

interface Reporting {
	inputs: ReportInputs;
	run: WorkflowRun;
	subject: Subject;
	outFolder: string;
}

export async function runReportAction(): Promise<number> {
	try {
		return await report();
	} catch (error) {
		publishFailure("runner");
		return announce(error);
	}
}

async function report(): Promise<number> {
	const terminal = openTerminal({ color: false });
	const { environment } = terminal;
	const inputs = readReportInputs();
	const run = readWorkflowRun();
	const event = await readRunEvent(environment);
	if (run === null || event === undefined) throw notInAWorkflow();
	const expected = inputs.expected === "" ? undefined : parseMatrix(inputs.expected);
	const subject = await findSubject(run, event, githubRunFacts({ ...run, token: inputs.token }));
	const parts = await collectParts({
		artifacts: runArtifacts({ run, ...(subject.isForeign ? { other: { runId: subject.run.id, token: inputs.token } } : {}) }),
		prefix: slug(inputs.artifact),
		...(expected === undefined ? {} : { expected }),
		temp: environment.temp ?? tmpdir(),
		say: info,
	});
	if (parts.length === 0 && expected === undefined) throw nothingCame(inputs.artifact);
	const headCommits = await commitsOfChange(parts, subject);
	const result = mergeResults(parts, {
		...(expected === undefined ? {} : { expected }),
		...(headCommits === null ? {} : { headCommits }),
		version,
		files: [...reportList],
	});
	const outFolder = join(environment.workspace ?? terminal.cwd, inputs.out);
	const files = fileStore();
	await files.makeFolder(outFolder);
	await writeReport(result, outFolder, files);
	info(renderTerminal(result, { color: false, columns: 120 }));
	await show(result, { inputs, run, subject, outFolder });
	return conclude(result, inputs, subject);
}

/** The commits that results may be of; null where any will do. */
async function commitsOfChange(parts: readonly PartInput[], subject: Subject): Promise<string[] | null> {
	if (!subject.isForeign) return null;
	const claimed = new Set(parts.flatMap(({ content }) => (content.state === "read" ? (content.result.arms.head.commit ?? []) : [])));
	const right: string[] = [subject.sha];
	// Honest parts agree on one commit; more than a few are not worth asking about.
	for (const commit of [...claimed].sort().slice(0, 5)) if (await subject.isOfChange(commit)) right.push(commit);
	return right;
}

async function show(result: Result, reporting: Reporting): Promise<void> {
	const { inputs, run, subject, outFolder } = reporting;
	const kept = await keep(reporting);
	const links: ReportLinks = { ...kept.links, run: `${run.serverUrl}/${run.repository}/actions/runs/${subject.run.id}` };
	const shown = { links, ...(inputs.name === "" ? {} : { label: inputs.name }) };
	await publishToRun(result, { resultPath: join(outFolder, reportFiles.result), markdown: renderMarkdown(result, { ...shown }) });
	const plan = {
		id: markerId(inputs.config, inputs.name),
		checkName: inputs.name === "" ? "trtgate" : `trtgate · ${inputs.name}`,
		shown,
		run: { id: subject.run.id, attempt: subject.run.attempt },
		sha: subject.sha,
		pullRequest: subject.pullRequest,
		comment: inputs.comment,
		checkRun: inputs.checkRun,
		alarm: false,
	};
	const published = await publish(result, plan, githubForge({ ...run, token: inputs.token }));
	if (inputs.comment !== "never" && subject.why !== null) notice(`No comment: ${subject.why}.`, { title: "trtgate" });
	for (const one of [...kept.published, ...published]) tell(one);
}

async function keep({ inputs, run, outFolder }: Reporting): Promise<{ links: ReportLinks; published: Published[] }> {
	if (inputs.artifact === "none") return { links: {}, published: [] };
	// Never a name that the next report would take for a part.
	const name = ["report", slug(inputs.artifact), slug(inputs.name)].filter((part) => part !== "").join("-");
	const store = githubArtifacts({ run, ...(inputs.retentionDays === null ? {} : { retentionDays: inputs.retentionDays }) });
	const all = Object.values(reportFiles).map((file) => join(outFolder, file));
	const whole = await store.upload({ name, root: outFolder, files: all, compression: 6 });
	const page = await store.upload({
		name: `${name}.html`,
		root: outFolder,
		files: [join(outFolder, reportFiles.html)],
		compression: 0,
		asIs: true,
	});
	const links: ReportLinks = {
		...(whole.state === "done" ? { artifact: whole.artifact.url } : {}),
		...(page.state === "done" ? { report: page.artifact.url } : {}),
	};
	const failed = [whole, page].flatMap((one): Published[] =>
		one.state === "failed" ? [{ what: "artifact", state: "failed", fault: one.fault }] : [],
	);
	return { links, published: failed };
}

/** What could not be published is told, and changes nothing. */
function tell(one: Published): void {
	if (one.state === "failed") warning(`${one.fault.message} ${one.fault.fix}`, { title: `trtgate: no ${one.what}` });
	else info(one.state === "skipped" ? `no ${one.what}: ${one.why}` : `${one.what}${one.url === undefined ? "" : `: ${one.url}`}`);
}

function conclude(result: Result, inputs: ReportInputs, subject: Subject): number {
	const exit = exitOfResult(result);
	// In a run of its own, a red report tells nobody more: the measured run is red already.
	const fails = inputs.fail === "auto" ? !subject.isForeign : inputs.fail === "true";
	if (exit === exitCodes.ok || !fails) return exitCodes.ok;
	setFailed(headline(result));
	return exit;
}

function notInAWorkflow(): ConfigError {
	return new ConfigError({
		code: "usage",
		message: "This action runs in a workflow of GitHub Actions only.",
		details: { fix: "On your machine, `trtgate report --merge DIR…` merges results." },
	});
}

function nothingCame(prefix: string): ConfigError {
	return new ConfigError({
		code: "result-invalid",
		message: `The run has no artifact ${prefix} or ${prefix}-… with a ${reportFiles.result} in it.`,
		details: { fix: "Look at the logs of its jobs, and give the same `artifact` to the gate and to the report." },
	});
}
