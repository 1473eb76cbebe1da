// Describes why a child process failed.

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Failure } from "../../../generated/result.ts";
import { asFailure, systemFault, type ToolCode } from "../../core/errors.ts";
import type { MeasureResult } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import type { ProcessRecord } from "./spawn.ts";
import { makeFolders } from "./write-error.ts";

const excerptLines = 20;

interface FailureText {
	/** `trtexec`, `The prepare command`. */
	what: string;
	timeoutMs: number;
	fix?: string;
	/** Replaces the record's text, if the child succeeded but wrote nonsense. */
	output?: string;
}

export function describeFailure(record: ProcessRecord, texts: FailureText): ToolFailure {
	const [code, message, fix] = classifyRecord(record, texts);
	const excerpt = record.tail.slice(-excerptLines);
	return { code, message, fix: texts.fix ?? fix, excerpt, log: record.logPath ?? undefined };
}

function classifyRecord(
	{ state, problem, argv, signal, exitCode }: ProcessRecord,
	{ what, timeoutMs, output }: FailureText,
): [code: ToolCode, message: string, fix: string] {
	if (state === "not-started") {
		const { code = "tool-missing", fix } = systemFault(problem) ?? {};
		return [code, `${what} did not start: ${problem}.`, fix ?? `Install ${argv[0]}, or put it on PATH.`];
	}
	if (state === "timed-out") {
		const how = problem === "" ? " and was killed" : `: ${problem}`;
		const message = `${what} did not finish within ${Math.round(timeoutMs / 100) / 10} s${how}.`;
		return ["tool-timeout", message, "Check in the log where it hangs, or raise the timeout."];
	}
	if (state === "aborted") return ["interrupted", `${what} was interrupted.`, "Start the run again."];
	if (state === "signalled") {
		const fix =
			signal === "SIGKILL"
				? "It probably ran out of memory: use a runner with more, or smaller shapes."
				: "Read the log. If it also crashes on another machine, the tool or the model is at fault.";
		return ["tool-crashed", `${what} was ended by ${signal ?? "a signal"}.`, fix];
	}
	if (exitCode === 0 || output !== undefined)
		return ["tool-output", `${what} ${output ?? "ended without a result"}.`, "Read the log."];
	return ["tool-crashed", `${what} ended with exit code ${exitCode ?? "unknown"}.`, "Read the log."];
}

/** A fault of the machine, which says nothing about the model. */
export function runnerFailure({ code, message, fix = "Read the log.", excerpt = [] }: ToolFailure): Failure {
	return { code, title: message, fix, excerpt: [...excerpt], kind: "runner" };
}

export async function orFailure<Value>(
	work: () => Promise<Value>,
): Promise<Value | { state: "failed"; failure: ToolFailure; wallMs: number }> {
	const started = performance.now();
	try {
		return await work();
	} catch (error) {
		return { state: "failed", failure: asFailure(error), wallMs: performance.now() - started };
	}
}

export async function orUnusable(
	samplesPath: string,
	work: () => Promise<MeasureResult>,
): Promise<MeasureResult> {
	const measured = await orFailure(async () => {
		await makeFolders(dirname(samplesPath));
		await rm(samplesPath, { force: true });
		return work();
	});
	return measured.state === "failed" ? unusable(measured.failure, measured.wallMs) : measured;
}

export function unusable(failure: ToolFailure, wallMs: number): MeasureResult {
	return { state: "unusable", reason: failure.message, failure, wallMs };
}
