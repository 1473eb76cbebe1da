// Describes why a child process failed.

import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { asFailure, systemFault, type ToolCode } from "../../core/errors.ts";
import type { MeasureResult } from "../../ports/backend.ts";
import type { ToolFailure } from "../../ports/world.ts";
import type { ProcessRecord } from "./spawn.ts";
import { makeFolders } from "./write-error.ts";

const excerptLines = 20;

export interface FailureText {
	/** Begins the sentence: `trtexec`, `The prepare command`. */
	what: string;
	timeoutMs: number;
	fix?: string;
	/** Replaces the text of the record, e.g. where the child succeeded but wrote nonsense. */
	output?: string;
}

/** The fault of a record whose work is not done, an exit with code 0 included. */
export function describeFailure(record: ProcessRecord, texts: FailureText): ToolFailure {
	const { code, message, fix } = classifyRecord(record, texts);
	return {
		code,
		message,
		fix: texts.fix ?? fix,
		excerpt: record.tail.slice(-excerptLines),
		log: record.logPath ?? undefined,
	};
}

function classifyRecord(
	record: ProcessRecord,
	texts: FailureText,
): { code: ToolCode; message: string; fix: string } {
	const { what, timeoutMs } = texts;
	switch (record.state) {
		case "not-started":
			return {
				code: systemFault(record.problem)?.code ?? "tool-missing",
				message: `${what} did not start: ${record.problem}.`,
				fix: systemFault(record.problem)?.fix ?? `Install ${record.argv[0]}, or put it on PATH.`,
			};
		case "timed-out":
			return {
				code: "tool-timeout",
				message: `${what} did not finish within ${seconds(timeoutMs)}${howEnded(record)}.`,
				fix: "Check in the log where it hangs; raise the timeout if the work takes that long.",
			};
		case "aborted":
			return { code: "interrupted", message: `${what} was interrupted.`, fix: "Start the run again." };
		case "signalled":
			return {
				code: "tool-crashed",
				message: `${what} was ended by ${record.signal ?? "a signal"}.`,
				fix: signalFix(record.signal),
			};
		case "exited":
			if (record.exitCode === 0 || texts.output !== undefined) {
				return {
					code: "tool-output",
					message: `${what} ${texts.output ?? "ended without a result"}.`,
					fix: "Read the log.",
				};
			}
			return {
				code: "tool-crashed",
				message: `${what} ended with exit code ${record.exitCode ?? "unknown"}.`,
				fix: "Read the log.",
			};
	}
}

function howEnded({ problem }: ProcessRecord): string {
	return problem === "" ? " and was killed" : `: ${problem}`;
}

function signalFix(signal: NodeJS.Signals | null): string {
	if (signal === "SIGKILL")
		return "Check whether the kernel's out-of-memory killer ended it. Use a runner with more memory, or smaller shapes.";
	return "Read the log. If it also crashes on another machine, the tool or the model is at fault.";
}

function seconds(ms: number): string {
	return `${Math.round(ms / 100) / 10} s`;
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

/** A timed run, without the samples of an earlier one; what it throws makes it unusable. */
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
