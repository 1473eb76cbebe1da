// Reads run results that Polygraphy saved.
import { resolve } from "node:path";
import { readInput } from "../../adapters/process/input-file.ts";
import type { RunnerResults } from "../../core/golden/polygraphy/judge-runs.ts";
import { inputKinds } from "../../core/input-kind.ts";
import { mostPolygraphyBytes } from "../../formats/polygraphy/polygraphy.ts";
import { parseRunResults } from "../../formats/polygraphy/run-results.ts";

const kind = { ...inputKinds.tensor, what: "a file of run results", mostBytes: mostPolygraphyBytes, fix: "Check the path." };

/** @throws ConfigError golden-missing, tensor-invalid. */
export async function readRunResults(path: string, cwd: string): Promise<RunnerResults[]> {
	return parseRunResults(await readInput(resolve(cwd, path), kind, path), path);
}
