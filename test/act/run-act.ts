import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { afterAll } from "vitest";
import { compileCache } from "../support/compile-cache.ts";
import { git } from "../support/git-history.ts";
import { temporaryFolder } from "../support/project.ts";

/** What stands in the examples where the user puts the commit of trtgate. */
const placeholder = "0".repeat(40);

export interface JobRun {
	job: string;
	result: "success" | "failure";
}

export interface ActRun {
	exit: number | null;
	jobs: JobRun[];
	log: string;
	summaries: string[];
}

export interface Repository {
	folder: string;
	/** Oldest first. */
	commits: string[];
}

/** One commit for each state, tagged v1, v2, …; `branch` gets the last. */
export function makeRepository(
	states: readonly ((folder: string) => void)[],
	options: { branch?: string } = {},
): Repository {
	const folder = temporaryFolder();
	git(folder, "init", "--quiet");
	const commits = states.map((write, index) => {
		if (index === states.length - 1 && options.branch !== undefined)
			git(folder, "switch", "--quiet", "--create", options.branch);
		write(folder);
		git(folder, "add", "--all");
		git(folder, "commit", "--quiet", "--allow-empty", "--message", `State ${index + 1}`);
		git(folder, "tag", `v${index + 1}`);
		return git(folder, "rev-parse", "HEAD");
	});
	return { folder, commits };
}

/** One for all runs of a file, which only read it. */
const action = temporaryFolder(afterAll);
let isWritten = false;

function actionFolder(): string {
	if (isWritten) return action;
	isWritten = true;
	for (const name of ["action.yml", "package.json", "plan", "report", "golden", "composite"])
		if (existsSync(name)) cpSync(name, join(action, name), { recursive: true });
	cpSync(process.env["TRTGATE_DIST"] ?? "dist", join(action, "dist"), { recursive: true });
	return action;
}

/** act copies the repository itself; what is left to check out is trtgate, which lies here. */
function checkoutFolder(from: string): string {
	const folder = temporaryFolder();
	const lines = [
		"name: checkout",
		"inputs: { repository: {}, ref: {}, path: {}, lfs: {}, fetch-depth: {}, persist-credentials: {} }",
		"runs:",
		"  using: composite",
		"  steps:",
		"    - shell: sh",
		`      run: cp -r ${from} "$GITHUB_WORKSPACE/\${{ inputs.path }}"`,
	];
	writeFileSync(join(folder, "action.yml"), `${lines.join("\n")}\n`);
	return folder;
}

const checkoutOf = (text: string): string => pinOf(text, "actions/checkout");

function pinOf(text: string, action: string): string {
	return new RegExp(`${action}@[0-9a-f]{40}`).exec(text)?.[0] ?? `${action}@v0`;
}

export interface ActOptions {
	act: string;
	repository: Repository;
	workflow: { name: string; text: string };
	event: string;
	env: Readonly<Record<string, string>>;
	/** Shell scripts in front of the PATH, by name. */
	programs?: Readonly<Record<string, string>>;
	actions?: Readonly<Record<string, string>>;
	docker?: string;
	path?: string;
}

/** All else act knows itself: the event, the commit, the job, the folders. */
const services = /^(ACTIONS_.*|GITHUB_(API_URL|GRAPHQL_URL|SERVER_URL|REPOSITORY|RUN_ID|RUN_ATTEMPT))$/;

/** No container, no network: `uses:` of trtgate and of checkout come from folders, labels mean this machine. */
export async function runAct(options: ActOptions): Promise<ActRun> {
	const { repository, workflow, env } = options;
	const home = temporaryFolder();
	const path = join(repository.folder, ".github/workflows", workflow.name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, workflow.text);
	const { GITHUB_EVENT_PATH: eventPath = "", GITHUB_TOKEN: token = "" } = env;
	const variables = Object.entries(env).filter(([name]) => services.test(name));
	writeFileSync(join(home, "env"), variables.map(([name, value]) => `${name}=${value}\n`).join(""));
	const folder = actionFolder();
	const labels = [...new Set(["ubuntu-latest", "self-hosted", ...labelsOf(workflow.text)])];
	const argv = [
		...[options.event, "--workflows", path, "--eventpath", eventPath, "--env-file", join(home, "env")],
		...["--secret", `GITHUB_TOKEN=${token}`, "--no-cache-server", "--action-offline-mode", "--json"],
		...labels.flatMap((label) => ["--platform", `${label}=-self-hosted`]),
		...["--local-repository", `trtgate/trtgate@${placeholder}=${folder}`],
		...["--local-repository", `${checkoutOf(workflow.text)}=${checkoutFolder(folder)}`],
		...Object.entries(options.actions ?? {}).flatMap(([name, folder]) => [
			"--local-repository",
			`${pinOf(workflow.text, name)}=${folder}`,
		]),
	];
	const node = dirname(process.execPath);
	const child = spawn(options.act, argv, {
		cwd: repository.folder,
		// The first Node on PATH is the one that runs JavaScript actions.
		env: {
			HOME: home,
			XDG_CACHE_HOME: join(home, ".cache"),
			NODE_COMPILE_CACHE: compileCache,
			DOCKER_HOST: options.docker ?? "",
			PATH: [programFolder(options.programs), node, options.path ?? process.env["PATH"]].join(":"),
		},
		stdio: ["ignore", "pipe", "pipe"],
	});
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text) => (output += text));
	const exit = await new Promise<number | null>((settle, reject) =>
		child.on("error", reject).on("close", settle),
	);
	return { exit, ...readLog(output) };
}

function labelsOf(text: string): string[] {
	return [...text.matchAll(/scale-set: ([\w-]+)/g)].map((match) => match[1] ?? "");
}

function programFolder(programs: Readonly<Record<string, string>> = {}): string {
	const folder = temporaryFolder();
	for (const [name, script] of Object.entries(programs)) {
		writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
		chmodSync(join(folder, name), 0o755);
	}
	return folder;
}

interface LogLine {
	jobID?: string;
	jobResult?: "success" | "failure";
	msg?: string;
	command?: string;
	content?: string;
}

function readLog(output: string): Omit<ActRun, "exit"> {
	const lines = output.split("\n").flatMap((line): LogLine[] => {
		try {
			return [JSON.parse(line)];
		} catch {
			return line === "" ? [] : [{ msg: line }];
		}
	});
	return {
		jobs: lines.flatMap(({ jobID: job, jobResult: result }) =>
			job !== undefined && result !== undefined ? [{ job, result }] : [],
		),
		log: lines.map(({ msg }) => msg ?? "").join("\n"),
		summaries: lines.flatMap(({ command, content }) =>
			command === "summary" && content !== undefined ? [content] : [],
		),
	};
}

export function readExample(name: string): string {
	return readFileSync(resolve("workflows-examples", name), "utf8");
}

export function withoutContainer(text: string): string {
	return text.replace(/^ {4}container:\n(?: {6}.*\n)+/m, "");
}
