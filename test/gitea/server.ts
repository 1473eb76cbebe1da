// A Gitea of its own in a temporary folder, with one runner on this machine.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../support/project.ts";

export interface Binaries {
	gitea: string;
	runner: string;
}

type Json = Record<string, unknown>;

export interface Gitea {
	url: string;
	/** For `git push`. */
	pushUrl(repository: string): string;
	/** Below `/api/v1`. @throws Error unless the answer is 2xx. */
	api<Value = Json>(method: string, path: string, body?: Json): Promise<Value>;
	/** As anybody, or with the token. */
	get(url: string): Promise<Response>;
	runnerLog(): string;
}

const [user, password] = ["acme", "Gate-of-engines-1"];

export async function startGitea({ gitea, runner }: Binaries): Promise<Gitea> {
	const folder = temporaryFolder();
	const port = await freePort();
	const url = `http://127.0.0.1:${port}`;
	const config = join(folder, "app.ini");
	writeFileSync(config, settings(folder, port, url));
	const env = {
		PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
		HOME: folder,
		GITEA_WORK_DIR: folder,
	};
	const run = (...argv: string[]) =>
		execFileSync(gitea, ["--config", config, ...argv], { env, cwd: folder, encoding: "utf8" }).trim();
	run("migrate");
	const named = ["--username", user, "--password", password, "--email", "acme@example.invalid"];
	run("admin", "user", "create", "--admin", "--must-change-password=false", ...named);
	const token = run(
		...["admin", "user", "generate-access-token", "--username", user],
		...["--scopes", "all", "--raw"],
	);
	start(gitea, ["--config", config, "web"], { env, folder, log: "gitea.log" });
	const get = (address: string) => fetch(address, { headers: { authorization: `token ${token}` } });
	await until(
		"Gitea answers",
		async () => (await get(`${url}/api/v1/version`).catch(() => null))?.ok === true,
	);
	const of = ["--instance", url, "--token", run("actions", "generate-runner-token")];
	const labels = ["--name", "here", "--labels", "ubuntu-latest:host"];
	execFileSync(runner, ["register", "--no-interactive", ...of, ...labels], { env, cwd: folder });
	start(runner, ["daemon"], { env, folder, log: "runner.log" });
	return {
		url,
		pushUrl: (repository) => `http://${user}:${token}@127.0.0.1:${port}/${repository}.git`,
		get,
		runnerLog: () => readFileSync(join(folder, "runner.log"), "utf8"),
		async api<Value>(method: string, path: string, body?: Json) {
			const response = await fetch(`${url}/api/v1${path}`, {
				method,
				headers: { authorization: `token ${token}`, "content-type": "application/json" },
				...(body !== undefined && { body: JSON.stringify(body) }),
			});
			const text = await response.text();
			if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
			return (text === "" ? {} : JSON.parse(text)) as Value;
		},
	};
}

/** Gitea does not run as root unless it is told so. */
function settings(folder: string, port: number, url: string): string {
	const asRoot = process.getuid?.() === 0 ? "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\n" : "";
	return `${asRoot}WORK_PATH = ${folder}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = ${url}/
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = ${join(folder, "gitea.db")}
[security]
INSTALL_LOCK = true
SECRET_KEY = ${randomBytes(32).toString("hex")}
[actions]
ENABLED = true
[log]
LEVEL = warn
`;
}

function start(
	program: string,
	argv: readonly string[],
	{ env, folder, log }: { env: NodeJS.ProcessEnv; folder: string; log: string },
): void {
	mkdirSync(folder, { recursive: true });
	const file = openSync(join(folder, log), "w");
	// A group of its own: the runner starts jobs.
	const child: ChildProcess = spawn(program, argv, {
		env,
		cwd: folder,
		stdio: ["ignore", file, file],
		detached: true,
	});
	closeSync(file);
	const ended = new Promise<void>((end) => child.once("exit", () => end()));
	onTestFinished(async () => {
		if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
		await ended;
	});
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, "127.0.0.1");
	await new Promise((listening) => void server.once("listening", listening));
	const address = server.address();
	await new Promise((closed) => void server.close(closed));
	return typeof address === "object" && address !== null ? address.port : 0;
}

export async function until(what: string, holds: () => Promise<boolean>, tries = 600): Promise<void> {
	for (let count = 0; count < tries; count += 1) {
		if (await holds()) return;
		await setTimeout(1000);
	}
	throw new Error(`not within ${tries} s: ${what}`);
}
