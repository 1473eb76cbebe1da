// The gate of one golden case.

import type { Config, Gates } from "../config/config.ts";
import { locate } from "../config/source.ts";
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
	const failed = verdict.checks.filter((check) => !check.pass);
	// What fails the case comes before what only warns.
	const failing = failed.find(({ severity }) => severity === "fail") ?? failed[0];
	if (failing === undefined) return verdict.message ?? agreement(verdict.checks.length);
	if (failing.metric === "error-growth") return `Output ${failing.output}: ${failing.detail ?? "its error grew"}.`;
	const bound = failing.bound === "at-most" ? "at most" : "at least";
	const limit = failing.allowed === null ? "" : `; allowed ${bound} ${failing.allowed}`;
	const got = failing.got === null ? (failing.detail ?? "does not agree") : `is ${formatNumeric(failing.got)}`;
	const about = verdict.message === undefined ? "" : ` ${verdict.message}`;
	return `${failing.metric} of ${failing.output} ${got}${limit}.${othersText(verdict, failing.output)}${about}`;
}

function agreement(checks: number): string {
	return checks === 1 ? "1 check agrees with the golden." : `${checks} checks agree with the golden.`;
}

const mostNamed = 5;

/** Outputs that fail beside the one whose number is told. */
function othersText(verdict: GoldenVerdict, told: string): string {
	const failing = verdict.checks.filter((check) => !check.pass && check.metric !== "error-growth" && check.output !== told);
	const others = [...new Set(failing.map(({ output }) => output))];
	if (others.length === 0) return "";
	const more = others.length > mostNamed ? ` and ${others.length - mostNamed} more` : "";
	return ` Off too: ${others.slice(0, mostNamed).join(", ")}${more}.`;
}

function formatNumeric(value: number | string): string {
	return typeof value === "string" ? value : String(Number(value.toPrecision(3)));
}
