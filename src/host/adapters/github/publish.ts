// Writes to the workflow run: outputs and annotations.
import { error, notice, setOutput, warning } from "@actions/core";
import type { Result } from "../../../../generated/result.ts";
import { annotations } from "../../../core/report/comment.ts";
import { headline } from "../../../core/report/highlights.ts";

const write = { error, warning, notice } as const;

export function writeAnnotations(result: Result): void {
	for (const { message, level, path, line, column, title } of annotations(result))
		write[level](message, { title, file: path, startLine: line, startColumn: column });
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
