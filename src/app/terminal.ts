// The terminal of a command: two streams, their width, whether colour is wanted, and the progress that fits it.
import { everyMs, systemClock } from "../adapters/clock.ts";
import { type Environment, readEnvironment } from "../adapters/github/env.ts";
import { type StandardStreams, standardStreams } from "../adapters/process/standard-streams.ts";
import {
	groupProgress,
	plainProgress,
	silentProgress,
	terminalProgress,
} from "../adapters/terminal/progress.ts";
import type { Progress } from "../ports/world.ts";

export interface Terminal extends StandardStreams {
	/** Results that no file has. */
	out(text: string): void;
	/** Results that files have too. */
	echo(text: string): void;
	/** Everything else. */
	err(text: string): void;
	color: { out: boolean; err: boolean };
	columns: number;
	/** A person watches stderr. */
	interactive: boolean;
	environment: Environment;
	cwd: string;
}

export interface OpenedTerminal extends Terminal {
	/** Why results that no file has could not be written; null where none was lost. */
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
			// Called back once all earlier output was written or has failed.
			await new Promise<void>((done) => process.stdout.write("", () => done()));
			return isOnlyCopy ? fault : null;
		},
	};
}

/** Between two lines of a log that a person follows, and of a workflow's log. */
const quietMs = { followed: 1500, workflow: 30_000 };

export function progressFor(terminal: Terminal, options: { quiet: boolean; json?: boolean }): Progress {
	if (options.quiet) return silentProgress();
	const stream = { write: terminal.err, columns: terminal.columns };
	const clock = systemClock();
	const ticker = everyMs(400);
	if (terminal.interactive) return terminalProgress(stream, { color: terminal.color.err, clock, ticker });
	const pulse = { clock, ticker, afterMs: terminal.environment.isCi ? quietMs.workflow : quietMs.followed };
	// Groups are made on stdout, which then holds JSON alone.
	return terminal.environment.isActions && options.json !== true
		? groupProgress({ out: terminal.echo, command: terminal.command }, pulse)
		: plainProgress(stream, pulse);
}
