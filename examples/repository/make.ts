// Writes a repository with four pull requests, and what the action publishes for each on a local GitHub.
// node examples/repository/make.ts [OUT], in the root of the repository.
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { marked } from "marked";
import { unpackFolder } from "../../src/adapters/replay/backend.ts";
import { runActionFolder } from "../../test/support/action-runner.ts";
import { pullRequest } from "../../test/support/event-payloads.ts";
import { checkOut, commitAll, git, mergeCommit, serveAnyCommit } from "../../test/support/git-history.ts";
import { type LocalGitHub, startLocalGitHub } from "../../test/support/local-github/start.ts";

const here = resolve("examples/repository");
const recorded = resolve("examples/recorded");
const out = resolve(process.argv[2] ?? "trtgate-example");
if (existsSync(out)) throw new Error(`${out} exists; remove it, or name another folder`);
const work = join(out, "repository");
const temp = mkdtempSync(join(tmpdir(), "trtgate-example-"));

interface Pull {
	number: number;
	branch: string;
	title: string;
	change(): void;
}

const model = (name: string): string => join(work, "models", `${name}.onnx`);

function takeChanged(name: string): void {
	copyFileSync(join(temp, "head", "models", `${name}.onnx`), model(name));
}

/** Another producer of the same network: the last of a protobuf's fields counts, here ModelProto.producer_version. */
function exportAgain(version: string): void {
	const field = Buffer.concat([Buffer.from([0x1a, version.length]), Buffer.from(version)]);
	writeFileSync(model("encoder"), Buffer.concat([readFileSync(model("encoder")), field]));
}

const pulls: readonly Pull[] = [
	{ number: 1, branch: "export-encoder", title: "Export the encoder again", change: () => exportAgain("2.9") },
	{ number: 2, branch: "wider-classifier", title: "Widen the classifier", change: () => takeChanged("classifier") },
	{ number: 3, branch: "retrain-segmenter", title: "Retrain the segmenter", change: () => takeChanged("segmenter") },
	{ number: 4, branch: "export-encoder-2", title: "Export the encoder again, for a limit of 0.4 %", change: () => exportAgain("2.10") },
];

async function writeMain(): Promise<void> {
	await unpackFolder(join(recorded, "base"), work);
	await unpackFolder(join(recorded, "head/golden"), join(work, "golden"));
	await unpackFolder(join(recorded, "head"), join(temp, "head"));
	mkdirSync(join(work, ".github/workflows"), { recursive: true });
	copyFileSync("workflows-examples/pull-request.yml", join(work, ".github/workflows/engines.yml"));
	copyFileSync(join(here, "trtgate.yml"), join(work, "trtgate.yml"));
	copyFileSync(join(here, "README.md"), join(work, "README.md"));
	git(work, "init", "-q");
	commitAll(work, "Add three networks and their gate");
}

/** @returns the commit of the branch, and what it branched from. */
function writeBranch({ branch, title, change }: Pull): { base: string; head: string } {
	const base = git(work, "rev-parse", "main");
	git(work, "checkout", "-q", "-b", branch, "main");
	change();
	const head = commitAll(work, title);
	git(work, "checkout", "-q", "main");
	return { base, head };
}

function tightenLimit(): void {
	const path = join(work, "trtgate.yml");
	writeFileSync(path, readFileSync(path, "utf8").replace("warn: 2%", "warn: 0.4%"));
	commitAll(work, "Ask for 0.4 %");
}

interface Published extends Pull {
	comment: string;
	conclusion: string;
}

async function runPull(pull: Pull, sides: { base: string; head: string }, github: LocalGitHub): Promise<Published> {
	const { number, branch, title } = pull;
	const origin = join(temp, "origin.git");
	const merge = mergeCommit(work, sides.base, sides.head);
	for (const [name, commit] of [["head", sides.head], ["merge", merge]] as const) git(work, "push", "-q", origin, `${commit}:refs/pull/${number}/${name}`);
	const ref = `refs/pull/${number}/merge`;
	const [workspace, runner] = [join(temp, `workspace-${number}`), join(temp, `runner-${number}`)];
	mkdirSync(runner);
	checkOut({ origin, folder: workspace, ref, commit: merge, depth: 0 });
	const payload = pullRequest({ ...sides, merge }, { number, headRef: branch });
	Object.assign(payload["pull_request"] as object, { title });
	const given = await github.environment({ event: "pull_request", payload, sha: merge, ref, workspace, temp: runner, runId: 100 + number });
	const env = { ...given, TRTGATE_LOCKS: runner, HOME: runner };
	const run = await runActionFolder(".", { inputs: { backend: "onnxruntime", cache: "false" }, env, cwd: workspace, dist: here });
	const comment = github.state.comments.find(({ issue }) => issue === number)?.body;
	const conclusion = github.state.checkRuns.find(({ headSha }) => headSha === sides.head)?.conclusion;
	if (comment === undefined || conclusion == null) throw new Error(`the action published nothing for ${title}:\n${run.stdout}${run.stderr}`);
	const folder = join(out, "reports", `${number}-${branch}`);
	mkdirSync(folder, { recursive: true });
	// The local GitHub and its artifacts end with this script.
	const shown = comment.replace(/\[([^\]]+)\]\(https:\/\/github\.com\/acme\/engines\/[^)]*\)/g, (_, text) => (text === "report.html" ? "[report.html](report.html)" : text));
	writeFileSync(join(folder, "comment.md"), shown);
	copyFileSync(join(workspace, "trtgate-out/report.html"), join(folder, "report.html"));
	return { ...pull, comment: shown, conclusion };
}

function renderIndex(published: readonly Published[]): string {
	const style = readFileSync("scripts/comment-picture.css", "utf8");
	const articles = published.map(({ number, branch, title, comment, conclusion }) => {
		const body = marked.parse(comment, { gfm: true, breaks: true, async: false }).replaceAll('href="report.html"', `href="reports/${number}-${branch}/report.html"`);
		return `<h2 class="pull">#${number} ${title}</h2><p>Branch ${branch} · check: ${conclusion}</p><article><main>${body}</main></article>`;
	});
	return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>An example repository</title><style>${style}body{width:auto;max-width:960px;margin:0 auto;padding:16px}.pull{margin-top:40px}main{overflow-x:auto}</style><h1>Four pull requests</h1><p>The engines are a replay: builds, outputs and times were recorded on one NVIDIA H200. Comments and checks are what the action published just now on a local GitHub.</p>${articles.join("")}</html>`;
}

try {
	mkdirSync(work, { recursive: true });
	await writeMain();
	git(temp, "init", "-q", "--bare", "origin.git");
	serveAnyCommit(join(temp, "origin.git"));
	const github = await startLocalGitHub({ gitDir: join(temp, "origin.git") });
	const published: Published[] = [];
	for (const pull of pulls) {
		if (pull.number === 4) tightenLimit();
		const sides = writeBranch(pull);
		git(work, "push", "-q", join(temp, "origin.git"), "main", pull.branch);
		published.push(await runPull(pull, sides, github));
		process.stdout.write(`#${pull.number} ${pull.title}: ${published.at(-1)?.conclusion}\n`);
	}
	writeFileSync(join(out, "index.html"), renderIndex(published));
	await github.close();
	process.stdout.write(`${join(out, "index.html")}\n`);
} finally {
	rmSync(temp, { recursive: true, force: true });
}
