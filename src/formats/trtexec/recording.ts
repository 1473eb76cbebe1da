// Reads meta.json of a recorded run: its command, how it ended and which files it wrote.
import { ConfigError } from "../../core/errors.ts";

export interface WrittenFile {
	path: string;
	bytes: number;
}

export interface RecordingMeta {
	argv: readonly string[];
	exitCode: number | null;
	signal: string | null;
	/** The system's error when the program could not be started. */
	spawnError: string | null;
	/** Every file below the run's working directory. */
	wrote: readonly WrittenFile[];
}

function asText(value: unknown): string | null {
	return typeof value === "string" ? value : null;
}

function asWritten(value: unknown): WrittenFile[] {
	if (typeof value !== "object" || value === null) return [];
	return Object.entries(value).flatMap(([path, file]) => {
		const bytes: unknown = typeof file === "object" && file !== null ? (file as Record<string, unknown>)["bytes"] : undefined;
		return typeof bytes === "number" && bytes >= 0 ? [{ path, bytes }] : [];
	});
}

/** @throws ConfigError usage if the text is not a recording's meta.json. */
export function parseRecordingMeta(text: string): RecordingMeta {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (cause) {
		throw new ConfigError({
			code: "usage",
			message: "meta.json is not JSON.",
			cause,
			details: { expected: "argv, exitCode, signal, wrote" },
		});
	}
	const fields = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
	const argv = fields["argv"];
	if (!Array.isArray(argv)) {
		throw new ConfigError({
			code: "usage",
			message: "meta.json has no argv.",
			details: { expected: "argv as a list of strings", fix: "Point diagnose at a recording's folder or at a plain log." },
		});
	}
	return {
		argv: argv.filter((argument): argument is string => typeof argument === "string"),
		exitCode: typeof fields["exitCode"] === "number" ? fields["exitCode"] : null,
		signal: asText(fields["signal"]),
		spawnError: asText(fields["spawnError"]),
		wrote: asWritten(fields["wrote"]),
	};
}
