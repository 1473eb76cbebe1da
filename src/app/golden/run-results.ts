// Reads run results that Polygraphy saved.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { fileStore } from "../../adapters/files/store.ts";
import { ConfigError } from "../../core/errors.ts";
import type { RunnerResults } from "../../core/golden/polygraphy/judge-runs.ts";
import { mostPolygraphyBytes } from "../../formats/polygraphy/polygraphy.ts";
import { parseRunResults } from "../../formats/polygraphy/run-results.ts";

/** @throws ConfigError golden-missing, tensor-invalid. */
export async function readRunResults(path: string, cwd: string): Promise<RunnerResults[]> {
	const place = resolve(cwd, path);
	const facts = await stat(place).catch(() => null);
	if (facts === null) {
		const details = { location: { path }, fix: "Check the path." };
		throw new ConfigError({ code: "golden-missing", message: `${path} is not there.`, details });
	}
	const wrong = facts.isFile() ? (facts.size > mostPolygraphyBytes ? `${facts.size} bytes` : null) : "no file";
	if (wrong !== null) {
		const expected = `a file of at most ${mostPolygraphyBytes} bytes`;
		const details = {
			location: { path },
			expected,
			got: wrong,
			fix: "Save the results as one file, of fewer iterations where it is too large.",
		};
		throw new ConfigError({ code: "tensor-invalid", message: `${path}: expected ${expected}, got ${wrong}.`, details });
	}
	return parseRunResults(await fileStore().readBytes(place), path);
}
