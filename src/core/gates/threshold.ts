// One rule for every gate that compares a change with a warn and a fail limit.
import type { Threshold } from "../config/config.ts";
import type { GateStatus } from "../schema/result.ts";

/** @param change fraction of the base; NaN never passes. */
export function judgeChange(change: number, limits: Threshold): Extract<GateStatus, "pass" | "warn" | "fail"> {
	if (limits.fail !== undefined && !(change < limits.fail)) return "fail";
	if (limits.warn !== undefined && !(change < limits.warn)) return "warn";
	return Number.isNaN(change) ? "fail" : "pass";
}
