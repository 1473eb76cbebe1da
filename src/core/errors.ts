// Every error that trtgate raises on purpose: one class per audience, one union of codes per class.
import type { Location } from "./schema/result.ts";

/** The user's input is at fault. */
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
	"output-unwritable",
	"output-busy",
	"nothing-to-check",
	"prepare-failed",
	"git-ref",
	"backend-mismatch",
	"history-denied",
] as const;
export type ConfigCode = (typeof configCodes)[number];

/** A program or the machine is at fault; a retry may help. */
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

/** GitHub is at fault; never changes the outcome. */
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
export type BugCode = (typeof bugCodes)[number];

/** What is at fault, as a value; beside code and message only what is known. */
export interface Fault<Code extends string = string> {
	code: Code;
	message: string;
	/** What the user does next, one sentence. */
	fix?: string | undefined;
	location?: Location | undefined;
	/** JSON pointer into the file at `location`. */
	pointer?: string | undefined;
	/** Last lines of a child's log. */
	excerpt?: readonly string[] | undefined;
	log?: string | undefined;
}

export interface ErrorInit<Code extends string> extends Fault<Code> {
	cause?: unknown;
}

abstract class GateError<Code extends string> extends Error implements Fault<Code> {
	declare readonly code: Code;
	declare readonly fix: string | undefined;
	declare readonly location: Location | undefined;
	declare readonly pointer: string | undefined;
	declare readonly excerpt: readonly string[] | undefined;
	declare readonly log: string | undefined;

	constructor({ message, cause, ...known }: ErrorInit<Code>) {
		super(message, { cause });
		Object.assign(this, known, { name: new.target.name });
	}
}

export class ConfigError extends GateError<ConfigCode> {}
export class ToolError extends GateError<ToolCode> {}
export class PlatformError extends GateError<PlatformCode> {}
export class BugError extends GateError<BugCode> {}

/** The command, its options or the files that they name are at fault. */
export function usageError(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, fix });
}

/** The fault that an error carries. */
export function faultOf<Code extends string>({ code, message, fix, location, pointer, excerpt, log }: GateError<Code>): Fault<Code> {
	return { code, message, fix, location, pointer, excerpt, log };
}

/** The machine's fault as a value; a folder that the user may not write to, and our own bugs, stay errors. */
export function asFailure(error: unknown): Fault<ToolCode> {
	if (error instanceof ToolError) return faultOf(error);
	throw error;
}
