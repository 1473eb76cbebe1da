// The action: the same gate as the command line, told to the workflow run.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { error as annotateError, info, saveState, setFailed } from "@actions/core";
import { readInputs } from "../adapters/github/inputs.ts";
import { publishFailure, publishToRun } from "../adapters/github/publish.ts";
import { headline } from "../core/report/headline.ts";
import { renderTerminal } from "../core/report/terminal.ts";
import { reportFiles } from "../stages/report.ts";
import { describeRecord, exitCodes, exitOfResult, explainError } from "./exit.ts";
import { gate } from "./gate.ts";
import { progressFor } from "./progress.ts";
import { readRunEvent } from "./run-event.ts";
import { stopOnSignals } from "./signals.ts";
import { openTerminal } from "./terminal.ts";

export async function runAction(): Promise<number> {
	const terminal = openTerminal({ color: false });
	const { overrides, ...inputs } = readInputs();
	const cwd = terminal.environment.workspace ?? terminal.cwd;
	saveState("out", join(cwd, inputs.out));
	try {
		const { environment } = terminal;
		const event = await readRunEvent(environment);
		const gated = await gate({
			cwd,
			...inputs,
			...(event === undefined ? {} : { event }),
			inputs: overrides,
			environment,
			progress: progressFor(terminal, { quiet: false }),
			onStart: stopOnSignals,
		});
		if (gated.state !== "ran") return exitCodes.internal;
		const { result, outFolder } = gated;
		info(renderTerminal(result, { color: false, columns: 120 }));
		const markdown = await readFile(join(outFolder, reportFiles.markdown), "utf8");
		await publishToRun(result, { resultPath: join(outFolder, reportFiles.result), markdown });
		const exit = exitOfResult(result);
		if (exit !== exitCodes.ok) setFailed(headline(result));
		return exit;
	} catch (error) {
		return announce(error);
	}
}

/** A fault before there was a result: annotated where the user can mend it. */
function announce(fault: unknown): number {
	const { exit, records, text } = explainError(fault);
	info(text);
	for (const record of records) {
		const { location } = record;
		const place = location === undefined ? {} : { file: location.path, startLine: location.line ?? 1, startColumn: location.column ?? 1 };
		annotateError(describeRecord(record), { title: `trtgate: ${record.code}`, ...place });
	}
	publishFailure(records[0]?.kind ?? "internal");
	return exit;
}
