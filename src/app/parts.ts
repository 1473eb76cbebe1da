// Finds the run that a report is about, by asking GitHub: measured code may have written the rest. Reads the results of
// its jobs from artifacts, which are untrusted, or from folders.
import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { readInputText } from "../adapters/process/input-file.ts";
import { inNewFolder } from "../adapters/process/write-error.ts";
import { ConfigError, ToolError } from "../core/errors.ts";
import { inputKinds } from "../core/input-kind.ts";
import { tooLargeFix } from "../core/merge/merge.ts";
import { type PartContent, type PartInput, type PickedPart, pickArtifacts } from "../core/merge/parts.ts";
import { parseResult } from "../core/report/parse-result.ts";
import { cleanName } from "../core/text/escape.ts";
import { formatBytes } from "../core/text/units.ts";
import type { RunEvent, WorkflowRunEvent } from "../host/formats/github/event.ts";
import type { MeasuredRun, RunArtifact, RunArtifacts, RunFacts, WorkflowRun } from "../ports/code-host.ts";
import { reportFiles } from "../stages/report.ts";

const maxResultBytes = inputKinds.result.maxBytes;
/** All results are read at once. */
const maxTextBytes = 512 * 1024 * 1024;
const maxParts = 300;

/**
 * Each folder holds a result.json, or folders that do; an earlier merge into `outFolder` is no part.
 * @throws ConfigError result-invalid if there is none.
 */
export async function readParts(
	folders: readonly string[],
	{ cwd, outFolder }: { cwd: string; outFolder: string },
): Promise<PartInput[]> {
	const listed = await Promise.all(folders.map((folder) => partFolders(resolve(cwd, folder), outFolder)));
	const found = [...new Set(listed.flat())];
	if (found.length === 0)
		throw new ConfigError({
			code: "result-invalid",
			message: `There is no ${reportFiles.result} in ${folders.slice(0, 5).join(", ")}, nor directly below.`,
			fix: "Name the output folders of the runs, or one folder that holds them.",
		});
	if (found.length > maxParts)
		throw new ConfigError({
			code: "result-invalid",
			message: `${found.length} results to merge; at most ${maxParts} are allowed.`,
			fix: "Merge fewer, or remove old folders.",
		});
	const parts: PartInput[] = [];
	const budget = { textBytes: maxTextBytes };
	const names = found.map((folder) => basename(folder));
	for (const folder of found)
		parts.push({
			// `a/trtgate-out` and `b/trtgate-out` are two parts.
			name:
				names.filter((name) => name === basename(folder)).length > 1
					? relative(cwd, folder)
					: basename(folder),
			content: await readContent(join(folder, reportFiles.result), budget),
		});
	return parts;
}

async function partFolders(folder: string, outFolder: string) {
	if (await hasResult(folder)) return [folder];
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
	const inside = folders.filter((path) => path !== outFolder);
	const withResult = await Promise.all(inside.map(async (path) => ((await hasResult(path)) ? [path] : [])));
	return withResult.flat().sort();
}

async function hasResult(folder: string) {
	return (await stat(join(folder, reportFiles.result)).catch(() => null))?.isFile() === true;
}

async function readContent(path: string, budget: { textBytes: number }): Promise<PartContent> {
	const { size } = await stat(path);
	if (size > maxResultBytes)
		return refused(`Its ${reportFiles.result} has ${size} bytes; at most ${maxResultBytes} are read.`);
	budget.textBytes -= size;
	if (budget.textBytes < 0) return beyondAll();
	return parsePart(await readInputText(path, inputKinds.result), path);
}

function refused(reason: string): PartContent {
	return { state: "refused", reason, kind: "runner" };
}

function beyondAll(): PartContent {
	const reason = `All results together are larger than ${formatBytes(maxTextBytes)}; this one was not read.`;
	return { state: "refused", reason, kind: "configuration", fix: tooLargeFix };
}

function parsePart(text: string, path: string): PartContent {
	try {
		return { state: "read", result: parseResult(text, path) };
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		return refused(error.message);
	}
}

const maxPartBytes = 200 * 1024 * 1024;
const maxBytes = 2 * 1024 * 1024 * 1024;
const atOnce = 6;

interface Collecting {
	artifacts: RunArtifacts;
	expected: readonly { name: string; artifact: string }[];
	temp: string;
	log(line: string): void;
}

/** @throws ToolError part-missing if the artifacts cannot be listed. */
export async function collectParts(collecting: Collecting): Promise<PartInput[]> {
	const listed = await collecting.artifacts.list();
	if (listed.state === "failed") {
		throw new ToolError({
			code: "part-missing",
			message: `The parts cannot be found: ${listed.fault.message}`,
			fix: listed.fault.fix,
		});
	}
	const picked = pickArtifacts(listed.artifacts, collecting.expected);
	if (picked.length > maxParts)
		throw new ToolError({
			code: "part-missing",
			message: `The run has ${picked.length} artifacts that could be parts; at most ${maxParts} are merged.`,
			fix: "Give the parts of each report an `artifact` prefix of their own.",
		});
	return inNewFolder("trtgate-parts-", (folder) => fetchAll(picked, collecting, folder), collecting.temp);
}

async function fetchAll(
	picked: readonly PickedPart<RunArtifact>[],
	collecting: Collecting,
	folder: string,
): Promise<PartInput[]> {
	const parts: PartInput[] = [];
	const budget = { packedBytes: maxBytes, textBytes: maxTextBytes };
	for (let from = 0; from < picked.length; from += atOnce) {
		const some = picked.slice(from, from + atOnce).map(async ({ name, artifact }): Promise<PartInput> => {
			const content = await fetchOne(artifact, { collecting, folder, budget });
			collecting.log(`${cleanName(artifact.name)}: ${content.state === "read" ? "read" : content.reason}`);
			return { name, artifact: artifact.name, uploadedMs: artifact.uploadedMs, content };
		});
		parts.push(...(await Promise.all(some)));
	}
	return parts;
}

interface Fetching {
	collecting: Collecting;
	folder: string;
	budget: { packedBytes: number; textBytes: number };
}

async function fetchOne(
	artifact: RunArtifact,
	{ collecting, folder, budget }: Fetching,
): Promise<PartContent> {
	const { bytes } = artifact;
	if (bytes > maxPartBytes)
		return refused(`Its artifact has ${bytes} bytes; at most ${maxPartBytes} are fetched.`);
	budget.packedBytes -= bytes;
	if (budget.packedBytes < 0)
		return refused(`All artifacts together are larger than ${maxBytes} bytes; this one was not fetched.`);
	const limits = { packedBytes: maxPartBytes, bytes: maxResultBytes };
	const taken = await collecting.artifacts.take(artifact, { name: reportFiles.result, temp: folder, limits });
	if (taken.state === "absent")
		return refused(`The artifact ${cleanName(artifact.name)} contains no ${reportFiles.result}.`);
	if (taken.state === "refused") return refused(taken.reason);
	budget.textBytes -= taken.text.length;
	if (budget.textBytes < 0) return beyondAll();
	return parsePart(taken.text, reportFiles.result);
}

export interface Subject {
	run: { id: number; attempt: number };
	sha: string;
	pullRequest: number | null;
	/** Why there is no pull request to comment on. */
	why: string | null;
	/** null if another run measured. */
	event: RunEvent | null;
	/** Its artifacts are untrusted. */
	isForeign: boolean;
	/** A comment asked for this commit, and no other counts. */
	isRequested: boolean;
	/** A fork's code ran in it, or GitHub does not say whose. */
	isFork: boolean;
	isOfChange(commit: string): Promise<boolean>;
}

export async function findSubject(run: WorkflowRun, event: RunEvent, facts: RunFacts): Promise<Subject> {
	return event.kind === "workflow-run"
		? foreignSubject(event, facts, run.repository)
		: ownSubject(run, event);
}

function ownSubject(run: WorkflowRun, event: RunEvent) {
	const isPull = event.kind === "pull-request";
	return {
		run: { id: run.runId, attempt: run.runAttempt },
		sha: isPull ? event.headSha : run.sha,
		pullRequest: isPull ? event.number : null,
		why: isPull ? null : "this run is for no pull request",
		event,
		isForeign: false,
		isRequested: isPull && event.newestSha !== undefined,
		isFork: isPull && event.isFork,
		// The jobs of our own run are trusted.
		isOfChange: async () => true,
	};
}

async function foreignSubject(event: WorkflowRunEvent, facts: RunFacts, repository: string) {
	const response = await facts.run(event.runId);
	if (response.state === "failed") {
		throw new ToolError({
			code: "part-missing",
			message: `The run that measured is not known: ${response.fault.message}`,
			fix: response.fault.fix,
		});
	}
	const { run } = response;
	const pull = await pullOf(run, facts);
	const isFork = run.headRepository.toLowerCase() !== repository.toLowerCase();
	const isOfChange = (commit: string) => isOfRun(commit, run, facts);
	return {
		run,
		sha: run.headSha,
		...pull,
		event: null,
		isForeign: true,
		isRequested: false,
		isFork,
		isOfChange,
	};
}

async function pullOf(run: MeasuredRun, facts: RunFacts) {
	const none = (why: string) => ({ pullRequest: null, why });
	if (!run.event.startsWith("pull_request"))
		return none(`the run was for ${run.event}, not for a pull request`);
	if (run.headRepository === "" || run.headBranch === "")
		return none("the branch of the pull request is gone");
	const listed = await facts.openPulls(run);
	if (listed.state === "failed") return none(`the pull request could not be found: ${listed.fault.message}`);
	const [only, second] = listed.pulls.filter((pull) => pull.headSha === run.headSha);
	if (only !== undefined && second === undefined) return { pullRequest: only.number, why: null };
	if (second !== undefined) return none("several open pull requests have this commit as their head");
	const [moved] = listed.pulls;
	if (moved === undefined) return none("no open pull request has this branch");
	return none(
		`pull request ${moved.number} has moved on to ${moved.headSha.slice(0, 7)}; this run measured ${run.headSha.slice(0, 7)}`,
	);
}

/** The head, or GitHub's merge of it, which actions/checkout takes by default. */
async function isOfRun(commit: string, run: MeasuredRun, facts: RunFacts) {
	if (commit === run.headSha) return true;
	if (!/^[0-9a-f]{40,64}$/.test(commit)) return false;
	const response = await facts.parents(commit);
	return response.state === "done" && response.parents.includes(run.headSha);
}
