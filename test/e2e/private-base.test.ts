import { execFileSync, spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runActionFolder } from "../support/action-runner.ts";
import { pullJob } from "../support/event-payloads.ts";
import { git } from "../support/git-history.ts";
import { startLocalGitHub } from "../support/local-github/start.ts";
import { type PrivateRemote, type RemoteRules, startPrivateRemote } from "../support/private-remote.ts";
import { expectExit, fixtures, readResult, temporaryFolder, untimedFiles } from "../support/project.ts";
import { makeRepository, type PullRepository, workspaceOf } from "../support/pull-repository.ts";

const token = "ghs_right";
const model = readFileSync(join(fixtures, "model.onnx"));

interface Row {
	what: string;
	rules?: Partial<RemoteRules>;
	inputs?: Record<string, string>;
	lacks?: ("git" | "git-lfs")[];
	/** The server is the user's own; else it stands in for github.com, as its proxy. */
	isEnterprise?: boolean;
	given?(workspace: string, serverUrl: string): void;
	exit: number;
	outcome: string;
	says?: [code: string, message: RegExp, fix: RegExp];
}

const rows: Row[] = [
	{ what: "is fetched with the token", exit: 0, outcome: "pass" },
	{
		what: "is fetched with the token from a server of the user's own",
		isEnterprise: true,
		exit: 0,
		outcome: "pass",
	},
	{
		what: "is fetched with what actions/checkout left, where it left something",
		inputs: { token: "ghs_other" },
		given: (workspace, url) => void git(workspace, "config", `http.${url}/.extraheader`, headerOf(token)),
		exit: 0,
		outcome: "pass",
	},
	{
		what: "names a token that is wrong or has expired",
		inputs: { token: "ghs_expired" },
		exit: 2,
		outcome: "error",
		says: ["git-ref", /origin denied the fetch/, /a valid `token`/],
	},
	{
		what: "asks for a token where there is none",
		inputs: { token: "" },
		exit: 2,
		outcome: "error",
		says: ["git-ref", /origin denied the fetch/, /contents: read.*`token`/],
	},
	{
		what: "names the right that the token lacks",
		rules: { mayRead: false },
		exit: 2,
		outcome: "error",
		says: ["git-ref", /origin denied the fetch/, /→ Give the job `contents: read` under `permissions:`/],
	},
	{
		what: "names the credentials of actions/checkout where they are refused",
		given: (workspace, url) => void git(workspace, "config", `http.${url}/.extraheader`, headerOf("ghs_old")),
		exit: 2,
		outcome: "error",
		says: ["git-ref", /origin denied the fetch/, /persist-credentials: false/],
	},
	{
		what: "is not green where the LFS budget is used up",
		rules: { isOverBudget: true },
		exit: 3,
		outcome: "error",
		says: ["lfs-unavailable", /Git LFS pointer.*exceeded its LFS budget/, /raise its budget/],
	},
	{
		what: "is not green without git-lfs, whose package is named",
		lacks: ["git-lfs"],
		exit: 3,
		outcome: "error",
		says: ["lfs-unavailable", /Git LFS pointer.*git-lfs is not installed/, /apt-get install -y git-lfs/],
	},
	{
		what: "is not taken for absent in a container without git, where actions/checkout downloaded the files",
		lacks: ["git", "git-lfs"],
		given: (workspace) => rmSync(join(workspace, ".git"), { recursive: true }),
		exit: 3,
		outcome: "error",
		says: ["tool-missing", /git is not installed/, /apt-get install -y git git-lfs/],
	},
	{
		what: "is not taken for absent where git was installed after actions/checkout",
		given: (workspace) => rmSync(join(workspace, ".git"), { recursive: true }),
		exit: 2,
		outcome: "error",
		says: ["git-ref", /is not a git repository/, /in a step before actions\/checkout/],
	},
];

function headerOf(secret: string): string {
	return `AUTHORIZATION: basic ${Buffer.from(`x-access-token:${secret}`).toString("base64")}`;
}

async function openRemote(
	rules: Partial<RemoteRules> = {},
): Promise<{ remote: PrivateRemote; repo: PullRepository }> {
	const gitDir = { path: "" };
	const remote = await startPrivateRemote({
		...{ token, ...rules },
		get gitDir() {
			return gitDir.path;
		},
	});
	const lfs = { ".gitattributes": "*.onnx filter=lfs -text\n", "model.onnx": remote.store(model) };
	const head = { ...untimedFiles, ".gitattributes": "" };
	const repo = makeRepository({ base: { ...untimedFiles, ...lfs }, head });
	gitDir.path = repo.origin;
	return { remote, repo };
}

function pathOf(folder: string, lacks: readonly string[]): { path: string; calls(): string } {
	const [bin, trace] = [join(folder, "bin"), join(folder, "calls")];
	mkdirSync(bin);
	for (const name of ["git", "git-lfs", "sh", "tar", "uname"]) {
		const program = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
		if (lacks.includes(name)) continue;
		if (name === "git")
			writeFileSync(join(bin, name), `#!/bin/sh\necho "$*" >> ${trace}\nexec ${program} "$@"\n`, {
				mode: 0o755,
			});
		else symlinkSync(program, join(bin, name));
	}
	return { path: bin, calls: () => (existsSync(trace) ? readFileSync(trace, "utf8") : "") };
}

async function play({ rules, inputs = {}, lacks = [], isEnterprise = false, given }: Row) {
	const { remote, repo } = await openRemote(rules);
	const address = `http://127.0.0.1:${remote.port}`;
	const [serverUrl, proxy] = isEnterprise
		? [address, {}]
		: ["http://github.com", { http_proxy: address, no_proxy: "127.0.0.1" }];
	const workspace = workspaceOf(repo);
	git(workspace, "remote", "set-url", "origin", `${serverUrl}/acme/engines`);
	given?.(workspace, serverUrl);
	const github = await startLocalGitHub({ gitDir: repo.origin });
	onTestFinished(github.close);
	const temp = temporaryFolder();
	const job = await github.environment({ ...pullJob(repo), workspace, temp });
	const { path, calls } = pathOf(temp, lacks);
	const env = { ...job, ...proxy, GITHUB_SERVER_URL: serverUrl, PATH: path, HOME: temp };
	const run = await runActionFolder(".", {
		env,
		cwd: workspace,
		inputs: { token, artifact: "none", comment: "never", "check-run": "false", ...inputs },
	});
	return { run, remote, workspace, calls, repo };
}

function filesIn(folder: string): string {
	const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
		entry.isFile(),
	);
	return paths.map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1")).join("\n");
}

const hasLfs = spawnSync("git", ["lfs", "version"]).status === 0;

it.skipIf(!hasLfs).for(rows)("the base of a private repository $what", async (row) => {
	const { run, workspace, calls, repo, remote } = await play(row);
	const out = join(workspace, "trtgate-out");
	expectExit(run, row.exit);
	expect(run.outputs["outcome"]).toBe(row.outcome);
	if (row.says === undefined) {
		const { arms, golden } = readResult(out);
		expect(arms.base?.commit).toBe(repo.base);
		expect(golden[0]?.checks[0]?.base).toBeLessThan(1e-5);
		expect(calls()).toContain("http.lowSpeedTime=60");
		expect(remote.seen.map(({ path }) => path)).toContain("/acme/engines.git/info/lfs/objects/batch");
	} else {
		const [code, message, fix] = row.says;
		const annotation = run.annotations.find(({ title }) => title?.endsWith(`: ${code}`));
		expect(annotation?.message).toMatch(message);
		expect(annotation?.message).toMatch(fix);
		expect(run.stdout + run.summary).not.toMatch(/no base|nothing to compare/i);
	}
	const given = { token, ...row.inputs }.token;
	const secrets = given === "" ? [] : [given, Buffer.from(`x-access-token:${given}`).toString("base64")];
	expect(run.masks).toEqual(secrets.slice(1));
	const kept = [
		run.stdout.replace(/^::add-mask::.*$/gm, ""),
		run.stderr,
		run.summary,
		calls(),
		filesIn(out),
		filesIn(workspace),
	];
	for (const text of kept) for (const secret of secrets) expect(text).not.toContain(secret);
});
