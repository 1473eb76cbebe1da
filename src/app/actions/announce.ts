// Tells a workflow run of a fault that came before there was a result, where the user can mend it.

import { error as annotateError } from "@actions/core";
import { log } from "../../adapters/github/log.ts";
import { describeRecord, explainError } from "../exit.ts";

export function announce(fault: unknown): number {
	const { exit, records, text } = explainError(fault);
	log(text);
	for (const record of records) {
		const { location } = record;
		const place = location === undefined ? {} : { file: location.path, startLine: location.line ?? 1, startColumn: location.column ?? 1 };
		annotateError(describeRecord(record), { title: `trtgate: ${record.code}`, ...place });
	}
	return exit;
}
