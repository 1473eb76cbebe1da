// A small project in a temporary folder, and the built command line run on it.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Result } from "../../generated/result.ts";
import { withHost } from "./bundle.ts";
import { type ChildOutput, outputOf } from "./child-output.ts";
import { compileCache } from "./compile-cache.ts";

export const fixtures = resolve("test/fixtures/project");

/** Timing so short that only the machinery is tested, never a speed. */
export const quickMeasure =
	"measure: { pairs: [5], warm-up: 1ms, duration: 5ms, threads: 1 }\ngates: { latency: { warn: 900%, fail: 1000% }, engine-size: { fail: 100% } }\n";

export const quickConfig = `version: 1
backend: onnxruntime
onnxruntime: wasm
models:
  net:
    onnx: model.onnx
    dims: { batch: { min: 1, opt: 2, max: 4 } }
    workloads: [{ batch: 2 }]
    golden: golden/golden.json
${quickMeasure}`;

/** Timed runs are a process each: for tests that are not about speed. */
export function untimed(config: string = quickConfig): string {
	return config.replace(/workloads: \[.*\]/, "workloads: []");
}

/** Calls back at the end of a test; one of several that run at the same time must bring its own. */
export type AtEnd = (clean: () => void | Promise<void>) => void;

export function temporaryFolder(atEnd: AtEnd = onTestFinished): string {
	const folder = realpathSync(mkdtempSync(join(tmpdir(), "trtgate-")));
	atEnd(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

export type ProjectFiles = Readonly<Record<string, string | Uint8Array>>;

/** Copies a value that starts with `fixture:` from the fixtures. */
export function writeProject(folder: string, files: ProjectFiles): string {
	for (const [name, content] of Object.entries(files)) {
		const path = join(folder, name);
		mkdirSync(dirname(path), { recursive: true });
		if (typeof content === "string" && content.startsWith("fixture:"))
			cpSync(join(fixtures, content.slice("fixture:".length)), path, { recursive: true });
		else writeFileSync(path, content);
	}
	return folder;
}

/** A config, a model and its golden, ready to run. */
export const quickFiles = {
	"trtgate.yml": quickConfig,
	"model.onnx": "fixture:model.onnx",
	golden: "fixture:golden",
};

export const untimedFiles = { ...quickFiles, "trtgate.yml": untimed() };

export function sha256(bytes: string | Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

export function lfsPointer(content: string | Uint8Array): string {
	return `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256(content)}\nsize ${content.length}\n`;
}

export function folderWith(files: ProjectFiles): string {
	return writeProject(temporaryFolder(), files);
}

export function writeScript(path: string, script: string): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
	return path;
}

/** `files` stand above the quick ones. */
export function quickProject(folder: string, files: ProjectFiles = {}): string {
	return writeProject(folder, { ...quickFiles, ...files });
}

export type CliRun = ChildOutput;

export interface CliOptions {
	cwd: string;
	dist?: string;
	env?: Readonly<Record<string, string>>;
	onStart?(pid: number): void;
	onStderr?(text: string): void;
	onStdout?(text: string): void;
}

const cacheHome = join(tmpdir(), "trtgate-test-cache");

export function runCli(argv: readonly string[], options: CliOptions): Promise<CliRun> {
	const entry = join(options.dist ?? resolve(process.env["TRTGATE_DIST"] ?? "dist"), "cli.js");
	// All tests share one cache, for the sake of what is unpacked there; none may take over another's verdicts.
	const isFresh = argv[0] === "run" && options.env?.["XDG_CACHE_HOME"] === undefined;
	const given = isFresh ? ["run", "--fresh", ...argv.slice(1)] : argv;
	if (options.onStart !== undefined || options.onStderr !== undefined || options.dist !== undefined)
		return runNode([entry, ...given], options);
	return withHost((host) =>
		host.run({ entry, argv: given, env: commandEnvironment(options), cwd: options.cwd }),
	);
}

export function commandEnvironment({ cwd, env }: CliOptions): Record<string, string> {
	return {
		PATH: process.env["PATH"] ?? "",
		HOME: cwd,
		XDG_CACHE_HOME: cacheHome,
		NODE_COMPILE_CACHE: compileCache,
		TRTGATE_LOCKS: join(cwd, ".locks"),
		NO_COLOR: "1",
		...env,
	};
}

export function runNode(argv: readonly string[], options: CliOptions): Promise<CliRun> {
	const env = commandEnvironment(options);
	const child = spawn(process.execPath, argv, { cwd: options.cwd, env, stdio: ["ignore", "pipe", "pipe"] });
	if (child.pid !== undefined) options.onStart?.(child.pid);
	child.stderr.on("data", (text) => options.onStderr?.(String(text)));
	child.stdout.on("data", (text) => options.onStdout?.(String(text)));
	return outputOf(child);
}

/** The command line under a limit of the shell's `ulimit`, with a cache of its own. */
export function runLimited(ulimit: string, argv: readonly string[], cwd: string): Promise<CliRun> {
	const limited = [
		"-c",
		`ulimit ${ulimit}; exec "$@"`,
		"sh",
		process.execPath,
		resolve("dist/cli.js"),
		...argv,
	];
	const env = commandEnvironment({ cwd, env: { XDG_CACHE_HOME: join(cwd, ".cache") } });
	return outputOf(spawn("sh", limited, { cwd, env, stdio: ["ignore", "pipe", "pipe"] }));
}

/** Content of a lock that a process of this machine holds. */
export function lockOf(owner: { pid: number; host?: string }): string {
	const startedAt = "2026-01-01T00:00:00Z";
	return JSON.stringify({ host: hostname(), space: "", startedAt, born: "", token: "x", ...owner });
}

/** User namespaces are not to be had everywhere. */
export function canMount(): boolean {
	const mount = ["-rm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"];
	return spawnSync("unshare", mount, { stdio: "ignore" }).status === 0;
}

interface Ended extends Pick<CliRun, "stdout" | "stderr"> {
	exit?: number | null;
	/** Of an action. */
	exitCode?: number;
}

export function expectExit({ exit, exitCode = exit ?? -1, stdout, stderr }: Ended, code: number): void {
	expect(exitCode, stdout + stderr).toBe(code);
}

export function expectRefusal({ exit, stderr }: CliRun, says: string | RegExp, code = 2): void {
	expect(stderr).toMatch(says);
	expect(exit).toBe(code);
}

/** Texts must be part of the message, patterns must match it. */
export async function expectFault(
	work: Promise<unknown>,
	code: string,
	message: string | RegExp = "",
	fix: string | RegExp = "",
): Promise<void> {
	const like = (words: string | RegExp) =>
		typeof words === "string" ? expect.stringContaining(words) : expect.stringMatching(words);
	await expect(work).rejects.toMatchObject({ code, message: like(message), ...(fix && { fix: like(fix) }) });
}

export function readResult(out: string): Result {
	return JSON.parse(readFileSync(join(out, "result.json"), "utf8"));
}

export interface Gated {
	run: CliRun;
	folder: string;
	readonly result: Result;
	/** `terminal` is what the run printed. */
	report(name: string): string;
}

interface GateOptions extends Omit<CliOptions, "cwd"> {
	/** The folders `base` and `head` by default. */
	sides?: readonly string[];
	argv?: readonly string[];
}

export async function gateFolders(
	folder: string,
	{ sides = ["--base", "base", "--head", "head"], argv = [], ...options }: GateOptions = {},
): Promise<Gated> {
	const run = await runCli(["run", ...sides, "--out", "out", ...argv], { ...options, cwd: folder });
	const out = join(folder, "out");
	return {
		...{ run, folder },
		get result() {
			return readResult(out);
		},
		report: (name) => (name === "terminal" ? run.stdout : readFileSync(join(out, name), "utf8")),
	};
}

/** A folder with two quick projects, `base` and `head`. */
export function twoProjects(base: ProjectFiles, head: ProjectFiles, atEnd?: AtEnd): string {
	const folder = temporaryFolder(atEnd);
	quickProject(join(folder, "base"), base);
	quickProject(join(folder, "head"), head);
	return folder;
}

/**
 * A bundle like the committed one, whose ONNX Runtime worker runs `misbehave` on jobs of one kind; all else is real.
 * In it, `job` is the job and `write(text)` writes the answer's file.
 */
export function distWithFaultyWorker(
	kind: "build" | "infer" | "count",
	misbehave: string,
	atEnd?: AtEnd,
): string {
	const folder = temporaryFolder(atEnd);
	cpSync("dist", join(folder, "dist"), { recursive: true });
	cpSync("package.json", join(folder, "package.json"));
	const worker = join(folder, "dist", "ort", "worker.js");
	renameSync(worker, join(folder, "dist", "ort", "worker-real.js"));
	const program = `import { readFileSync, writeFileSync } from "node:fs";
const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
const write = (text) => writeFileSync(job.resultPath, text);
// Each job comes to this program, none to a process that lives on.
writeFileSync(process.argv[2], JSON.stringify({ ...job, stays: undefined }));
if (job.kind === ${JSON.stringify(kind)}) { ${misbehave} } else await import("./worker-real.js");
`;
	writeFileSync(worker, program);
	return join(folder, "dist");
}
