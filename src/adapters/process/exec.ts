// Runs a short, trusted command through @actions/exec: silently, its output captured. It cannot be killed, and its input stays
// open, so a command that may hang, that holds a GPU or that reads its input belongs to spawn.ts.
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { exec } from "@actions/exec";
import { cutLines, lastLines } from "./lines.ts";
import { captureOutput, type ProcessRecord, type ProcessState } from "./spawn.ts";

export interface ExecOptions {
	argv: readonly [string, ...string[]];
	env: Readonly<Record<string, string | undefined>>;
	/** How long to wait for its end; a command that takes longer is abandoned. */
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
	return {
		...ending,
		signal: null,
		wallMs,
		tail: tail.lines(),
		stdout: output.text(),
		logPath: null,
		argv: options.argv,
	};
}

async function run(
	{ argv, env, signal }: ExecOptions,
	listeners: { stdout(chunk: Buffer): void; stderr(chunk: Buffer): void },
): Promise<Ending> {
	const [name, ...args] = argv;
	const program = findProgram(name, env["PATH"]);
	if (program === null) return { state: "not-started", exitCode: null, problem: `${name} is not installed` };
	if (signal.aborted) return new Promise(() => {});
	const given = Object.fromEntries(
		Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
	);
	try {
		const exitCode: number | null = await exec(`"${program}"`, args, {
			env: given,
			silent: true,
			ignoreReturnCode: true,
			listeners,
		});
		return { state: exitCode === null ? "signalled" : "exited", exitCode, problem: "" };
	} catch (error) {
		return {
			state: "not-started",
			exitCode: null,
			problem: error instanceof Error ? error.message : String(error),
		};
	}
}

/** @actions/exec would search our own PATH, which may differ from the command's. A folder without a root would be one of the checkout. */
function findProgram(name: string, path = ""): string | null {
	const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
	const places = folders.map((folder) => join(folder, name));
	return places.find(isProgram) ?? null;
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
		const abort = (): void => resolve(ended("aborted"));
		if (signal.aborted) abort();
		// Most are about to end, and what they write is then removed with the rest.
		else
			signal.addEventListener("abort", () => setTimeout(abort, graceMs).unref(), {
				once: true,
				signal: over,
			});
	});
}
