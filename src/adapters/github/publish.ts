// Writes to the workflow run: log, outputs, annotations, job summary.
import { error, notice, setOutput, summary, warning } from "@actions/core";
import type { Result } from "../../../generated/result.ts";
import { annotations } from "../../core/report/annotations.ts";
import { headline } from "../../core/report/highlights.ts";
import { standardStreams } from "../process/standard-streams.ts";

export function log(text: string): void {
	standardStreams({ isActions: true }).out(`${text}\n`);
}

const write = { error, warning, notice } as const;

export function writeAnnotations(result: Result): void {
	for (const { message, level, path, line, column, title } of annotations(result))
		write[level](message, { title, file: path, startLine: line, startColumn: column });
}

/** The runner drops a summary above 1 MiB whole. */
const maxSummaryBytes = 1024 * 1024 - 1024;

/** Replaces what this step has written before. A summary that cannot be written is reported in the log. */
export async function writeSummary(markdown: string): Promise<void> {
	const fits = Buffer.byteLength(markdown) <= maxSummaryBytes;
	const text = fits ? markdown : markdown.slice(0, maxSummaryBytes / 4);
	try {
		await summary.emptyBuffer().addRaw(text).write({ overwrite: true });
	} catch (fault) {
		log(`The job summary could not be written: ${String(fault)}`);
	}
}

function setAll(outputs: Readonly<Record<string, string | number>>): void {
	for (const [name, value] of Object.entries(outputs)) setOutput(name, value);
}

export function setOutputs(result: Result, resultPath: string): void {
	const count = (status: string): number => result.gates.filter((gate) => gate.status === status).length;
	setAll({
		outcome: result.outcome,
		"failure-kind": result.failureKind ?? "",
		headline: headline(result),
		result: resultPath,
		passed: count("pass"),
		warned: count("warn"),
		failed: count("fail"),
		inconclusive: count("inconclusive"),
	});
}

/** Where people find what was published; "" for what was not. */
export function setUrls(urls: { comment: string; artifact: string; report: string }): void {
	setAll({ "comment-url": urls.comment, "artifact-url": urls.artifact, "report-url": urls.report });
}

/** Marks outputs of a run that ended before there was a result. */
export function publishFailure(failureKind: string): void {
	setAll({ outcome: "error", "failure-kind": failureKind });
}
