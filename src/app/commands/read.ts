// Reads a text file that a command was given.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ConfigCode, ConfigError } from "../../core/errors.ts";

/** @throws ConfigError `code` where it cannot be read. */
export async function readArgument(path: string, cwd: string, code: ConfigCode): Promise<{ path: string; text: string }> {
	const text = await readFile(resolve(cwd, path), "utf8").catch((cause: NodeJS.ErrnoException) => {
		const why = cause.code === "ENOENT" ? "is not there" : `cannot be read (${cause.code ?? cause.message})`;
		throw new ConfigError({ code, message: `${path} ${why}.`, cause, details: { location: { path }, fix: "Check the path." } });
	});
	return { path, text };
}
