// What a command has of its terminal: two streams, their width, whether colour is wanted.
import { type Environment, readEnvironment } from "../adapters/github/env.ts";
import { type StandardStreams, standardStreams } from "../adapters/process/standard-streams.ts";

export interface Terminal extends StandardStreams {
	/** Results. */
	out(text: string): void;
	/** All the rest. */
	err(text: string): void;
	color: { out: boolean; err: boolean };
	columns: number;
	/** A person watches stderr. */
	interactive: boolean;
	environment: Environment;
	cwd: string;
}

export function openTerminal(options: { color: boolean }): Terminal {
	const environment = readEnvironment();
	const wanted = options.color && !environment.noColor;
	return {
		...standardStreams(environment),
		color: { out: wanted && process.stdout.isTTY === true, err: wanted && process.stderr.isTTY === true },
		columns: process.stdout.columns ?? 100,
		interactive: process.stderr.isTTY === true && !environment.isCi,
		environment,
		cwd: process.cwd(),
	};
}
