// Exit codes, and errors as text.

import type { ErrorRecord, Result } from "../../generated/result.ts";
import { recordError } from "../core/errors.ts";
import { cleanName } from "../core/text/escape.ts";

export const exitCodes = { ok: 0, failed: 1, configuration: 2, runner: 3, internal: 70 } as const;

const byKind: Readonly<Record<ErrorRecord["kind"], number>> = {
	configuration: exitCodes.configuration,
	runner: exitCodes.runner,
	github: exitCodes.ok,
	internal: exitCodes.internal,
};

export function exitOfResult(result: Result): number {
	if (result.outcome === "fail") return exitCodes.failed;
	if (result.outcome !== "error") return exitCodes.ok;
	return byKind[result.failureKind ?? "internal"];
}

export function explainError(error: unknown): { text: string; exit: number; records: ErrorRecord[] } {
	const records = error instanceof AggregateError ? error.errors.map(recordError) : [recordError(error)];
	const exit = Math.max(...records.map((record) => byKind[record.kind]));
	return { text: records.map(describeRecord).join(""), exit, records };
}

export function describeRecord(record: ErrorRecord): string {
	const { location, excerpt = [], fix, log, part } = record;
	const place =
		location?.line === undefined ? "" : `${location.path}:${location.line}:${location.column ?? 1}`;
	const prefix = place === "" || record.message.startsWith(place) ? "" : `${place}: `;
	const about = part === undefined ? "" : `${cleanName(part)}: `;
	const head = `${record.kind}: ${about}${prefix}${record.message} [${record.code}]`;
	const lines = [
		head,
		...excerpt.map((line) => `  | ${line}`),
		...(log === undefined ? [] : [`  log: ${log}`]),
		...(fix === undefined ? [] : [`  → ${fix}`]),
	];
	return `${lines.join("\n")}\n`;
}
