// Plays a workflow's job as people meet it: a real repository with an origin, a runner's clone of it, recorded GPU comparisons, and the local GitHub.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { expect, onTestFinished } from "vitest";
import type { Result } from "../../generated/result.ts";
import { countWords } from "../../src/core/report/highlight.ts";
import { type ActionOptions, type ActionRun, runActionFolder } from "./action-runner.ts";
import { pullRequest } from "./event-payloads.ts";
import { checkOut, commitAll, git, worktrees } from "./git-history.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "./local-github/start.ts";
import { type AtEnd, readResult, temporaryFolder, writeProject } from "./project.ts";
import { comparisonFiles, installReplay, type Replay } from "./replay/install.ts";
import { shownFindings } from "./shown-lines.ts";

export type Comparison = Replay["comparison"];
export type Arm = "base" | "head";
type Files = Readonly<Record<string, string | Uint8Array>>;

export interface PlayedJob extends Omit<Job, "workspace" | "temp"> {
	replay: Replay;
	inputs?: Record<string, string>;
	action?: "." | "plan" | "report" | "golden";
	/** Depth of the clone; 1 as from actions/checkout, 0 for the full history. */
	depth?: number;
	/** Commit that is checked out; that of the event by default. */
	checkedOut?: string;
	/** Above what the local GitHub gives; an empty value takes a variable away. */
	env?: Readonly<Record<string, string>>;
	more?: Partial<ActionOptions>;
}

export interface Played {
	run: ActionRun;
	workspace: string;
	out: string;
	/** Throws where the run left none. */
	result(): Result;
	/** Variables of every trtexec, nvidia-smi and git that the action started. */
	childVariables(): string;
	env: Record<string, string>;
}

export interface Play {
	github: LocalGitHub;
	root: string;
	origin: string;
	/** Commits files on top of a commit, or as the first one; `ref` names it in the origin. */
	commit(files: Files, at: { onto?: string; ref?: string | undefined }): string;
	merge(pull: { number: number; base: string; head: string }): string;
	tag(name: string, commit: string): void;
	/** Commits both sides of a comparison: the base as main, the head onto it. */
	sides(comparison: Comparison, changes?: Changes, headRef?: string): { base: string; head: string };
	pull(
		pushed: { base: string; head: string },
		job: Pick<PlayedJob, "replay"> & Partial<PlayedJob>,
	): Promise<Played>;
	/** Main and post on a runner of its own; what it left lies there until the next job. */
	run(job: PlayedJob): Promise<Played>;
}

/** Texts of trtgate.yml that a play writes in another way. */
export type Changes = readonly (readonly [from: string | RegExp, to: string])[];

/** Content of a commit: one side of a recorded comparison. */
export function armFiles(comparison: Comparison, arm: Arm, changes: Changes = []): Files {
	const files = comparisonFiles(comparison, arm);
	return {
		...files,
		"trtgate.yml": changes.reduce((text, [from, to]) => text.replace(from, to), String(files["trtgate.yml"])),
	};
}

export async function openPlay(atEnd: AtEnd = onTestFinished): Promise<Play> {
	const root = temporaryFolder(atEnd);
	const [work, origin] = [join(root, "work"), join(root, "origin.git")];
	mkdirSync(work);
	git(work, "init", "-q");
	git(root, "init", "-q", "--bare", origin);
	for (const setting of ["allowAnySHA1InWant", "allowFilter"])
		git(origin, "config", `uploadpack.${setting}`, "true");
	// Nothing has to be sent from one to the other.
	writeProject(origin, { "objects/info/alternates": `${join(work, ".git/objects")}\n` });
	const github = await startLocalGitHub({ gitDir: origin });
	atEnd(() => github.close());
	const push = (commit: string, ref: string): void => void writeProject(origin, { [ref]: `${commit}\n` });
	const play: Play = {
		github,
		root,
		origin,
		sides(comparison, changes = [], headRef) {
			const base = play.commit(armFiles(comparison, "base", changes), { ref: "refs/heads/main" });
			const head = play.commit(armFiles(comparison, "head", changes), { onto: base, ref: headRef });
			return { base, head };
		},
		pull({ base, head }, job) {
			const merge = play.merge({ number: 7, base, head });
			const payload = pullRequest({ head, base, merge });
			return play.run({ event: "pull_request", payload, sha: merge, ref: "refs/pull/7/merge", ...job });
		},
		commit(files, { onto, ref }) {
			if (onto !== undefined) git(work, "checkout", "-q", "--force", "--detach", onto);
			writeProject(work, files);
			const commit = commitAll(work);
			if (ref !== undefined) push(commit, ref);
			return commit;
		},
		merge({ number, base, head }) {
			const tree = git(work, "rev-parse", `${head}^{tree}`);
			const merge = git(
				work,
				"commit-tree",
				tree,
				"-p",
				base,
				"-p",
				head,
				"-m",
				`Merge ${head} into ${base}`,
			);
			push(head, `refs/pull/${number}/head`);
			push(merge, `refs/pull/${number}/merge`);
			return merge;
		},
		tag: (name, commit) => push(commit, `refs/tags/${name}`),
		run: (job) => runJob({ github, origin, folder: join(root, "runner") }, job),
	};
	return play;
}

/** Closed at the end of the test, which fails if a request was none that GitHub would take. */
export async function openLocalGitHub(options?: Parameters<typeof startLocalGitHub>[0]) {
	const github = await startLocalGitHub(options);
	onTestFinished(async () => {
		await github.close();
		expect(github.state.violations).toEqual([]);
	});
	return github;
}

interface Place {
	github: LocalGitHub;
	origin: string;
	/** Temporary folder of the runner: the same for every job, and empty when one starts. */
	folder: string;
}

async function runJob({ github, origin, folder }: Place, job: PlayedJob): Promise<Played> {
	const {
		replay,
		inputs = {},
		action = ".",
		depth = 1,
		checkedOut = job.sha,
		env: above = {},
		more = {},
		...event
	} = job;
	const [workspace, temp] = [join(folder, "engines"), join(folder, "temp")];
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(join(temp, "home"), { recursive: true });
	// A report needs no checkout.
	if (action !== "report") checkOut({ origin, folder: workspace, ref: job.ref, commit: checkedOut, depth });
	else mkdirSync(workspace);
	const variables = join(folder, "variables.txt");
	const given = await github.environment({ ...event, workspace, temp });
	const env = Object.fromEntries(
		Object.entries({
			...given,
			...{ PATH: installWatched(folder, replay, variables), HOME: join(temp, "home"), TRTGATE_LOCKS: temp },
			...above,
		}).filter(([, value]) => value !== ""),
	);
	const run = await runActionFolder(action, { inputs, env, cwd: workspace, post: action === ".", ...more });
	const out = join(workspace, inputs["out"] ?? (action === "." ? "trtgate-out" : "trtgate-merged"));
	return {
		...{ run, workspace, out, env },
		result: () => {
			expect(existsSync(join(out, "result.json")), run.stdout + run.stderr).toBe(true);
			return readResult(out);
		},
		childVariables: () => (existsSync(variables) ? readFileSync(variables, "utf8") : ""),
	};
}

/** The replaying programs, and git, each of which writes down what variables it was given. */
function installWatched(folder: string, replay: Replay, variables: string): string {
	const path = installReplay(folder, replay);
	const bin = join(folder, "replay-bin");
	const realGit = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
	writeFileSync(join(bin, "git"), `#!/bin/sh\nexec ${realGit} "$@"\n`, { mode: 0o755 });
	for (const name of readdirSync(bin)) {
		const program = join(bin, name);
		const text = readFileSync(program, "utf8");
		if (text.startsWith("#!/bin/sh\n"))
			writeFileSync(program, text.replace("\n", `\nexport -p >> "${variables}"\n`));
	}
	return path;
}

export function readArchive(archive: Buffer): Map<string, Buffer> {
	const files = new Map<string, Buffer>();
	const end = archive.lastIndexOf(Buffer.from("PK\u0005\u0006", "latin1"));
	let at = archive.readUInt32LE(end + 16);
	for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
		const [method, packedBytes] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
		const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((offset) =>
			archive.readUInt16LE(at + offset),
		) as [number, number, number];
		const local = archive.readUInt32LE(at + 42);
		const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
		const packed = archive.subarray(start, start + packedBytes);
		const name = archive.toString("utf8", at + 46, at + 46 + nameBytes);
		if (!name.endsWith("/")) files.set(name, method === 8 ? inflateRawSync(packed) : packed);
		at += 46 + nameBytes + extraBytes + commentBytes;
	}
	return files;
}

/** Files of an artifact; a file uploaded unzipped is under its own name. */
export function artifactFiles(github: LocalGitHub, name: string): Map<string, Buffer> {
	const { artifacts, blobs } = github.state;
	const artifact = artifacts.find((one) => one.name === name);
	const content = blobs.get(artifact?.blob ?? "")?.content;
	if (artifact === undefined || content === undefined)
		throw new Error(`no artifact ${name} among ${artifacts.map((one) => one.name)}`);
	return content.subarray(0, 2).toString() === "PK" ? readArchive(content) : new Map([[name, content]]);
}

function filesBelow(folder: string): string[] {
	return readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));
}

/** The clone is as actions/checkout left it, and no right of the job got to a program, a file, a log or an artifact. */
export function expectTidy({ github }: Play, { run, workspace, out, env, childVariables }: Played): void {
	expect(worktrees(workspace)).toHaveLength(1);
	expect(git(workspace, "status", "--porcelain", "--", ".", ":!trtgate-out")).toBe("");
	for (const left of ["scratch", "worktrees"]) expect(existsSync(join(out, left)), left).toBe(false);
	const secrets = [env["GITHUB_TOKEN"], env["ACTIONS_RUNTIME_TOKEN"]].filter(
		(secret) => secret !== undefined,
	);
	expect(secrets.length).toBeGreaterThan(0);
	const texts: [string, string | Buffer][] = [
		["stdout", run.stdout],
		["stderr", run.stderr],
		["summary", run.summary],
		["outputs", JSON.stringify({ ...run.outputs, ...run.state })],
		["variables of programs", childVariables()],
		...filesBelow(out).map((path): [string, Buffer] => [path, readFileSync(path)]),
		...github.state.artifacts.flatMap(({ name }) => [...artifactFiles(github, name)]),
	];
	for (const { body } of github.state.comments)
		for (const finding of shownFindings(body)) expect(countWords(finding), finding).toBeLessThanOrEqual(60);
	for (const [where, text] of texts)
		for (const secret of secrets) expect(text.includes(secret), `a token in ${where}`).toBe(false);
	expect(github.state.violations).toEqual([]);
}

/** 1-based line of trtgate.yml that matches. */
export function lineOf(workspace: string, pattern: RegExp): number {
	const lines = readFileSync(join(workspace, "trtgate.yml"), "utf8").split("\n");
	return lines.findIndex((line) => pattern.test(line)) + 1;
}
