// Writes to the workflow run: outputs, annotations, job summary.
import { error, notice, setOutput, summary, warning } from "@actions/core";
import type { Result } from "../../../../generated/result.ts";
import { annotations } from "../../../core/report/comment.ts";
import { headline } from "../../../core/report/highlights.ts";
import { log } from "./log.ts";

const write = { error, warning, notice } as const;

export function writeAnnotations(result: Result): void {
	for (const { message, level, path, line, column, title } of annotations(result))
		write[level](message, { title, file: path, startLine: line, startColumn: column });
}

const maxSummaryBytes = 1024 * 1024 - 1024;

export async function writeSummary(markdown: string): Promise<void> {
	const fits = Buffer.byteLength(markdown) <= maxSummaryBytes;
	const text = fits ? markdown : markdown.slice(0, maxSummaryBytes / 4);
	try {
		await summary.emptyBuffer().addRaw(text).write({ overwrite: true });
	} catch (fault) {
		log(`The job summary could not be written: ${String(fault)}`);
	}
}

export function setOutputs(result: Result, resultPath: string): void {
	const count = (status: string) => result.gates.filter((gate) => gate.status === status).length;
	setOutput("outcome", result.outcome);
	setOutput("failure-kind", result.failureKind ?? "");
	setOutput("headline", headline(result));
	setOutput("result", resultPath);
	setOutput("passed", count("pass"));
	setOutput("warned", count("warn"));
	setOutput("failed", count("fail"));
	setOutput("inconclusive", count("inconclusive"));
}
