// The terminal of a command, and the progress that suits it.

import { everyMs, systemClock } from "../adapters/clock.ts";
import { type StandardStreams, standardStreams } from "../adapters/process/standard-streams.ts";
import { plainProgress, silentProgress, terminalProgress } from "../adapters/terminal/progress.ts";
import { type Environment, readEnvironment } from "../host/adapters/github/env.ts";
import type { Progress } from "../ports/world.ts";

export interface Terminal extends StandardStreams {
	/** Results that are in no file. */
	out(text: string): void;
	/** Results that are also in files. */
	echo(text: string): void;
	err(text: string): void;
	color: { out: boolean; err: boolean };
	columns: number;
	/** A person watches stderr. */
	interactive: boolean;
	environment: Environment;
	cwd: string;
}

interface OpenedTerminal extends Terminal {
	/** Why output that is in no file was lost, or null. */
	lost(): Promise<NodeJS.ErrnoException | null>;
}

export function openTerminal(options: { color: boolean }): OpenedTerminal {
	const environment = readEnvironment();
	const wanted = options.color && !environment.noColor;
	let fault: NodeJS.ErrnoException | null = null;
	process.stdout.on("error", (error) => {
		fault ??= error;
	});
	let isOnlyCopy = false;
	const streams = standardStreams(environment);
	return {
		...streams,
		out(text) {
			isOnlyCopy = true;
			streams.out(text);
		},
		echo: streams.out,
		color: { out: wanted && process.stdout.isTTY === true, err: wanted && process.stderr.isTTY === true },
		columns: process.stdout.columns ?? 100,
		interactive: process.stderr.isTTY === true && !environment.isCi,
		environment,
		cwd: process.cwd(),
		async lost() {
			// Resolves once all earlier output is written or has failed.
			await new Promise<void>((done) => process.stdout.write("", () => done()));
			return isOnlyCopy ? fault : null;
		},
	};
}

const quietMs = { followed: 5_000, workflow: 30_000 };

export function progressFor(terminal: Terminal, options: { quiet: boolean; json?: boolean }): Progress {
	if (options.quiet) return silentProgress();
	const stream = { write: terminal.err, columns: terminal.columns };
	const clock = systemClock();
	const ticker = everyMs(400);
	if (terminal.interactive) return terminalProgress(stream, { color: terminal.color.err, clock, ticker });
	const pulse = { clock, ticker, afterMs: terminal.environment.isCi ? quietMs.workflow : quietMs.followed };
	// Groups go to stdout, which may hold only JSON.
	const isGrouped = terminal.environment.isActions && options.json !== true;
	return isGrouped
		? plainProgress({ write: terminal.echo }, pulse, terminal.command)
		: plainProgress(stream, pulse);
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function stopOnSignals(stop: (reason: string) => void): () => void {
	let isStopping = false;
	const listeners = signals.map((signal) => {
		const listener = () => {
			if (isStopping) endNow(signal);
			isStopping = true;
			stop(`interrupted by ${signal}`);
		};
		process.on(signal, listener);
		return () => void process.off(signal, listener);
	});
	return () => {
		for (const remove of listeners) remove();
	};
}

/** process.exit() may wait for blocked system calls, so the signal takes its default effect. */
function endNow(signal: NodeJS.Signals): never {
	process.once("exit", () => {
		process.removeAllListeners(signal);
		process.kill(process.pid, signal);
	});
	process.exit(3);
}
