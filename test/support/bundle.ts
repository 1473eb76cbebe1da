import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { ChildOutput } from "./child-output.ts";
import { compileCache } from "./compile-cache.ts";

export interface BundleJob {
	entry: string;
	argv?: readonly string[];
	env: Readonly<Record<string, string>>;
	cwd: string;
}

export interface BundleHost {
	/** Address of the API that its first action was given: the toolkit keeps it, and reads other runs there. */
	apiUrl?: string | undefined;
	/** For files whose paths the bundle reads only once in a process. */
	folder: string;
	run(job: BundleJob): Promise<ChildOutput>;
}

const program = resolve("test/support/programs/bundle-host.mjs");
const idle: BundleHost[] = [];
const children: ChildProcess[] = [];

export async function withHost<Value>(
	work: (host: BundleHost) => Promise<Value>,
	fits: (host: BundleHost) => boolean = () => true,
): Promise<Value> {
	const at = idle.findLastIndex(fits);
	const host = idle.splice(at, at < 0 ? 0 : 1)[0] ?? startHost();
	const value = await work(host);
	idle.push(host);
	return value;
}

function startHost(): BundleHost {
	const child = fork(program, [], {
		env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
		// Little memory to copy where it starts a process, and no threads that compile and collect ahead.
		execArgv: ["--single-threaded", "--max-semi-space-size=16"],
		stdio: ["ignore", "ignore", "inherit", "ipc"],
	});
	child.unref();
	child.channel?.unref();
	// Vitest ends its workers with this signal.
	if (children.push(child) === 1) process.once("SIGTERM", () => void endAll().then(() => process.exit()));
	const folder = mkdtempSync(join(tmpdir(), "trtgate-host-"));
	process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
	return { folder, run: (job) => runIn(child, job) };
}

/** Waits, so that their time counts as this process's. */
async function endAll(): Promise<void> {
	await Promise.all(
		children.map(async (child) => {
			const ended = child.exitCode === null ? once(child, "exit") : null;
			if (child.connected) child.disconnect();
			await ended;
		}),
	);
}

function runIn(child: ChildProcess, job: BundleJob): Promise<ChildOutput> {
	return new Promise((settle, reject) => {
		const ended = (code: number | null): void => reject(new Error(`the bundle's process ended: ${code}`));
		child.once("exit", ended);
		child.once("message", (output) => {
			child.off("exit", ended);
			settle({ signal: null, ...(output as Omit<ChildOutput, "signal">) });
		});
		child.send({ argv: [], ...job });
	});
}
