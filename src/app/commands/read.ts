// Reads a text file that a command was given.
import { resolve } from "node:path";
import { readInputText } from "../../adapters/process/input-file.ts";
import type { InputKind } from "../../core/input-kind.ts";

/** @throws ConfigError by the kind where it cannot be read. */
export async function readArgument(path: string, cwd: string, kind: InputKind): Promise<{ path: string; text: string }> {
	return { path, text: await readInputText(resolve(cwd, path), kind, path) };
}
