// Runs a short, trusted command through @actions/exec. It cannot be killed, and its input stays open.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { exec } from "@actions/exec";
import { cutLines, lastLines } from "./log.ts";
import { captureOutput, messageOf, type ProcessRecord, type ProcessState } from "./spawn.ts";

export interface ExecOptions {
	argv: readonly [string, ...string[]];
	env: Readonly<Record<string, string | undefined>>;
	timeoutMs: number;
	signal: AbortSignal;
	captureBytes?: number;
}

const graceMs = 2_000;

interface Ending {
	state: ProcessState;
	exitCode: number | null;
	problem: string;
}

export async function execCommand(options: ExecOptions): Promise<ProcessRecord> {
	const started = performance.now();
	const [tail, output] = [lastLines(40), captureOutput(options.captureBytes ?? 0)];
	const [out, err] = [cutLines(tail.add), cutLines(tail.add)];
	const listeners = {
		stdout(chunk: Buffer): void {
			output.push(chunk);
			out.push(chunk);
		},
		stderr: err.push,
	};
	const over = new AbortController();
	const ending = await Promise.race([run(options, listeners), stopped(options, over.signal)]);
	over.abort();
	for (const cutter of [out, err]) cutter.end();
	const wallMs = performance.now() - started;
	const { argv } = options;
	return { ...ending, signal: null, wallMs, tail: tail.lines(), stdout: output.text(), logPath: null, argv };
}

async function run(
	{ argv: [name, ...args], env, signal }: ExecOptions,
	listeners: { stdout(chunk: Buffer): void; stderr(chunk: Buffer): void },
): Promise<Ending> {
	const notStarted = (problem: string): Ending => ({ state: "not-started", exitCode: null, problem });
	const program = findProgram(name, env["PATH"]);
	if (program === null) return notStarted(`${name} is not installed`);
	if (signal.aborted) return new Promise(() => {});
	const given = Object.fromEntries(
		Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
	);
	const quiet = { env: given, silent: true, ignoreReturnCode: true, listeners };
	try {
		const exitCode: number | null = await exec(`"${program}"`, args, quiet);
		return { state: exitCode === null ? "signalled" : "exited", exitCode, problem: "" };
	} catch (error) {
		return notStarted(messageOf(error));
	}
}

/** @actions/exec would search our own PATH. A relative folder would be inside the checkout. */
function findProgram(name: string, path = "") {
	const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
	return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

export function isProgram(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}

function stopped({ signal, timeoutMs }: ExecOptions, over: AbortSignal): Promise<Ending> {
	const ended = (state: ProcessState): Ending => ({ state, exitCode: null, problem: "it was abandoned" });
	return new Promise((resolve) => {
		setTimeout(() => resolve(ended("timed-out")), timeoutMs).unref();
		const abort = () => resolve(ended("aborted"));
		// Most commands are about to end.
		const wait = (): void => void setTimeout(abort, graceMs).unref();
		if (signal.aborted) abort();
		else signal.addEventListener("abort", wait, { once: true, signal: over });
	});
}
