// Carries a result out to the workflow run: outputs, annotations, job summary.
import { error, notice, setOutput, summary, warning } from "@actions/core";
import { annotations } from "../../core/report/annotations.ts";
import type { Result } from "../../core/schema/result.ts";

export interface Published {
	/** Path of result.json. */
	resultPath: string;
	/** For the job summary. */
	markdown: string;
}

const write = { error, warning, notice } as const;

export async function publishToRun(result: Result, published: Published): Promise<void> {
	setOutputs(result, published.resultPath);
	for (const said of annotations(result)) {
		const { message, level, path, line, column, title } = said;
		const place = {
			...(path === undefined ? {} : { file: path }),
			...(line === undefined ? {} : { startLine: line }),
			...(column === undefined ? {} : { startColumn: column }),
		};
		write[level](message, { title, ...place });
	}
	await summary.addRaw(published.markdown).write();
}

function setOutputs(result: Result, resultPath: string): void {
	const count = (status: string): number => result.gates.filter((gate) => gate.status === status).length;
	setOutput("outcome", result.outcome);
	setOutput("failure-kind", result.failureKind ?? "");
	setOutput("result", resultPath);
	setOutput("passed", count("pass"));
	setOutput("warned", count("warn"));
	setOutput("failed", count("fail"));
	setOutput("inconclusive", count("inconclusive"));
}

/** Marks outputs of a run that ended before there was a result. */
export function publishFailure(failureKind: string): void {
	setOutput("outcome", "error");
	setOutput("failure-kind", failureKind);
}
