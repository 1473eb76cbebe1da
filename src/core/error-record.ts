// Turns an error or a tool's fault into the record that a result carries.
import { BugError, ConfigError, type Fault, PlatformError, ToolError } from "./errors.ts";
import type { ErrorKind, ErrorRecord } from "./schema/result.ts";

/** What the system refuses because something has run out, or because a disk or file server is broken; by its code. */
const systemFaults: Readonly<Record<string, readonly [why: string, fix: string]>> = {
	EMFILE: ["this process has as many files open as it may", "Raise the limit: `ulimit -n 4096`."],
	ENFILE: ["the machine has as many files open as it can", "Wait for other work to end, or raise fs.file-max."],
	ENOMEM: ["the machine has no memory left", "Give the machine or the container more memory."],
	EAGAIN: ["the machine lets this user start no more processes or threads", "Raise the limit: `ulimit -u`."],
	EIO: ["the disk or file server failed", "Look at the machine's log for faults of its disk."],
	ESTALE: ["the file server no longer knows the file", "Mount the file system again."],
};

/** The fault of the machine that a system call's message names, such as `spawn EMFILE`; null for all else. */
export function systemFault(message: string): Fault<"system-error"> | null {
	const code = /\bE[A-Z]{2,}\b/.exec(message)?.[0] ?? "";
	const [why, fix] = (Object.hasOwn(systemFaults, code) ? systemFaults[code] : undefined) ?? [];
	if (why === undefined || fix === undefined) return null;
	return { code: "system-error", message: `The system refused a call: ${why} (${message}).`, fix };
}

export type ErrorSubject = Pick<ErrorRecord, "model" | "engine" | "workload" | "arm">;

/**
 * The record of a fault of a tool or machine, with what it was doing.
 * @param fault with the refusal, where the model cannot run with what it is fed: the configuration's fault, not the machine's.
 */
export function recordFault(fault: Fault & { refusal?: string }, subject: ErrorSubject, kind?: ErrorKind): ErrorRecord {
	const { fix, excerpt, log, location } = fault;
	return {
		kind: kind ?? (fault.refusal === undefined ? "runner" : "configuration"),
		code: fault.refusal ?? fault.code,
		message: fault.message,
		...subject,
		...(fix === undefined ? {} : { fix }),
		...(excerpt === undefined ? {} : { excerpt: [...excerpt] }),
		...(log === undefined ? {} : { log }),
		...(location === undefined ? {} : { location }),
	};
}

/** The record of anything that was thrown; what is not one of ours is our own bug. */
export function recordError(error: unknown): ErrorRecord {
	if (error instanceof ConfigError) return recordFault(error, {}, "configuration");
	if (error instanceof ToolError) return recordFault(error, {}, "runner");
	if (error instanceof PlatformError) return recordFault(error, {}, "github");
	const fault = error instanceof Error && "syscall" in error ? systemFault(error.message) : null;
	if (fault !== null) return recordFault(fault, {}, "runner");
	const bug = error instanceof BugError ? error : new BugError({ code: "internal", message: String(error), cause: error });
	const stack = error instanceof Error && error.stack ? error.stack.split("\n").slice(1, 8) : [];
	const fix = "This is a bug in trtgate: please report it with this message and the log.";
	return { ...recordFault(bug, {}, "internal"), fix, excerpt: stack.map((line) => line.trim()) };
}
