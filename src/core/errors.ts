// Errors that trtgate raises on purpose: one class per audience.
import type { ErrorKind, ErrorRecord, Location } from "../../generated/result.ts";

export const configCodes = [
	"usage",
	"config-missing",
	"config-unreadable",
	"config-syntax",
	"config-schema",
	"config-value",
	"config-dims",
	"path-outside-workspace",
	"path-unreadable",
	"model-missing",
	"model-unreadable",
	"arrivals-invalid",
	"asset-missing",
	"golden-missing",
	"golden-invalid",
	"golden-other-model",
	"golden-uninformative",
	"proposal-refused",
	"tensor-invalid",
	"tokenizer-invalid",
	"pairs-invalid",
	"result-invalid",
	"engine-missing",
	"engine-unreadable",
	"part-refused",
	"output-refused",
	"output-unwritable",
	"output-busy",
	"nothing-to-check",
	"prepare-failed",
	"plan-failed",
	"git-ref",
	"backend-mismatch",
	"history-denied",
] as const;
export type ConfigCode = (typeof configCodes)[number];

export const toolCodes = [
	"tool-missing",
	"tool-crashed",
	"tool-timeout",
	"tool-output",
	"lfs-unavailable",
	"runtime-fetch",
	"runs-unstable",
	"part-missing",
	"gpu-busy",
	"disk-full",
	"system-error",
	"node-too-old",
	"output-lost",
	"history-unreadable",
	"history-unwritable",
	"interrupted",
] as const;
export type ToolCode = (typeof toolCodes)[number];

/** Errors that never change the outcome. */
export const platformCodes = [
	"github-permission",
	"github-not-found",
	"github-conflict",
	"github-rejected",
	"github-rate-limited",
	"github-unavailable",
	"github-timeout",
	"github-reply",
	"github-unsupported",
] as const;
export type PlatformCode = (typeof platformCodes)[number];

export const bugCodes = ["internal"] as const;
export interface Fault<Code extends string = string> {
	code: Code;
	message: string;
	fix?: string | undefined;
	location?: Location | undefined;
	pointer?: string | undefined;
	excerpt?: readonly string[] | undefined;
	log?: string | undefined;
	cause?: unknown;
}

abstract class GateError<Code extends string> extends Error implements Fault<Code> {
	declare readonly code: Code;
	declare readonly fix: string | undefined;
	declare readonly location: Location | undefined;
	declare readonly pointer: string | undefined;
	declare readonly excerpt: readonly string[] | undefined;
	declare readonly log: string | undefined;

	constructor({ message, cause, ...known }: Fault<Code>) {
		super(message, { cause });
		Object.assign(this, known, { name: new.target.name });
	}
}

export class ConfigError extends GateError<ConfigCode> {}
export class ToolError extends GateError<ToolCode> {}
export class PlatformError extends GateError<PlatformCode> {}
export class BugError extends GateError<(typeof bugCodes)[number]> {}

export function usageError(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, fix });
}

export function faultOf<Code extends string>(error: GateError<Code>): Fault<Code> {
	const { code, message, fix, location, pointer, excerpt, log } = error;
	return { code, message, fix, location, pointer, excerpt, log };
}

export function asFailure(error: unknown): Fault<ToolCode> {
	if (error instanceof ToolError) return faultOf(error);
	throw error;
}

const systemFaults: Readonly<Record<string, readonly [why: string, fix: string]>> = {
	EMFILE: ["this process has too many open files", "Raise the limit: `ulimit -n 4096`."],
	ENFILE: ["the machine has too many open files", "Wait for other work to end, or raise fs.file-max."],
	ENOMEM: ["the machine is out of memory", "Give the machine or the container more memory."],
	EAGAIN: ["this user may not start more processes or threads", "Raise the limit: `ulimit -u`."],
	EIO: ["the disk or file server failed", "Look at the machine's log for faults of its disk."],
	ESTALE: ["the file server no longer has the file", "Mount the file system again."],
};

export function systemFault(message: string): Fault<"system-error"> | null {
	const code = /\bE[A-Z]{2,}\b/.exec(message)?.[0] ?? "";
	const [why, fix] = (Object.hasOwn(systemFaults, code) ? systemFaults[code] : undefined) ?? [];
	if (why === undefined || fix === undefined) return null;
	return { code: "system-error", message: `The system refused a call: ${why} (${message}).`, fix };
}

export type ErrorSubject = Pick<ErrorRecord, "model" | "engine" | "workload" | "arm">;

/** @param fault `refusal`: the model cannot run with its inputs, which is the configuration's fault. */
export function recordFault(
	fault: Fault & { refusal?: string },
	subject: ErrorSubject,
	kind?: ErrorKind,
): ErrorRecord {
	const { fix, excerpt, log, location } = fault;
	return {
		kind: kind ?? (fault.refusal === undefined ? "runner" : "configuration"),
		code: fault.refusal ?? fault.code,
		message: fault.message,
		...subject,
		fix,
		excerpt: excerpt === undefined ? undefined : [...excerpt],
		log,
		location,
	};
}

/** Errors that are not ours are bugs. */
export function recordError(error: unknown): ErrorRecord {
	if (error instanceof ConfigError) return recordFault(error, {}, "configuration");
	if (error instanceof ToolError) return recordFault(error, {}, "runner");
	if (error instanceof PlatformError) return recordFault(error, {}, "github");
	const fault = error instanceof Error && "syscall" in error ? systemFault(error.message) : null;
	if (fault !== null) return recordFault(fault, {}, "runner");
	const bug =
		error instanceof BugError
			? error
			: new BugError({ code: "internal", message: String(error), cause: error });
	const stack = error instanceof Error && error.stack ? error.stack.split("\n").slice(1, 8) : [];
	const fix = "This is a bug in trtgate: please report it with this message and the log.";
	return { ...recordFault(bug, {}, "internal"), fix, excerpt: stack.map((line) => line.trim()) };
}

export interface Diagnosis {
	code: string;
	/** refusal: the model's, config's or command's fault. runner: the machine's; a retry may help. none: nothing is wrong. */
	kind: "none" | "refusal" | "runner";
	title: string;
	fix: string;
	excerpt: readonly { line: number; text: string }[];
	also: readonly string[];
}
