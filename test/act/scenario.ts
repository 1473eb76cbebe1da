import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startLocalGitHub } from "../support/local-github/start.ts";
import { quickProject, temporaryFolder } from "../support/project.ts";
import { jobsOf, readWorkflow } from "../support/workflows.ts";
import { findGoTool } from "./go-tools.ts";
import { type ActRun, makeRepository, type Repository, readExample, runAct } from "./run-act.ts";

const found = findGoTool("act");
if (found.state === "absent") console.warn(found.sentence);
export const test = it.skipIf(found.state === "absent");

type LocalGitHub = Awaited<ReturnType<typeof startLocalGitHub>>;

export async function localGitHub(
	options: Parameters<typeof startLocalGitHub>[0] = {},
): Promise<LocalGitHub> {
	const github = await startLocalGitHub(options);
	onTestFinished(github.close);
	return github;
}

export const good = (folder: string) => void quickProject(folder);
export const changed = (folder: string) =>
	writeFileSync(join(folder, "README.md"), "A change that no engine sees.\n");
export const wrong = (folder: string) => void quickProject(folder, { "model.onnx": "fixture:wrong.onnx" });

interface Scenario {
	event: string;
	payload: object;
	github?: LocalGitHub;
	repository?: Repository;
	programs?: Record<string, string>;
	actions?: Record<string, string>;
	edit?(text: string): string;
	ref?: string;
	isFork?: boolean;
	path?: string;
	docker?: string;
	runId?: number;
}

export async function runExample(
	name: string,
	scenario: Scenario,
): Promise<{ run: ActRun; github: LocalGitHub }> {
	if (found.state === "absent") throw new Error(found.sentence);
	const github = scenario.github ?? (await localGitHub());
	const repository = scenario.repository ?? makeRepository([good, changed]);
	const { event, payload, isFork = false, runId, edit = (text: string) => text } = scenario;
	const env = await github.environment({
		...{ event, payload, isFork, workspace: repository.folder, temp: temporaryFolder() },
		...{ sha: repository.commits.at(-1) ?? "", ref: scenario.ref ?? "refs/heads/main" },
		permissions: rightsOf(name),
		...(runId === undefined ? {} : { runId }),
	});
	const workflow = { name, text: edit(readExample(name)) };
	const { programs = {}, actions = {}, path, docker } = scenario;
	const run = await runAct({
		act: found.path,
		repository,
		workflow,
		event,
		env,
		programs,
		actions,
		...(path === undefined ? {} : { path }),
		...(docker === undefined ? {} : { docker }),
	});
	expect(run.log).not.toMatch(/\[github-permission\]/);
	expect(github.state.violations).toEqual([]);
	return { run, github };
}

/** act lends one token to all jobs: it may what any of them may. */
function rightsOf(name: string): Record<string, "read" | "write"> {
	const rights: Record<string, "read" | "write"> = {};
	for (const [, job] of jobsOf(readWorkflow(name, readExample(name))))
		for (const [scope, access] of Object.entries(job.permissions ?? {}))
			if (rights[scope] !== "write") rights[scope] = access as "read" | "write";
	return rights;
}

export const change = { branch: "change" };

export function pullPayload({ commits }: Repository, from = "acme/engines"): object {
	const [base = "", sha = ""] = commits.slice(-2);
	return {
		action: "synchronize",
		number: 7,
		pull_request: {
			number: 7,
			state: "open",
			draft: false,
			user: { login: "octocat" },
			head: { ref: "change", sha, repo: { full_name: from } },
			base: { ref: "main", sha: base, repo: { full_name: "acme/engines" } },
		},
	};
}

export const runPull = (name: string, repository: Repository, more: Partial<Scenario> = {}) =>
	runExample(name, { event: "pull_request", payload: pullPayload(repository), repository, ...more });

export const changedRepository = (): Repository => makeRepository([good, changed], change);

export function expectResults(run: ActRun, expected: Record<string, string[]>): void {
	expect(resultsOf(run), run.log).toEqual(expected);
}

export function resultsOf(run: ActRun): Record<string, string[]> {
	const results: Record<string, string[]> = {};
	for (const { job, result } of run.jobs) results[job] = [...(results[job] ?? []), result];
	return results;
}

export function ghStub(): { programs: Record<string, string>; calls(): string[] } {
	const log = join(temporaryFolder(), "calls");
	return {
		programs: { gh: `echo "$@" >> ${log}` },
		calls: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
	};
}

/** Stand-ins for what needs GitHub itself: artifacts come from the local one, and an attestation is written down. */
export function releaseActions(): {
	actions: Record<string, string>;
	attested(): { type: string; predicate: unknown; subjects: string[] };
	/** Runs a line of docs/releases.md in which `gh attestation verify` finds this attestation. */
	verify(line: string): number | null;
} {
	const [download, attest] = [temporaryFolder(), temporaryFolder()];
	const log = join(attest, "attested.json");
	const write = (folder: string, inputs: string, main: string): void => {
		writeFileSync(
			join(folder, "action.yml"),
			`name: stand-in\ninputs: ${inputs}\nruns: { using: node24, main: main.mjs }\n`,
		);
		writeFileSync(join(folder, "main.mjs"), main);
	};
	const toolkit = resolve("node_modules/@actions/artifact/lib/artifact.js");
	write(
		download,
		"{ pattern: {}, path: {} }",
		`import { DefaultArtifactClient } from ${JSON.stringify(toolkit)};
const client = new DefaultArtifactClient();
const { artifacts } = await client.listArtifacts();
const pattern = new RegExp("^" + process.env.INPUT_PATTERN.replaceAll("*", ".*") + "$");
for (const { id, name } of artifacts.filter(({ name }) => pattern.test(name)))
	await client.downloadArtifact(id, { path: process.env.INPUT_PATH + "/" + name });
`,
	);
	write(
		attest,
		"{ subject-path: {}, predicate-type: {}, predicate-path: {} }",
		`import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
const input = (name) => process.env["INPUT_" + name.toUpperCase()];
const subjects = input("subject-path").trim().split("\\n").flatMap((pattern) => globSync(pattern.trim())).filter((path) => statSync(path).isFile());
const predicate = JSON.parse(readFileSync(input("predicate-path"), "utf8"));
writeFileSync(${JSON.stringify(log)}, JSON.stringify({ type: input("predicate-type"), predicate, subjects }));
`,
	);
	return {
		actions: { "actions/download-artifact": download, "actions/attest": attest },
		attested: () => JSON.parse(readFileSync(log, "utf8")),
		verify(line) {
			const { type, predicate, subjects } = JSON.parse(readFileSync(log, "utf8"));
			const statement = {
				_type: "https://in-toto.io/Statement/v1",
				subject: subjects.map((name: string) => ({ name })),
				predicateType: type,
				predicate,
			};
			const found = join(temporaryFolder(), "found.json");
			writeFileSync(found, JSON.stringify([{ attestation: {}, verificationResult: { statement } }]));
			const gh = `gh() { while [ "$1" != --jq ]; do [ $# -gt 0 ] || return 9; shift; done; jq -r "$2" ${found}; }`;
			return spawnSync("sh", ["-c", `${gh}; ${line}`]).status;
		},
	};
}
