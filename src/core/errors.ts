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

/** What an error carries beside its message; only what is known. */
export interface ErrorDetails {
	/** What the user does next, one sentence. */
	fix?: string;
	location?: Location;
	/** JSON pointer into the file at `location`. */
	pointer?: string;
	/** Last lines of a child's log. */
	excerpt?: readonly string[];
	log?: string;
}

export interface ErrorInit<Code extends string> {
	code: Code;
	message: string;
	cause?: unknown;
	details?: ErrorDetails;
}

abstract class GateError<Code extends string> extends Error {
	readonly code: Code;
	readonly details: ErrorDetails;

	constructor(init: ErrorInit<Code>) {
		super(init.message, { cause: init.cause });
		this.name = new.target.name;
		this.code = init.code;
		this.details = init.details ?? {};
	}
}

export class ConfigError extends GateError<ConfigCode> {}
export class ToolError extends GateError<ToolCode> {}
export class PlatformError extends GateError<PlatformCode> {}
export class BugError extends GateError<BugCode> {}

/** The command, its options or the files that they name are at fault. */
export function usageError(message: string, fix: string): ConfigError {
	return new ConfigError({ code: "usage", message, details: { fix } });
}
