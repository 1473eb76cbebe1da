// Decides which parts may be merged, and which results of an earlier attempt still count.
import type { Arm, GateResult, Result, WorkflowJob } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanName } from "../text/escape.ts";

export type PartContent =
	| { state: "read"; result: Result }
	| { state: "missing"; reason: string }
	| { state: "refused"; reason: string; kind: "runner" | "configuration"; fix?: string };

export interface PartInput {
	name: string;
	artifact?: string;
	uploadedMs?: number | undefined;
	content: PartContent;
}

export interface MergeOptions {
	expected?: readonly { name: string; artifact?: string }[] | undefined;
	config?: string | undefined;
	/** The job that reports; parts must be of its run. Absent: any. */
	run?: WorkflowJob | undefined;
	unverified?: boolean | undefined;
	review?: readonly GateResult[] | undefined;
	headCommits?: readonly string[] | undefined;
	version: string;
	files: Result["files"];
}

export interface JudgedPart {
	name: string;
	artifact?: string;
	content: PartContent;
}

export function resultOf({ content }: Pick<JudgedPart, "content">): Result | undefined {
	return content.state === "read" ? content.result : undefined;
}

export function judgeParts(parts: readonly PartInput[], options: MergeOptions): JudgedPart[] {
	const came = [...groupBy(parts, ({ name }) => name).values()].map(([first, ...others]) => {
		const reason =
			others.length === 0
				? faultOf(first, options)
				: `${others.length + 1} results have this name; expected one.`;
		return reason === null ? first : refuse(first, reason);
	});
	const reason =
		"The plan lists this part, but it has no result: its job did not run, was cancelled, or could not upload.";
	const missing = (options.expected ?? [])
		.filter(({ name }) => !came.some((part) => part.name === name))
		.map(({ name, artifact }): JudgedPart => ({ name, artifact, content: { state: "missing", reason } }));
	return [...refuseDoubles(agreeing(came)), ...missing].sort((a, b) =>
		a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
	);
}

function refuse(part: JudgedPart, reason: string): JudgedPart {
	return { ...part, content: { state: "refused", reason, kind: "configuration" } };
}

function faultOf(part: JudgedPart, { expected, config, run, headCommits }: MergeOptions) {
	if (expected !== undefined && !expected.some(({ name }) => name === part.name))
		return "The plan lists no such part.";
	const result = resultOf(part);
	if (result === undefined) return null;
	if (result.parts !== undefined) return "It is a merged result itself; merge what it was made from.";
	if (config !== undefined && result.config.path !== config) {
		const its = cleanName(result.config.path, 100);
		return `It is of the config ${its}; expected ${cleanName(config, 100)}. Give the gate and the report the same \`config\`.`;
	}
	if (run !== undefined && result.run !== undefined && result.run.id !== run.id)
		return `It is of the workflow run ${result.run.id}; expected ${run.id}.`;
	return headCommits === undefined ? null : commitFault(result, headCommits);
}

/** If the commit is known, a result must name it, or it could belong to any run. */
function commitFault({ arms }: Result, allowed: readonly string[]) {
	const { commit } = arms.head;
	if (commit !== undefined && allowed.includes(commit)) return null;
	const says =
		commit === undefined
			? "names no commit that it measured (earlier steps changed tracked files?)"
			: `says that it measured commit ${short(commit)}`;
	return `It ${says}; expected ${allowed.map(short).join(" or ")}.`;
}

function agreeing(parts: readonly JudgedPart[]) {
	const commitsOf = (arm: Arm) => new Set(parts.flatMap((part) => resultOf(part)?.arms[arm]?.commit ?? []));
	const arm = (["head", "base"] as const).find((one) => commitsOf(one).size > 1);
	if (arm === undefined) return [...parts];
	const commits = [...commitsOf(arm)].sort().slice(0, 5).map(short).join(", ");
	const reason = `The parts are of different commits, so it is unknown which is right: their ${arm}s are ${commits}.`;
	return parts.map((part) => (resultOf(part) === undefined ? part : refuse(part, reason)));
}

function short(commit: string) {
	return cleanName(commit, 100).slice(0, 7);
}

/** Two parts must not measure one engine of one config on the same kind of device. */
function refuseDoubles(parts: readonly JudgedPart[]) {
	const measured = parts.flatMap((part) => measuredIn(part).map((key) => ({ key, part })));
	const owners = groupBy(measured, ({ key }) => key);
	return parts.map((part) => {
		const double = measuredIn(part).find((key) => (owners.get(key)?.length ?? 0) > 1);
		if (double === undefined) return part;
		const others = (owners.get(double) ?? []).map((owner) => owner.part.name).sort();
		const [, , model = "", engine = ""] = JSON.parse(double) as string[];
		const named = others.filter((name) => name !== part.name).map((name) => cleanName(name, 60));
		const subject = `${cleanName(model, 60)} · ${cleanName(engine, 60)}`;
		return refuse(part, `It measured ${subject} on the same device as ${named.slice(0, 3).join(", ")} did.`);
	});
}

function measuredIn(part: JudgedPart) {
	const result = resultOf(part);
	if (result === undefined) return [];
	const { environment, backend, config, workloads, builds, golden } = result;
	const machine = JSON.stringify([
		backend.device,
		Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1)),
	]);
	const engines = [...workloads, ...builds, ...golden].map(({ model, engine }) =>
		JSON.stringify([machine, config.path, model, engine]),
	);
	return [...new Set(engines)];
}

interface NamedArtifact {
	id: number;
	name: string;
}

export interface PickedPart<Artifact extends NamedArtifact> {
	name: string;
	artifact: Artifact;
}

/** The gate gives an artifact this name if its usual name is taken. */
const again = /^(.+)-attempt(\d{1,6})(?:-[2-5])?$/;

export function pickArtifacts<Artifact extends NamedArtifact>(
	artifacts: readonly Artifact[],
	expected: readonly { name: string; artifact: string }[],
): PickedPart<Artifact>[] {
	const newest = new Map(
		[...artifacts].sort((a, b) => a.id - b.id).map((artifact) => [artifact.name, artifact]),
	);
	const candidates = [...newest.values()].flatMap((artifact) => {
		const exact = expected.find((part) => part.artifact === artifact.name);
		const match = exact === undefined ? again.exec(artifact.name) : null;
		const planned = exact ?? expected.find((part) => part.artifact === match?.[1]);
		// The first attempt takes the usual name, then `-attempt1`.
		const attempt = Math.max(1, Number(match?.[2] ?? 0));
		return planned === undefined ? [] : [{ name: planned.name, attempt, artifact }];
	});
	return [...groupBy(candidates, ({ name }) => name).values()].flatMap((own) => {
		const last = Math.max(...own.map(({ attempt }) => attempt));
		return own.filter(({ attempt }) => attempt === last).map(({ name, artifact }) => ({ name, artifact }));
	});
}

export interface JobExecution {
	name: string;
	runner: string;
	startedMs: number;
	completedMs: number | null;
}

export type JobHistory =
	| { state: "listed"; jobs: readonly JobExecution[] }
	| { state: "unknown"; why: string };

function attemptOf(part: PartInput) {
	const result = resultOf(part);
	return result === undefined ? null : (result.run?.attempt ?? 0);
}

export function hasEarlier(parts: readonly PartInput[], attempt: number): boolean {
	return attempt > 1 && parts.some((part) => (attemptOf(part) ?? attempt) < attempt);
}

export function dropSuperseded(
	parts: readonly PartInput[],
	attempt: number,
	history: JobHistory,
): PartInput[] {
	return parts.map((part) => {
		const its = attemptOf(part);
		if (its === null || !hasEarlier([part], attempt)) return part;
		const reason = supersededReason(part, its, attempt, history);
		return reason === null ? part : { ...part, content: { state: "missing", reason } };
	});
}

function supersededReason(part: PartInput, its: number, attempt: number, history: JobHistory) {
	if (its === 0) return `Its result does not say which attempt it is from; expected attempt ${attempt}.`;
	const unknown = (why: string) =>
		`Its last result is from attempt ${its}, and it is unknown whether its job was run again: ${why}`;
	if (history.state === "unknown") return unknown(history.why);
	const made = executionsOf(part, history.jobs);
	const [first] = made;
	if (first === undefined) return unknown("GitHub lists no job on its runner at the time of its upload.");
	const isAgain = history.jobs.some(
		(job) => job.name === first.name && made.every(({ startedMs }) => startedMs < job.startedMs),
	);
	return isAgain
		? `Its job was run again in attempt ${attempt} and left no result; that of attempt ${its} does not count.`
		: null;
}

/** A runner has one job at a time. GitHub may list an execution once for each attempt that it counts for. */
function executionsOf(part: PartInput, jobs: readonly JobExecution[]) {
	const { uploadedMs } = part;
	const runner = resultOf(part)?.run?.runner;
	if (runner === undefined || uploadedMs === undefined) return [];
	const made = jobs.filter(
		(job) =>
			job.runner === runner &&
			job.startedMs <= uploadedMs &&
			(job.completedMs ?? Infinity) + 1000 >= uploadedMs,
	);
	return new Set(made.map(({ name }) => name)).size === 1 ? made : [];
}
