import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { expect, onTestFinished } from "vitest";
import type { Result } from "../../generated/result.ts";
import { countWords } from "../../src/core/report/highlight.ts";
import { type ActionOptions, type ActionRun, runActionFolder } from "./action-runner.ts";
import { pullJob } from "./event-payloads.ts";
import { checkOut, commitAll, git, mergeCommit, serveAnyCommit, worktrees } from "./git-history.ts";
import { type Job, type LocalGitHub, startLocalGitHub } from "./local-github/start.ts";
import { type AtEnd, type ProjectFiles, readResult, temporaryFolder, writeProject } from "./project.ts";
import { comparisonFiles, installReplay, type Replay } from "./replay/install.ts";
import { shownFindings } from "./shown-lines.ts";

export type Comparison = Replay["comparison"];
export type Arm = "base" | "head";

export interface PlayedJob extends Omit<Job, "workspace" | "temp"> {
	/** An unchanged model by default. */
	replay?: Replay;
	inputs?: Record<string, string>;
	action?: "." | "plan" | "report" | "golden";
	/** 0: the full history. */
	depth?: number;
	checkedOut?: string;
	/** Above what the local GitHub gives; an empty value takes a variable away. */
	env?: Readonly<Record<string, string>>;
	more?: Partial<ActionOptions>;
}

export interface Played {
	run: ActionRun;
	workspace: string;
	out: string;
	result(): Result;
	childVariables(): string;
	env: Record<string, string>;
}

export interface Play {
	github: LocalGitHub;
	root: string;
	origin: string;
	commit(files: ProjectFiles, at: { onto?: string; ref?: string | undefined }): string;
	merge(pull: { number?: number; base: string; head: string }): string;
	tag(name: string, commit: string): void;
	sides(comparison: Comparison, changes?: Changes, headRef?: string): { base: string; head: string };
	pull(pushed: { base: string; head: string }, job?: Partial<PlayedJob>): Promise<Played>;
	run(job: PlayedJob): Promise<Played>;
}

export type Changes = readonly (readonly [from: string | RegExp, to: string])[];

export function armFiles(comparison: Comparison, arm: Arm, changes: Changes = []): ProjectFiles {
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
	serveAnyCommit(origin);
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
			return play.run({ ...pullJob({ base, head, merge: play.merge({ base, head }) }), ...job });
		},
		commit(files, { onto, ref }) {
			if (onto !== undefined) git(work, "checkout", "-q", "--force", "--detach", onto);
			writeProject(work, files);
			const commit = commitAll(work);
			if (ref !== undefined) push(commit, ref);
			return commit;
		},
		merge({ number = 7, base, head }) {
			const merge = mergeCommit(work, base, head);
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
	folder: string;
}

async function runJob({ github, origin, folder }: Place, job: PlayedJob): Promise<Played> {
	const {
		replay = { comparison: "same-model" },
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

export function lineOf(workspace: string, pattern: RegExp): number {
	const lines = readFileSync(join(workspace, "trtgate.yml"), "utf8").split("\n");
	return lines.findIndex((line) => pattern.test(line)) + 1;
}
