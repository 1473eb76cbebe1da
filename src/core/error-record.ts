// Turns an error or a tool's fault into the record that a result carries.
import { BugError, ConfigError, type ErrorDetails, PlatformError, ToolError } from "./errors.ts";
import type { ErrorKind, ErrorRecord } from "./schema/result.ts";

interface Fault {
	code: string;
	message: string;
	details: ErrorDetails;
}

export type Place = Pick<ErrorRecord, "model" | "engine" | "workload" | "arm">;

/** The record of a fault of a tool or machine, with what it was doing. */
export function recordFault(fault: Fault, place: Place, kind: ErrorKind = "runner"): ErrorRecord {
	const { fix, excerpt, log, location } = fault.details;
	return {
		kind,
		code: fault.code,
		message: fault.message,
		...place,
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
	const bug = error instanceof BugError ? error : new BugError({ code: "internal", message: String(error), cause: error });
	const stack = error instanceof Error && error.stack ? error.stack.split("\n").slice(1, 8) : [];
	const fix = "This is a bug of trtgate: please report it with this message and the log.";
	return { ...recordFault(bug, {}, "internal"), fix, excerpt: stack.map((line) => line.trim()) };
}
