// Runs one child process in a group of its own, without a shell.
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { signalGroup } from "./lock-file.ts";
import { cutLines, type LogFile, lastLines, openLog } from "./log.ts";

export interface ProcessOptions {
	argv: readonly [string, ...string[]];
	cwd?: string;
	env?: Readonly<Record<string, string | undefined>>;
	stdin?: string | Uint8Array;
	/** Takes over input and output; only errors then go to log, tail and lines. */
	talk?(pipes: Pipes): void;
	timeoutMs: number;
	signal?: AbortSignal;
	logPath?: string;
	logCapBytes?: number;
	tailLines?: number;
	captureBytes?: number;
	background?: boolean;
	graceMs?: number;
	onLine?(line: string, isNoise: boolean): void;
	/** Neither log nor tail keeps noise; the log then holds lines as `onLine` gets them. */
	isNoise?(line: string, stream: "out" | "err"): boolean;
	onStart?(pid: number): void;
	onEnd?(pid: number): void;
}

export interface Pipes {
	input: Writable;
	output: Readable;
}

export type ProcessState = "exited" | "signalled" | "timed-out" | "aborted" | "not-started";

export interface ProcessRecord {
	state: ProcessState;
	exitCode: number | null;
	signal: NodeJS.Signals | null;
	wallMs: number;
	tail: string[];
	stdout: string;
	logPath: string | null;
	problem: string;
	argv: readonly string[];
}

const logCapBytes = 64 * 1024 * 1024;
const tailLines = 40;
const graceMs = 2_000;
/** A grandchild may hold the pipes open. */
const lingerMs = 1_000;
/** A child that waits inside a driver may outlive SIGKILL. */
const undeadMs = 5_000;

interface Ending {
	cause: "exit" | "timeout" | "abort" | "spawn";
	exitCode: number | null;
	signal: NodeJS.Signals | null;
	problem: string;
}

/** @throws ConfigError output-unwritable and ToolError disk-full of the log; all else is in the record. */
export async function runProcess(options: ProcessOptions): Promise<ProcessRecord> {
	const started = performance.now();
	const tail = lastLines(options.tailLines ?? tailLines);
	const output = captureOutput(options.captureBytes ?? 0);
	const log =
		options.logPath === undefined ? null : await openLog(options.logPath, options.logCapBytes ?? logCapBytes);
	let ending: Ending;
	try {
		ending = options.signal?.aborted
			? notRun("abort", "interrupted before the start")
			: await runChild(options, { tail, output, log });
	} finally {
		await log?.close();
	}
	const { cause, ...end } = ending;
	return {
		...end,
		state: cause === "exit" ? (end.signal === null ? "exited" : "signalled") : unended[cause],
		wallMs: performance.now() - started,
		tail: tail.lines(),
		stdout: output.text(),
		logPath: options.logPath ?? null,
		argv: options.argv,
	};
}

interface Sinks {
	tail: { add(line: string): void };
	output: { push(chunk: Uint8Array): void };
	log: LogFile | null;
}

const unended = { spawn: "not-started", timeout: "timed-out", abort: "aborted" } as const;

function notRun(cause: "abort" | "spawn", problem: string): Ending {
	return { cause, exitCode: null, signal: null, problem };
}

async function runChild(options: ProcessOptions, sinks: Sinks): Promise<Ending> {
	let child: ChildProcess;
	try {
		child = startChild(options);
	} catch (error) {
		return notRun("spawn", messageOf(error));
	}
	const spoken = options.talk === undefined ? [pipe(child.stdout, "out", options, sinks)] : [];
	const cutters = [...spoken, pipe(child.stderr, "err", options, sinks)];
	feed(child, options);
	if (options.background === true) {
		child.unref();
		for (const stream of [child.stdin, child.stdout, child.stderr])
			if (stream instanceof Socket) stream.unref();
	}
	const { pid } = child;
	if (pid !== undefined) options.onStart?.(pid);
	const ending = await waitForEnd(child, options);
	if (pid !== undefined) {
		signalGroup(pid, "SIGKILL");
		options.onEnd?.(pid);
	}
	for (const cutter of cutters) cutter.end();
	return ending;
}

function startChild(options: ProcessOptions) {
	const [program, ...args] = options.argv;
	return spawn(program, args, {
		cwd: options.cwd,
		env: options.env === undefined ? undefined : { ...options.env },
		stdio: [options.stdin === undefined && options.talk === undefined ? "ignore" : "pipe", "pipe", "pipe"],
		detached: process.platform !== "win32",
		windowsHide: true,
	});
}

function feed({ stdin: input, stdout: output }: ChildProcess, { stdin: text, talk }: ProcessOptions) {
	input?.on("error", () => {});
	if (text !== undefined) input?.end(text);
	// Without file descriptors, a child has no streams at all, not even null.
	if (talk === undefined || !input || !output) return;
	output.on("error", () => {});
	talk({ input, output });
}

function pipe(stream: Readable | null, name: "out" | "err", options: ProcessOptions, sinks: Sinks) {
	const cutter = cutLines((line) => {
		const noise = options.isNoise?.(line, name) === true;
		if (!noise) sinks.tail.add(line);
		if (!noise && options.isNoise !== undefined && stream !== null)
			sinks.log?.write(Buffer.from(`${line}\n`), stream);
		options.onLine?.(line, noise);
	});
	stream?.on("data", (chunk: Uint8Array) => {
		if (options.isNoise === undefined) sinks.log?.write(chunk, stream);
		if (name === "out") sinks.output.push(chunk);
		cutter.push(chunk);
	});
	stream?.on("error", () => {});
	return cutter;
}

function waitForEnd(child: ChildProcess, options: ProcessOptions): Promise<Ending> {
	return new Promise((resolve) => {
		const timers = new Set<NodeJS.Timeout>();
		const after = (ms: number, act: () => void) => {
			const timer = setTimeout(act, ms);
			timers.add(timer);
			return timer;
		};
		const ending: Ending = { cause: "exit", exitCode: null, signal: null, problem: "" };
		let gone = false;
		const finish = () => {
			for (const timer of timers) clearTimeout(timer);
			options.signal?.removeEventListener("abort", onAbort);
			child.removeAllListeners();
			child.on("error", () => {});
			for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
			child.unref();
			resolve(ending);
		};
		const stop = (cause: "timeout" | "abort") => {
			if (gone || ending.cause !== "exit" || child.pid === undefined) return;
			ending.cause = cause;
			// The caller that ends it also waits for it to exit.
			child.ref();
			const { pid } = child;
			signalGroup(pid, "SIGTERM");
			after(options.graceMs ?? graceMs, () => {
				signalGroup(pid, "SIGKILL");
				after(undeadMs, () => {
					ending.problem = `process ${pid} outlived SIGKILL by ${undeadMs} ms`;
					finish();
				});
			});
		};
		const onAbort = () => stop("abort");
		options.signal?.addEventListener("abort", onAbort, { once: true });
		const limit = after(options.timeoutMs, () => stop("timeout"));
		if (options.background === true) limit.unref();
		child.once("error", (error) => {
			if (child.pid !== undefined) return;
			Object.assign(ending, notRun("spawn", error.message));
			finish();
		});
		child.once("exit", (exitCode, signal) => {
			gone = true;
			Object.assign(ending, { exitCode, signal });
			after(lingerMs, finish);
		});
		child.once("close", finish);
	});
}

export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

export function captureOutput(capBytes: number): { push(chunk: Uint8Array): void; text(): string } {
	const chunks: Uint8Array[] = [];
	let left = capBytes;
	return {
		push(chunk) {
			if (left <= 0) return;
			chunks.push(chunk.subarray(0, left));
			left -= chunk.length;
		},
		text: () => Buffer.concat(chunks).toString("utf8"),
	};
}
