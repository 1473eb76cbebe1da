// `trtgate golden check --polygraphy`: what Polygraphy's own comparators say of Polygraphy's own files.
import { ConfigError } from "../../core/errors.ts";
import { judgeRuns } from "../../core/golden/polygraphy/judge-runs.ts";
import { jsonText } from "../../core/text/escape.ts";
import { exitCodes } from "../exit.ts";
import type { Terminal } from "../terminal.ts";
import { parsePolygraphyOptions } from "./polygraphy-options.ts";
import { type PolygraphyReport, renderPolygraphy } from "./render-polygraphy.ts";
import { readRunResults } from "./run-results.ts";

/** The release whose verdicts are given. */
const release = "polygraphy 0.53.6";

/** The candidate's runners come first, as in `polygraphy run --trt --load-outputs golden.json`. */
export async function checkPolygraphy(argv: readonly string[], terminal: Terminal): Promise<number> {
	const { golden, outputs, strict, json, settings } = parsePolygraphyOptions(argv);
	const files = outputs === undefined ? [golden] : [outputs, golden];
	const runners = [];
	for (const file of files) runners.push(...(await readRunResults(file, terminal.cwd)));
	if (runners.length < 2) throw alone(golden);
	const { passed, ...verdict } = judgeRuns(runners, settings);
	const state = passed && !(strict && verdict.cautions.length > 0) ? "match" : "mismatch";
	const report: PolygraphyReport = { rules: release, golden, ...(outputs === undefined ? {} : { outputs }), state, passed, ...verdict };
	terminal.out(json ? jsonText(report) : renderPolygraphy(report));
	return state === "match" ? exitCodes.ok : exitCodes.failed;
}

function alone(golden: string): ConfigError {
	return new ConfigError({
		code: "usage",
		message: `${golden} holds the results of one runner, and there is nothing to compare them with.`,
		details: { fix: "Add --outputs with the candidate's results." },
	});
}
