// Ends an action that promised a result and has none: its outputs say why.
import { publishFailure } from "../../adapters/github/publish.ts";
import { explainError } from "../exit.ts";
import { announce } from "./announce.ts";

export function announceNoResult(fault: unknown): number {
	publishFailure(explainError(fault).records[0]?.kind ?? "internal");
	return announce(fault);
}
