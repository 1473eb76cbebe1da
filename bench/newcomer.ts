/**
 * What a new user does with six public models, up to a green pull request, by commands alone: on a GitHub that runs here
 * (test/support/local-github), in a runner that others wrote (nektos/act). Prints what each step took.
 *
 *     node bench/newcomer.ts [--archives DIR] [MODEL…]
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { findGoTool } from "../test/act/go-tools.ts";
import { type LocalGitHub, startLocalGitHub } from "../test/support/local-github/start.ts";
import { fetchModel, type ZooModel } from "./zoo/fetch.ts";

const usual = ["PP-OCRv4_det", "magika", "basic-pitch", "silero_openvino", "centerface", "hello_deepa"];
const limitS = 600;

const { values, positionals } = parseArgs({
	options: { archives: { type: "string" } },
	allowPositionals: true,
});
const chosen = positionals.length > 0 ? positionals : usual;
const cli = resolve("dist/cli.js");
let totalCpuS = 0;

/** CPU time of ended children. */
function childSeconds(): number {
	const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
	return (Number(fields[13]) + Number(fields[14])) / 100;
}

async function step<Value>(name: string, work: () => Value | Promise<Value>): Promise<Value> {
	const [startMs, startS] = [performance.now(), childSeconds()];
	const value = await work();
	const cpuS = childSeconds() - startS;
	totalCpuS += cpuS;
	console.log(
		`${name.padEnd(40)} ${((performance.now() - startMs) / 1000).toFixed(1).padStart(7)} s ${cpuS.toFixed(1).padStart(7)} CPU-s`,
	);
	return value;
}

function run(command: string, args: readonly string[], cwd: string): string {
	const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
	if (status !== 0) throw new Error(`${command} ${args.join(" ")}: exit ${status}\n${stdout}${stderr}`);
	return stdout;
}

const git = (cwd: string, ...args: string[]) => run("git", args, cwd).trim();

function commit(project: string, message: string): string {
	git(project, "add", "--all");
	git(project, "commit", "--quiet", "--message", message);
	return git(project, "rev-parse", "HEAD");
}

/** trtgate as an action, and a checkout that does nothing: act copies the repository itself. */
function actions(folder: string): { trtgate: string; checkout: string } {
	const [trtgate, checkout] = [join(folder, "trtgate"), join(folder, "checkout")];
	for (const name of ["action.yml", "package.json", "report", "dist"])
		cpSync(name, join(trtgate, name), { recursive: true });
	mkdirSync(checkout);
	writeFileSync(
		join(checkout, "action.yml"),
		"name: checkout\ninputs: { fetch-depth: {}, persist-credentials: {} }\nruns: { using: composite, steps: [{ shell: sh, run: 'true' }] }\n",
	);
	return { trtgate, checkout };
}

async function openPull(
	root: string,
	project: string,
	github: LocalGitHub,
): Promise<{ log: string; exit: number | null }> {
	const act = findGoTool("act");
	if (act.state === "absent") throw new Error(act.sentence);
	const [base, head] = [git(project, "rev-parse", "main"), git(project, "rev-parse", "HEAD")];
	const side = (ref: string, sha: string) => ({ ref, sha, repo: { full_name: "acme/engines" } });
	const pull = { number: 7, state: "open", draft: false, user: { login: "octocat" } };
	const payload = {
		action: "opened",
		number: 7,
		pull_request: { ...pull, head: side("gate", head), base: side("main", base) },
	};
	const workflow = join(project, ".github/workflows/trtgate.yml");
	const { permissions } = parse(readFileSync(workflow, "utf8")).jobs.gate;
	const temp = join(root, "temp");
	mkdirSync(temp);
	const env = await github.environment({
		...{
			event: "pull_request",
			payload,
			workspace: project,
			temp,
			sha: head,
			ref: "refs/pull/7/merge",
			permissions,
		},
	});
	const services = /^(ACTIONS_.*|GITHUB_(API_URL|GRAPHQL_URL|SERVER_URL|REPOSITORY|RUN_ID|RUN_ATTEMPT))$/;
	const lines = Object.entries(env).filter(([name]) => services.test(name));
	writeFileSync(join(root, "env"), lines.map(([name, value]) => `${name}=${value}\n`).join(""));
	const { trtgate, checkout } = actions(root);
	const pins = [...readFileSync(workflow, "utf8").matchAll(/uses: (\S+)/g)].map(([, pin = ""]) => pin);
	const places = [...new Set(pins)].flatMap((pin) => [
		"--local-repository",
		`${pin.replace("trtgate/report@", "trtgate@")}=${pin.startsWith("actions/checkout") ? checkout : trtgate}`,
	]);
	const argv = [
		...[
			"pull_request",
			"--workflows",
			workflow,
			"--eventpath",
			env["GITHUB_EVENT_PATH"] ?? "",
			"--env-file",
			join(root, "env"),
		],
		...["--secret", `GITHUB_TOKEN=${env["GITHUB_TOKEN"]}`, "--no-cache-server", "--action-offline-mode"],
		...["--platform", "ubuntu-latest=-self-hosted", ...places],
	];
	const child = spawn(act.path, argv, {
		cwd: project,
		env: { HOME: root, DOCKER_HOST: "", PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
		stdio: ["ignore", "pipe", "pipe"],
	});
	let log = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text) => (log += text));
	const exit = await new Promise<number | null>((settle) => child.on("close", settle));
	return { log, exit };
}

async function trial(root: string): Promise<void> {
	const { models } = JSON.parse(readFileSync("bench/zoo/models.json", "utf8")) as { models: ZooModel[] };
	const project = join(root, "project");
	mkdirSync(project);
	git(project, "init", "--quiet", "--initial-branch=main");
	for (const [key, value] of [
		["user.name", "Newcomer"],
		["user.email", "newcomer@example.com"],
	] as const)
		git(project, "config", key, value);
	await step("fetch the models by pip and npm", () => {
		const fetching = { python: "python3", cache: join(root, "cache"), archives: values.archives ?? null };
		for (const name of chosen) {
			const model = models.find((each) => each.name === name);
			if (model === undefined) throw new Error(`bench/zoo/models.json has no ${name}`);
			const target = join(project, "models", name, basename(model.file));
			mkdirSync(dirname(target), { recursive: true });
			cpSync(fetchModel(model, fetching).path, target);
		}
		writeFileSync(join(project, ".gitignore"), "node_modules\ntrtgate-out\n");
		commit(project, "Add models");
	});
	git(project, "switch", "--quiet", "--create", "gate");
	await step("trtgate init models/", () =>
		run(process.execPath, [cli, "init", "models/", "--quiet"], project),
	);
	await step("trtgate golden record", () =>
		run(process.execPath, [cli, "golden", "record", "--quiet"], project),
	);
	await step("git commit", () => commit(project, "Add trtgate"));
	const github = await startLocalGitHub();
	const { log, exit } = await step("pull request, its gate", () => openPull(root, project, github));
	const [comment] = github.state.comments;
	const [check] = github.state.checkRuns;
	await github.close();
	console.log(`\n${comment?.body.replace(/<!--.*-->\n/, "").slice(0, 1500) ?? "no comment"}\n`);
	if (exit !== 0 || check?.conclusion !== "success")
		throw new Error(`exit ${exit}, check run ${check?.conclusion}\n${log.slice(-4000)}`);
	console.log(`Green: ${chosen.length} models, ${totalCpuS.toFixed(0)} CPU-seconds of ${limitS}.`);
	if (totalCpuS > limitS)
		throw new Error(`The trial took ${totalCpuS.toFixed(0)} CPU-seconds; expected at most ${limitS}.`);
}

const root = mkdtempSync(join(tmpdir(), "trtgate-newcomer-"));
try {
	await trial(root);
} finally {
	if (existsSync(root)) rmSync(root, { recursive: true, force: true });
}
