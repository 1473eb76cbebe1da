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
	const [errors, warnings] = [of("error"), of("warning")];
	const [first, ...more] = [...errors, ...warnings];
	if (first === undefined) return ["preflight", "pass", "No findings."];
	const status = errors.length > 0 || config.preflight.strict ? "fail" : "warn";
	return ["preflight", status, `${first.message}${more.length > 0 ? ` (and ${more.length} more)` : ""}`];
}

function buildGate({ head, base }: BuildFacts): BuildGate {
	const { failure } = head;
	switch (head.state) {
		case "skipped":
			return null;
		case "built":
			return ["build", ...builtMessage(head, base)];
		case "timed-out": {
			const message = `The build did not end within its limit and was stopped after ${formatDuration(head.durationMs)}.`;
			// If the base is too slow as well, the machine is the cause.
			return ["build", hitSameLimit(head, base) ? "error" : "fail", message];
		}
		case "missing":
			return ["build", "fail", failure?.title ?? "The head has no such model."];
		case "refused":
			return ["build", failure?.kind === "runner" ? "error" : "fail", failure?.title ?? "The build failed."];
	}
}

function builtMessage(
	{ durationMs, fromCache, sharedWithBase, warnings }: BuildRecord,
	base: BuildRecord | undefined,
): [GateStatus, string] {
	const fresh = warnings.filter(({ isNew }) => isNew === true);
	if (fresh.length > 0) return ["warn", fresh.map(({ example }) => example.replaceAll("`", "")).join(" ")];
	if (base?.state === "refused") return ["pass", "Builds again: the base does not."];
	if (sharedWithBase === true)
		return ["pass", "Unchanged: the same model and settings as in the base, so one engine serves both."];
	const time = formatDuration(durationMs);
	return [
		"pass",
		fromCache === true ? `Taken from the engine cache; it was built in ${time}.` : `Built in ${time}.`,
	];
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
