// The gate of one golden case.

import type { Config, Gates } from "../config/config.ts";
import { locate } from "../config/location.ts";
import type { GateResult, GateStatus, GoldenVerdict } from "../schema/result.ts";

export function judgeGolden(verdict: GoldenVerdict, config: Config, options: { pointer: string; gates: Gates }): GateResult {
	const location = locate(config, options.gates.pointers["golden"] ?? options.pointer);
	return {
		gate: "golden",
		model: verdict.model,
		engine: verdict.engine,
		case: verdict.case,
		status: statusOf(verdict),
		message: messageOf(verdict),
		...(location ? { location } : {}),
	};
}

function statusOf(verdict: GoldenVerdict): GateStatus {
	const failing = verdict.checks.filter((check) => !check.pass);
	switch (verdict.state) {
		case "match":
			return failing.length > 0 ? "warn" : "pass";
		case "mismatch":
			return "fail";
		case "stale":
			return verdict.severity ?? "fail";
		case "error":
			return "fail";
	}
}

function messageOf(verdict: GoldenVerdict): string {
	const failing = verdict.checks.find((check) => !check.pass);
	if (failing === undefined) return verdict.message ?? `${verdict.checks.length} checks agree with the golden.`;
	if (failing.metric === "error-growth") return `Output ${failing.output}: ${failing.detail ?? "its error grew"}.`;
	const bound = failing.bound === "at-most" ? "at most" : "at least";
	const limit = failing.allowed === null ? "" : `; allowed ${bound} ${failing.allowed}`;
	const got = failing.got === null ? (failing.detail ?? "does not agree") : `is ${formatNumeric(failing.got)}`;
	const about = verdict.message === undefined ? "" : ` ${verdict.message}`;
	return `${failing.metric} of ${failing.output} ${got}${limit}.${about}`;
}

function formatNumeric(value: number | string): string {
	return typeof value === "string" ? value : String(Number(value.toPrecision(3)));
}
