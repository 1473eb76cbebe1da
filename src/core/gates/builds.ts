// Gates of the builds: preflight, success, engine size, build time.

import type { BuildRecord, Finding, GateName, GateResult, GateStatus } from "../../../generated/result.ts";
import { buildTimesApart, hitSameLimit } from "../build-faults.ts";
import type { Config } from "../config/config.ts";
import { placeOf } from "../config/source.ts";
import type { EngineSpec } from "../plan/plan.ts";
import { formatBytes, formatDuration, formatPercent } from "../text/units.ts";
import { judgeChange } from "./speed.ts";

export interface BuildFacts {
	spec: EngineSpec;
	base?: BuildRecord;
	head: BuildRecord;
	findings: readonly Finding[];
}

/** Build times differ for many reasons; a smaller difference is ignored. */
const noticeableBuildMs = 60_000;

export function judgeBuild(facts: BuildFacts, config: Config): GateResult[] {
	const gates = [preflightGate(facts, config), buildGate(facts, config)];
	if (facts.head.state === "built" && facts.base?.state === "built" && !facts.head.sharedWithBase)
		gates.push(sizeGate(facts, config), timeGate(facts, config));
	return gates.filter((gate) => gate !== null);
}

interface BuildGate {
	gate: GateName;
	status: GateStatus;
	message: string;
	/** Gate key in the config, for the annotation. */
	pointer?: string;
}

function gateResult(facts: BuildFacts, config: Config, init: BuildGate): GateResult {
	const { model, engine } = facts.spec;
	const { pointer = engine.pointer, ...judged } = init;
	return { ...judged, model: model.name, engine: engine.name, ...placeOf(config, pointer) };
}

function preflightGate(facts: BuildFacts, config: Config): GateResult | null {
	const errors = facts.findings.filter((finding) => finding.arm === "head" && finding.severity === "error");
	const warnings = facts.findings.filter(
		(finding) => finding.arm === "head" && finding.severity === "warning",
	);
	const status =
		errors.length > 0 || (config.preflight.strict && warnings.length > 0)
			? "fail"
			: warnings.length > 0
				? "warn"
				: "pass";
	const [first] = errors.length > 0 ? errors : warnings;
	const more = errors.length + warnings.length - 1;
	const message =
		first === undefined ? "No findings." : `${first.message}${more > 0 ? ` (and ${more} more)` : ""}`;
	return gateResult(facts, config, { gate: "preflight", status, message });
}

function buildGate(facts: BuildFacts, config: Config): GateResult | null {
	const { head, base } = facts;
	const result = (status: GateStatus, message: string) =>
		gateResult(facts, config, { gate: "build", status, message });
	switch (head.state) {
		case "skipped":
			return null;
		case "built":
			return builtResult(facts, result);
		case "timed-out":
			// If the machine is too slow for the base as well, the change is not the cause.
			return result(
				hitSameLimit(head, base) ? "error" : "fail",
				`The build did not end within its limit and was stopped after ${formatDuration(head.durationMs)}.`,
			);
		case "missing":
			return result("fail", head.failure?.title ?? "The head has no such model.");
		case "refused":
			return result(
				head.failure?.kind === "runner" ? "error" : "fail",
				head.failure?.title ?? "The build failed.",
			);
	}
}

/** What only the head's layers have warns: it is seen before anything is timed. */
function builtResult(
	{ head, base }: BuildFacts,
	result: (status: GateStatus, message: string) => GateResult,
): GateResult {
	const fresh = head.warnings.filter(({ isNew }) => isNew === true);
	if (fresh.length > 0)
		return result("warn", fresh.map(({ example }) => example.replaceAll("`", "")).join(" "));
	return result("pass", base?.state === "refused" ? "Builds again: the base does not." : builtMessage(head));
}

function builtMessage({ durationMs, fromCache, sharedWithBase }: BuildRecord): string {
	const time = formatDuration(durationMs);
	if (sharedWithBase === true)
		return "Unchanged: the same model and settings as in the base, so one engine serves both.";
	return fromCache === true ? `Taken from the engine cache; it was built in ${time}.` : `Built in ${time}.`;
}

function sizeGate(facts: BuildFacts, config: Config): GateResult | null {
	const [base, head] = [facts.base?.engineBytes, facts.head.engineBytes];
	if (base === undefined || head === undefined || base === 0) return null;
	const change = head / base - 1;
	const { gates } = facts.spec.engine;
	const message = `Engine ${formatBytes(base)} → ${formatBytes(head)} (${formatPercent(change, { sign: true })}).`;
	return gateResult(
		facts,
		config,
		pointed(
			{ gate: "engine-size", status: judgeChange(change, gates.engineSize), message },
			gates.pointers["engine-size"],
		),
	);
}

function timeGate(facts: BuildFacts, config: Config): GateResult | null {
	const [base, head] = [facts.base?.durationMs ?? 0, facts.head.durationMs];
	if (base <= 0 || buildTimesApart(facts) !== null) return null;
	const { gates } = facts.spec.engine;
	const change = head / base - 1;
	const status = head - base < noticeableBuildMs ? "pass" : judgeChange(change, gates.buildTime);
	const message = `Build ${formatDuration(base)} → ${formatDuration(head)} (${formatPercent(change, { sign: true })}).`;
	return gateResult(
		facts,
		config,
		pointed({ gate: "build-time", status, message }, gates.pointers["build-time"]),
	);
}

function pointed(init: BuildGate, pointer: string | undefined): BuildGate {
	return pointer === undefined ? init : { ...init, pointer };
}
