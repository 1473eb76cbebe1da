import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createProcesses, type Processes } from "../../src/adapters/process/processes.ts";
import { childEnvironment } from "../../src/host/adapters/github/env.ts";

const settings = [
	"user.name=t",
	"user.email=t@example.invalid",
	"commit.gpgsign=false",
	"init.defaultBranch=main",
	"protocol.file.allow=always",
	"core.compression=0",
	"gc.auto=0",
	"maintenance.auto=false",
];

/** Excludes the configuration of this machine and user from tests. */
const unconfigured = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };

export function git(folder: string, ...args: string[]): string {
	const given = settings.flatMap((setting) => ["-c", setting]);
	return execFileSync("git", [...given, ...args], {
		cwd: folder,
		env: { ...childEnvironment(), ...unconfigured },
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
		stdio: ["ignore", "pipe", "ignore"],
	}).trim();
}

export function commitAll(folder: string, message = "Change"): string {
	git(folder, "add", "-A");
	git(folder, "commit", "-q", "--allow-empty", "-m", message);
	return git(folder, "rev-parse", "HEAD");
}

/** As the runner's merge: the base is its first parent. */
export function mergeCommit(folder: string, base: string, head: string): string {
	const message = `Merge ${head} into ${base}`;
	return git(folder, "commit-tree", `${head}^{tree}`, "-p", base, "-p", head, "-m", message);
}

export function serveAnyCommit(origin: string): void {
	for (const setting of ["allowAnySHA1InWant", "allowFilter"])
		git(origin, "config", `uploadpack.${setting}`, "true");
}

export function gitProcesses(env: Readonly<Record<string, string>> = {}): Processes {
	return createProcesses({ env: { ...childEnvironment(), ...unconfigured, ...env } });
}

export function worktrees(folder: string): string[] {
	return git(folder, "worktree", "list").split("\n");
}

export interface DrawnCommit {
	name: string;
	parents?: readonly string[];
	/** Files that this commit writes beside `name`, which holds its name; all that it inherits stay. */
	files?: Readonly<Record<string, string>>;
}

export interface Drawing {
	commits: readonly DrawnCommit[];
	refs: Readonly<Record<string, string>>;
	annotated?: Readonly<Record<string, string>>;
}

const who = "t <t@example.invalid>";
/** Commits lie an hour apart, in the order they are drawn. */
const firstSeconds = 1_760_000_000;

export function line(name: string, count: number, from?: string): DrawnCommit[] {
	return Array.from({ length: count }, (_, index) => {
		const parent = index === 0 ? from : `${name}-${index - 1}`;
		return { name: `${name}-${index}`, ...(parent === undefined ? {} : { parents: [parent] }) };
	});
}

export function drawRepository(folder: string, drawing: Drawing): Map<string, string> {
	mkdirSync(folder, { recursive: true });
	git(folder, "init", "-q", "--bare");
	serveAnyCommit(folder);
	const marks = new Map(drawing.commits.map(({ name }, index) => [name, index + 1]));
	const lines = drawing.commits.flatMap((commit, index) => drawCommit(commit, index, marks));
	for (const [ref, name] of Object.entries(drawing.refs))
		lines.push(`reset ${ref}`, `from :${marks.get(name)}`, "");
	for (const [tag, name] of Object.entries(drawing.annotated ?? {})) {
		lines.push(
			`tag ${tag}`,
			`from :${marks.get(name)}`,
			`tagger ${who} ${firstSeconds} +0000`,
			`data ${tag.length}`,
			tag,
		);
	}
	const path = join(folder, "marks");
	const given = ["fast-import", "--quiet", "--force", `--export-marks=${path}`];
	execFileSync("git", given, {
		cwd: folder,
		input: `${lines.join("\n")}\n`,
		stdio: ["pipe", "ignore", "inherit"],
	});
	const hashes = new Map(
		execFileSync("cat", [path], { encoding: "utf8" })
			.trim()
			.split("\n")
			.map((text) => [Number(text.slice(1).split(" ")[0]), text.split(" ")[1] ?? ""] as const),
	);
	return new Map([...marks].map(([name, mark]) => [name, hashes.get(mark) ?? ""]));
}

function drawCommit(commit: DrawnCommit, index: number, marks: ReadonlyMap<string, number>): string[] {
	const { name, parents = [], files = {} } = commit;
	const [first, ...others] = parents.map((parent) => `:${marks.get(parent)}`);
	const written = Object.entries({ name, ...files });
	return [
		`commit refs/drawn/${name}`,
		`mark :${index + 1}`,
		`committer ${who} ${firstSeconds + index * 3600} +0000`,
		`data ${Buffer.byteLength(name)}`,
		name,
		...(first === undefined ? [] : [`from ${first}`]),
		...others.map((other) => `merge ${other}`),
		...written.flatMap(([path, text]) => [
			`M 100644 inline ${path}`,
			`data ${Buffer.byteLength(text)}`,
			text,
		]),
		"",
	];
}

/** Commits that a server still has and no branch names, as after a forced push; what is not named by a ref of ours goes. */
export function forgetDrawing(folder: string): void {
	const names = git(folder, "for-each-ref", "--format=%(refname)", "refs/drawn").split("\n");
	execFileSync("git", ["update-ref", "--stdin"], {
		cwd: folder,
		input: names.map((name) => `delete ${name}\n`).join(""),
	});
}

export interface Checkout {
	origin: string;
	folder: string;
	ref: string;
	commit: string;
	/** 0: all history, branches and tags. */
	depth: number;
}

/** As actions/checkout does. */
export function checkOut({ origin, folder, ref, commit, depth }: Checkout): string {
	mkdirSync(folder, { recursive: true });
	git(folder, "init", "-q");
	git(folder, "remote", "add", "origin", `file://${origin}`);
	const local = ref.replace(/^refs\/(heads|pull)\//, (_, kind) =>
		kind === "heads" ? "refs/remotes/origin/" : "refs/remotes/pull/",
	);
	if (depth === 0)
		git(
			folder,
			"fetch",
			"-q",
			"--prune",
			"origin",
			"+refs/heads/*:refs/remotes/origin/*",
			"+refs/tags/*:refs/tags/*",
		);
	const depths = depth === 0 ? [] : [`--depth=${depth}`];
	git(folder, "fetch", "-q", "--no-tags", ...depths, "origin", depth === 0 ? commit : `+${commit}:${local}`);
	git(folder, "checkout", "-q", "--force", "--detach", commit);
	return folder;
}

export function countCommits(folder: string): number {
	const kinds = git(folder, "cat-file", "--batch-check=%(objecttype)", "--batch-all-objects").split("\n");
	return kinds.filter((kind) => kind === "commit").length;
}
