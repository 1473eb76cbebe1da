import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { withHost } from "./bundle.ts";
import { outputOf } from "./child-output.ts";
import { compileCache } from "./compile-cache.ts";
import {
	type Annotation,
	applyStepLimits,
	parseCommandFile,
	parseWorkflowCommands,
} from "./workflow-commands.ts";

export interface ActionRun {
	exitCode: number;
	signal: string | null;
	outputs: Record<string, string>;
	state: Record<string, string>;
	summary: string;
	annotations: Annotation[];
	masks: string[];
	exported: Record<string, string>;
	stdout: string;
	stderr: string;
	durationMs: number;
	post?: { exitCode: number; stdout: string; stderr: string };
}

export interface ActionOptions {
	inputs?: Record<string, string>;
	env: Record<string, string>;
	cwd: string;
	dist?: string;
	post?: boolean;
	entry?: "main" | "post";
	state?: Record<string, string>;
	timeoutMs?: number;
	onStart?(pid: number): void;
}

interface ActionFile {
	inputs?: Record<string, { default?: unknown; required?: boolean }>;
	runs: { using: string; main?: string; post?: string };
}

interface ProcessRun {
	exitCode: number;
	signal: string | null;
	stdout: string;
	stderr: string;
}

const commandFiles = [
	"GITHUB_OUTPUT",
	"GITHUB_STATE",
	"GITHUB_STEP_SUMMARY",
	"GITHUB_ENV",
	"GITHUB_PATH",
] as const;

function entryPath(folder: string, entry: string, dist: string | undefined): string {
	const inDist = /(?:^|\/)dist\/(.+)$/.exec(entry)?.[1];
	return dist !== undefined && inDist !== undefined ? resolve(dist, inDist) : resolve(folder, entry);
}

/** Names variables as the runner does: spaces become underscores, all upper case, hyphens stay. */
function inputVariables(
	action: ActionFile,
	inputs: Record<string, string>,
	token: string,
): Record<string, string> {
	const names = Object.keys(action.inputs ?? {});
	const unknown = Object.keys(inputs).filter((name) => !names.includes(name));
	if (unknown.length > 0)
		throw new Error(`the action has no input ${unknown.join(", ")}; it has ${names.join(", ")}`);
	const expand = (value: unknown): string =>
		String(value ?? "").replace(/\$\{\{\s*github\.token\s*\}\}/g, token);
	return Object.fromEntries(
		Object.entries(action.inputs ?? {}).map(([name, input]) => [
			`INPUT_${name.replaceAll(" ", "_").toUpperCase()}`,
			Object.hasOwn(inputs, name) ? expand(inputs[name]) : expand(input.default),
		]),
	);
}

type Run = (env: Record<string, string>) => Promise<ProcessRun>;

function runAlone(entry: string, options: ActionOptions): Run {
	return async (env) => {
		const child = spawn(process.execPath, [entry], {
			cwd: options.cwd,
			env,
			stdio: ["ignore", "pipe", "pipe"],
			timeout: options.timeoutMs ?? 600_000,
			killSignal: "SIGKILL",
		});
		if (child.pid !== undefined) options.onStart?.(child.pid);
		const { exit, ...said } = await outputOf(child);
		return { exitCode: exit ?? 128, ...said };
	};
}

async function createCommandFiles(folder: string): Promise<{
	env: Record<string, string>;
	read(name: (typeof commandFiles)[number]): Promise<string>;
}> {
	const env = Object.fromEntries(commandFiles.map((name) => [name, join(folder, name.toLowerCase())]));
	await Promise.all(Object.values(env).map((path) => writeFile(path, "")));
	return { env, read: (name) => readFile(join(folder, name.toLowerCase()), "utf8") };
}

function stepEnvironment(options: ActionOptions): Record<string, string> {
	const { GITHUB_TOKEN: _, ...given } = options.env;
	return {
		PATH: process.env["PATH"] ?? "",
		HOME: options.cwd,
		CI: "true",
		NODE_COMPILE_CACHE: compileCache,
		GITHUB_ACTIONS: "true",
		GITHUB_WORKSPACE: options.cwd,
		...given,
	};
}

export async function runActionFolder(folder: string, options: ActionOptions): Promise<ActionRun> {
	const action: ActionFile = parse(await readFile(join(folder, "action.yml"), "utf8"));
	if (!/^node\d+$/.test(action.runs.using) || action.runs.main === undefined)
		throw new Error(`${folder} is ${action.runs.using}, not an action of node`);
	const dist = options.dist ?? process.env["TRTGATE_DIST"];
	const inputs = inputVariables(action, options.inputs ?? {}, options.env["GITHUB_TOKEN"] ?? "");
	const env = { ...stepEnvironment(options), ...inputs };
	const path = (entry: string): string => entryPath(folder, entry, dist);
	if (options.entry === "post")
		return runStep(path(action.runs.post ?? ""), { ...env, ...stateVariables(options.state ?? {}) }, options);
	const main = await runStep(path(action.runs.main), env, options);
	if (!options.post || action.runs.post === undefined) return main;
	const { onStart: _, ...quiet } = options;
	const post = await runStep(
		path(action.runs.post),
		{ ...env, ...main.exported, ...stateVariables(main.state) },
		quiet,
	);
	return { ...main, post: { exitCode: post.exitCode, stdout: post.stdout, stderr: post.stderr } };
}

function stateVariables(state: Record<string, string>): Record<string, string> {
	return Object.fromEntries(Object.entries(state).map(([name, value]) => [`STATE_${name}`, value]));
}

async function runStep(
	entry: string,
	env: Record<string, string>,
	options: ActionOptions,
): Promise<ActionRun> {
	const { onStart, timeoutMs, dist } = options;
	// The toolkit asks only once in a process for a proxy.
	const own = [onStart, timeoutMs, dist, env["http_proxy"]];
	if (own.every((one) => one === undefined)) {
		const { GITHUB_API_URL: url, GITHUB_EVENT_NAME: event } = env;
		return withHost(
			(host) => {
				host.apiUrl ??= url;
				return runWith(host.folder, env, async (all) => {
					const { exit, ...said } = await host.run({ entry, env: all, cwd: options.cwd });
					return { exitCode: exit ?? 128, ...said };
				});
			},
			({ apiUrl = url }) => event !== "workflow_run" || apiUrl === url,
		);
	}
	const folder = await mkdtemp(join(tmpdir(), "trtgate-step-"));
	try {
		return await runWith(folder, env, runAlone(entry, options));
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

async function runWith(folder: string, env: Record<string, string>, run: Run): Promise<ActionRun> {
	const files = await createCommandFiles(folder);
	const started = performance.now();
	const { GITHUB_STEP_SUMMARY: summary = "" } = env;
	const said = await run({
		...env,
		...files.env,
		...(summary === "/dev/full" && { GITHUB_STEP_SUMMARY: summary }),
	});
	const durationMs = performance.now() - started;
	const { annotations, masks } = parseWorkflowCommands(`${said.stdout}\n${said.stderr}`);
	return {
		...said,
		durationMs,
		outputs: parseCommandFile(await files.read("GITHUB_OUTPUT")),
		state: parseCommandFile(await files.read("GITHUB_STATE")),
		exported: parseCommandFile(await files.read("GITHUB_ENV")),
		...applyStepLimits(annotations, await files.read("GITHUB_STEP_SUMMARY")),
		masks,
	};
}
