// Reads a result for the commands that take one; apart from arguments, which every command loads.
import { join } from "node:path";
import type { Result } from "../../../generated/result.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { parseResult } from "../../core/report/parse-result.ts";
import { readArgument } from "./arguments.ts";

export async function readResult(given: string, cwd: string): Promise<{ path: string; result: Result }> {
	const file = given.endsWith(".json") ? given : join(given, "result.json");
	const { path, text } = await readArgument(file, cwd, inputKinds.result);
	return { path, result: parseResult(text, path) };
}
