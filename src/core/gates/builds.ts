// Gates of the builds: preflight, success, engine size, build time.

import type { BuildRecord, Finding, GateName, GateResult, GateStatus } from "../../../generated/result.ts";
import { buildTimesApart, hitSameLimit } from "../build-faults.ts";
import type { Config } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { formatBytes, formatDuration, formatPercent } from "../text/units.ts";
import { judgeBounds, judgeChange } from "./speed.ts";

export interface BuildFacts {
	spec: EngineSpec;
	base?: BuildRecord;
	head: BuildRecord;
	findings: readonly Finding[];
}

const noticeableBuildMs = 60_000;

export function judgeBuild(facts: BuildFacts, config: Config): GateResult[] {
	const { model, engine } = facts.spec;
	const { head, base } = facts;
	const gates = [preflightGate(facts, config), buildGate(facts)];
	if (head.state === "built") {
		if (base?.state === "built" && !head.sharedWithBase) gates.push(sizeGate(facts), timeGate(facts));
		gates.push(...judgeBounds(engine.gates, head, "engine"));
	}
	return gates
		.filter((gate) => gate !== null)
		.map(([gate, status, message]) => ({
			gate,
			status,
			message,
			model: model.name,
			engine: engine.name,
			...placeOf(config, engine.gates.pointers[gate] ?? engine.pointer),
		}));
}

type BuildGate = [GateName, GateStatus, message: string] | null;

function preflightGate({ findings }: BuildFacts, config: Config): BuildGate {
	const of = (severity: Finding["severity"]) =>
		findings.filter((finding) => finding.arm === "head" && finding.severity === severity);
	const errors = of("error");
	const warnings = of("warning");
	const isBad = errors.length > 0 || (config.preflight.strict && warnings.length > 0);
	const status = isBad ? "fail" : warnings.length > 0 ? "warn" : "pass";
	const [first] = [...errors, ...warnings];
	const more = errors.length + warnings.length - 1;
	const message =
		first === undefined ? "No findings." : `${first.message}${more > 0 ? ` (and ${more} more)` : ""}`;
	return ["preflight", status, message];
}

function buildGate({ head, base }: BuildFacts): BuildGate {
	switch (head.state) {
		case "skipped":
			return null;
		case "built":
			return builtGate(head, base);
		case "timed-out":
			// A machine too slow for the base as well is the cause.
			return [
				"build",
				hitSameLimit(head, base) ? "error" : "fail",
				`The build did not end within its limit and was stopped after ${formatDuration(head.durationMs)}.`,
			];
		case "missing":
			return ["build", "fail", head.failure?.title ?? "The head has no such model."];
		case "refused":
			return [
				"build",
				head.failure?.kind === "runner" ? "error" : "fail",
				head.failure?.title ?? "The build failed.",
			];
	}
}

function builtGate(head: BuildRecord, base: BuildRecord | undefined): BuildGate {
	const fresh = head.warnings.filter(({ isNew }) => isNew === true);
	if (fresh.length > 0)
		return ["build", "warn", fresh.map(({ example }) => example.replaceAll("`", "")).join(" ")];
	return [
		"build",
		"pass",
		base?.state === "refused" ? "Builds again: the base does not." : builtMessage(head),
	];
}

function builtMessage({ durationMs, fromCache, sharedWithBase }: BuildRecord): string {
	const time = formatDuration(durationMs);
	if (sharedWithBase === true)
		return "Unchanged: the same model and settings as in the base, so one engine serves both.";
	return fromCache === true ? `Taken from the engine cache; it was built in ${time}.` : `Built in ${time}.`;
}

function sizeGate({ base, head, spec }: BuildFacts): BuildGate {
	const before = base?.engineBytes ?? 0;
	const now = head.engineBytes;
	if (now === undefined || before === 0) return null;
	const change = now / before - 1;
	const message = `Engine ${formatBytes(before)} → ${formatBytes(now)} (${formatPercent(change, { sign: true })}).`;
	return ["engine-size", judgeChange(change, spec.engine.gates.engineSize), message];
}

function timeGate(facts: BuildFacts): BuildGate {
	const before = facts.base?.durationMs ?? 0;
	const now = facts.head.durationMs;
	if (before <= 0 || buildTimesApart(facts) !== null) return null;
	const change = now / before - 1;
	const status =
		now - before < noticeableBuildMs ? "pass" : judgeChange(change, facts.spec.engine.gates.buildTime);
	const message = `Build ${formatDuration(before)} → ${formatDuration(now)} (${formatPercent(change, { sign: true })}).`;
	return ["build-time", status, message];
}
