// Keeps the record of a run in the history that its config names. A record that is not kept makes the run an error.
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { readWorkflowRun } from "../../adapters/github/env.ts";
import type { Config } from "../../core/config/config.ts";
import { recordError } from "../../core/error-record.ts";
import { fileOf } from "../../core/history/files.ts";
import { recordsOf } from "../../core/history/from-result.ts";
import { failureKindOf, foldOutcome } from "../../core/outcome.ts";
import type { Result } from "../../core/schema/result.ts";
import { counted } from "../../core/text/labels.ts";
import type { RunEvent } from "../../formats/github/event.ts";
import type { HistoryStore } from "../../ports/history.ts";
import type { Files } from "../../ports/world.ts";
import { runUrl } from "../publish/publish-run.ts";
import { sha256 } from "./open-store.ts";

export interface Keeping {
	store: HistoryStore;
	outFolder: string;
	files: Files;
}

/** Pull requests never write: their numbers are of code that nobody accepted. */
export function isKept({ history }: Pick<Config, "history">, event: RunEvent | undefined): boolean {
	if (history === undefined || event?.kind === "pull-request" || event?.kind === "workflow-run") return false;
	return history.when === "always" || event?.kind === "schedule" || event?.kind === "dispatch";
}

/** The files are in the output folder first, so that a record whose writing failed can be imported. */
export async function keepRecord(result: Result, { store, outFolder, files }: Keeping): Promise<Result> {
	const run = readWorkflowRun();
	const identity = {
		run: run === null ? "local" : `${run.runId}-${run.runAttempt}`,
		...(run === null ? {} : { url: runUrl(run) }),
		machine: { host: hostname() },
	};
	const records = recordsOf(result, identity, sha256).map((record) => fileOf(record, sha256));
	if (records.length === 0) return { ...result, notes: [...result.notes, "Nothing was timed, so the history has no record of this run."] };
	try {
		for (const { path, text } of records) {
			await files.makeFolder(join(outFolder, "history", dirname(path)));
			await files.writeText(join(outFolder, "history", path), text);
		}
		await store.add(records);
		return { ...result, notes: [...result.notes, `Kept ${counted(records.length, "record")} in the history (${store.name}).`] };
	} catch (error) {
		const errors = [...result.errors, recordError(error)];
		const outcome = foldOutcome(result.gates, errors);
		const failureKind = failureKindOf(outcome, errors);
		return { ...result, errors, outcome, ...(failureKind === undefined ? {} : { failureKind }) };
	}
}
