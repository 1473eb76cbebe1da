// Decides which parts may be merged: each once, of one commit, planned, and measured where no other part measured the same.

import type { ArmSource, GateResult, Result, WorkflowJob } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanName } from "../text/escape.ts";

export type PartContent =
	| { state: "read"; result: Result }
	| { state: "missing"; reason: string }
	/** `kind` runner: a retry may fix it. `fix`: what else does. */
	| { state: "refused"; reason: string; kind: "runner" | "configuration"; fix?: string };

export interface PartInput {
	name: string;
	artifact?: string;
	/** When its job uploaded it; GitHub's clock, in milliseconds. */
	uploadedMs?: number | undefined;
	content: PartContent;
}

export interface MergeOptions {
	/** Parts that the plan names; without it, whatever came is all there is. */
	expected?: readonly { name: string; artifact?: string }[] | undefined;
	/** The config that the report is on; without it, each part may be of another. */
	config?: string | undefined;
	/** The job that reports: parts must be of its run. Without it, they may be of any. */
	run?: WorkflowJob | undefined;
	/** A fork's own job made the parts. */
	unverified?: boolean | undefined;
	/** What the plan found about the whole change: each once, whatever the parts report of it. */
	review?: readonly GateResult[] | undefined;
	/** Commits that the head may be, where they are known from elsewhere. */
	headCommits?: readonly string[] | undefined;
	version: string;
	files: Result["files"];
}

export interface JudgedPart {
	name: string;
	artifact?: string;
	content: PartContent;
}

/** Every part that was expected or came, by name: the same whatever the order they came in. */
export function judgeParts(parts: readonly PartInput[], options: MergeOptions): JudgedPart[] {
	const came = onePerName(parts).map((part) => checkOrigin(checkPlanned(part, options.expected), options));
	const names = new Set(came.map(({ name }) => name));
	const missing = (options.expected ?? [])
		.filter(({ name }) => !names.has(name))
		.map(({ name, artifact }): JudgedPart => {
			const reason =
				"The plan lists this part, but it has no result: its job did not run, was cancelled, or could not upload.";
			return { name, artifact, content: { state: "missing", reason } };
		});
	const judged = agreeing(refuseForeignCommits(came, options.headCommits));
	return [...refuseDoubles(judged), ...missing].sort((a, b) =>
		a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
	);
}

function refuse(part: JudgedPart, reason: string): JudgedPart {
	return { ...part, content: { state: "refused", reason, kind: "configuration" } };
}

function onePerName(parts: readonly PartInput[]): JudgedPart[] {
	return [...groupBy(parts, ({ name }) => name).values()].flatMap(([first, ...others]) => {
		if (first === undefined) return [];
		return others.length === 0
			? [first]
			: [refuse(first, `${others.length + 1} results have this name; expected one.`)];
	});
}

function checkPlanned(part: JudgedPart, expected: MergeOptions["expected"]): JudgedPart {
	if (expected === undefined || expected.some(({ name }) => name === part.name)) return checkOwn(part);
	return refuse(part, "The plan lists no such part.");
}

function checkOwn(part: JudgedPart): JudgedPart {
	if (part.content.state !== "read" || part.content.result.parts === undefined) return part;
	return refuse(part, "It is a merged result itself; merge what it was made from.");
}

function checkOrigin(part: JudgedPart, { config, run }: MergeOptions): JudgedPart {
	if (part.content.state !== "read") return part;
	const { result } = part.content;
	if (config !== undefined && result.config.path !== config) {
		const [its, ours] = [result.config.path, config].map((path) => cleanName(path, 100));
		return refuse(
			part,
			`It is of the config ${its}; expected ${ours}. Give the gate and the report the same \`config\`.`,
		);
	}
	if (run === undefined || result.run === undefined || result.run.id === run.id) return part;
	return refuse(part, `It is of the workflow run ${result.run.id}; expected ${run.id}.`);
}

/** Where the commit is known from elsewhere, a result that names none could be of anything. */
function refuseForeignCommits(
	parts: readonly JudgedPart[],
	allowed: MergeOptions["headCommits"],
): JudgedPart[] {
	if (allowed === undefined) return [...parts];
	return parts.map((part) => {
		if (part.content.state !== "read") return part;
		const { commit } = part.content.result.arms.head;
		if (commit !== undefined && allowed.includes(commit)) return part;
		const says =
			commit === undefined
				? "names no commit that it measured (earlier steps changed tracked files?)"
				: `says that it measured commit ${short(commit)}`;
		return refuse(part, `It ${says}; expected ${allowed.map(short).join(" or ")}.`);
	});
}

/** With several commits it is unknown which is meant, so all parts are refused. */
function agreeing(parts: readonly JudgedPart[]): JudgedPart[] {
	const heads = commitsOf(parts, (result) => result.arms.head);
	const bases = commitsOf(parts, (result) => result.arms.base);
	return parts.map((part) => {
		if (part.content.state !== "read") return part;
		if (heads.size > 1) return refuse(part, differ("heads", heads));
		return bases.size > 1 ? refuse(part, differ("bases", bases)) : part;
	});
}

function commitsOf(parts: readonly JudgedPart[], arm: (result: Result) => ArmSource | null): Set<string> {
	return new Set(
		parts.flatMap(({ content }) => (content.state === "read" ? (arm(content.result)?.commit ?? []) : [])),
	);
}

function differ(what: string, commits: ReadonlySet<string>): string {
	return `The parts are of different commits, so it is unknown which is right: their ${what} are ${[...commits].sort().slice(0, 5).map(short).join(", ")}.`;
}

function short(commit: string): string {
	return cleanName(commit, 100).slice(0, 7);
}

/** Refuses parts that measured the same engine of the same config on the same kind of device: it is unknown which is right. */
function refuseDoubles(parts: readonly JudgedPart[]): JudgedPart[] {
	const owners = new Map<string, Set<string>>();
	for (const part of parts) {
		for (const key of measuredIn(part)) owners.set(key, (owners.get(key) ?? new Set()).add(part.name));
	}
	return parts.map((part) => {
		const double = measuredIn(part).find((key) => (owners.get(key)?.size ?? 0) > 1);
		if (double === undefined) return part;
		const others = [...(owners.get(double) ?? [])].filter((name) => name !== part.name).sort();
		const [, , model, engine] = JSON.parse(double) as string[];
		const subject = `${cleanName(model ?? "", 60)} · ${cleanName(engine ?? "", 60)}`;
		return refuse(
			part,
			`It measured ${subject} on the same device as ${others
				.slice(0, 3)
				.map((name) => cleanName(name, 60))
				.join(", ")} did.`,
		);
	});
}

function measuredIn({ content }: JudgedPart): string[] {
	if (content.state !== "read") return [];
	const { environment, backend, config, workloads, builds, golden } = content.result;
	const machine = JSON.stringify([
		backend.device,
		Object.entries(environment).sort(([a], [b]) => (a < b ? -1 : 1)),
	]);
	const engines = [...workloads, ...builds, ...golden].map(({ model, engine }) =>
		JSON.stringify([machine, config.path, model, engine]),
	);
	return [...new Set(engines)];
}

// Finds the parts among a run's artifacts by their names: the latest try of each, and two of one try are two results.

interface NamedArtifact {
	id: number;
	name: string;
}

export interface PickedPart<Artifact extends NamedArtifact> {
	name: string;
	artifact: Artifact;
}

/** How the gate names an artifact whose usual name is taken: the try of the run, and a number where that is taken too. */
const again = /^(.+)-attempt(\d{1,6})(?:-[2-5])?$/;

interface Candidate<Artifact> {
	name: string;
	attempt: number;
	artifact: Artifact;
}

/** In the order of their ids, which grow with time. */
export function pickArtifacts<Artifact extends NamedArtifact>(
	artifacts: readonly Artifact[],
	expected: readonly { name: string; artifact: string }[],
): PickedPart<Artifact>[] {
	// One try cannot take a name twice, so the same name again is a later try's.
	const newest = new Map(
		[...artifacts].sort((a, b) => a.id - b.id).map((artifact) => [artifact.name, artifact]),
	);
	const candidates = [...newest.values()].flatMap((artifact) => candidateOf(artifact, expected) ?? []);
	return [...groupBy(candidates, ({ name }) => name).values()].flatMap(latest);
}

function candidateOf<Artifact extends NamedArtifact>(
	artifact: Artifact,
	expected: readonly { name: string; artifact: string }[],
): Candidate<Artifact> | null {
	const exact = expected.find((part) => part.artifact === artifact.name);
	if (exact !== undefined) return { name: exact.name, attempt: 0, artifact };
	const match = again.exec(artifact.name);
	const planned = expected.find((part) => part.artifact === match?.[1]);
	return planned === undefined ? null : { name: planned.name, attempt: Number(match?.[2]), artifact };
}

/** The first try of a run takes the usual name, so the usual name and `-attempt1` are of the same try. */
function latest<Artifact extends NamedArtifact>(
	candidates: readonly Candidate<Artifact>[],
): PickedPart<Artifact>[] {
	const tryOf = ({ attempt }: Candidate<Artifact>): number => Math.max(1, attempt);
	const last = Math.max(...candidates.map(tryOf));
	return candidates
		.filter((candidate) => tryOf(candidate) === last)
		.map(({ name, artifact }) => ({ name, artifact }));
}
