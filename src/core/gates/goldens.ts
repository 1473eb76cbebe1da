// Gates of golden cases, changed goldens, probes and interfaces.

import type {
	GateResult,
	GateStatus,
	GoldenChange,
	GoldenVerdict,
	InterfaceChange,
	ProbeResult,
} from "../../../generated/result.ts";
import { ofSlice } from "../../golden/core/tensor/tensor.ts";
import type { Config, Gates, Threshold } from "../config/config.ts";
import { counted, interfaceText, listNames } from "../text/labels.ts";
import { type Level, placeVerdict } from "./figures.ts";

export function judgeGolden(verdict: GoldenVerdict, config: Config, level: Level): GateResult[] {
	const { model, engine, case: name } = verdict;
	const key = shownCheck(verdict)?.metric === growthMetric ? "golden.error-growth" : "golden.relative-l2";
	const judged = ["golden", statusOf(verdict, level.gates), messageOf(verdict)] as const;
	return placeVerdict(judged, { model, engine, case: name }, { config, ...level, key });
}

function statusOf(verdict: GoldenVerdict, gates: Gates) {
	switch (verdict.state) {
		case "match":
			return verdict.checks.some((check) => !check.pass) ? "warn" : "pass";
		case "existing":
			return gates.existing;
		case "stale":
			return verdict.severity ?? "fail";
		case "mismatch":
		case "error":
			return "fail";
	}
}

function messageOf(verdict: GoldenVerdict) {
	if (verdict.fault !== undefined)
		return `${verdict.message ?? "The golden cannot be used."} ${verdict.fault.fix}`;
	const failing = shownCheck(verdict);
	if (failing === undefined) {
		const { checks, message } = verdict;
		return (
			message ??
			`${counted(checks.length, "check")} ${checks.length === 1 ? "agrees" : "agree"} with the golden.`
		);
	}
	if (failing.metric === growthMetric)
		return `Output ${failing.output}: ${failing.detail ?? "its error grew"}.`;
	const bound = failing.bound === "at-most" ? "at most" : "at least";
	const limit = failing.allowed === null ? "" : `; allowed ${bound} ${failing.allowed}`;
	const got =
		failing.got === null ? (failing.detail ?? "does not agree") : `is ${formatNumeric(failing.got)}`;
	const about = verdict.message === undefined ? "" : ` ${verdict.message}`;
	const cause =
		verdict.state === "existing" ? " The base engine fails this too, so this change did not cause it." : "";
	return `${failing.metric}${ofSlice(failing.slice)} of ${failing.output} ${got}${limit}.${othersText(verdict, failing.output)}${cause}${about}`;
}

const growthMetric = "error-growth";

/** Failures before warnings, new ones before those of the base too. */
function shownCheck({ checks }: GoldenVerdict) {
	const failed = checks.filter((check) => !check.pass);
	const failing = failed.filter(({ severity }) => severity === "fail");
	return failing.find(({ existing }) => existing !== true) ?? failing[0] ?? failed[0];
}

function othersText(verdict: GoldenVerdict, shown: string) {
	const failing = verdict.checks.filter(
		(check) => !check.pass && check.metric !== growthMetric && check.output !== shown,
	);
	const others = [...new Set(failing.map(({ output }) => output))];
	return others.length === 0 ? "" : ` Also failing: ${listNames(others)}.`;
}

function formatNumeric(value: number | string) {
	return typeof value === "string" ? value : String(Number(value.toPrecision(3)));
}

export function judgeGoldenChange(change: GoldenChange, config: Config, gates: Gates): GateResult[] {
	const { model } = change;
	const pointer = config.models.find(({ name }) => name === model)?.pointer ?? "";
	const judged = ["golden-change", orNone(gates.goldenChange), changeMessage(change)] as const;
	return placeVerdict(judged, { model }, { config, gates, pointer });
}

function orNone(setting: GateStatus | "off") {
	return setting === "off" ? null : setting;
}

function changeMessage({ base, head, weakened, movedTotal, reason, author, notes }: GoldenChange) {
	if (base === null) return `${notes.join(" ")} It needs a review.`;
	const what =
		head === null
			? `Golden ${base} was removed`
			: `Golden ${base} became ${head === base ? "another of the same id" : head}`;
	const weaker =
		weakened.length === 0 ? "" : `${head === null ? "" : " and is weaker"}: ${weakened.join(" ")}`;
	const moved = movedTotal === 0 ? "" : ` ${movedTotal} ${movedTotal === 1 ? "output" : "outputs"} moved.`;
	const why =
		reason === undefined ? " No reason is given." : ` ${author ?? "an unnamed author"} says: ${reason}`;
	return `${what}${weaker === "" ? "." : weaker}${moved} It needs a review.${head === null ? "" : why}`;
}

export function judgeProbe(result: ProbeResult, config: Config, level: Level): GateResult[] {
	const { model, engine, probe, message } = result;
	const judged = ["probe", probeStatus(result, level.gates.probes), message] as const;
	return placeVerdict(judged, { model, engine, case: probe }, { config, ...level, key: "probes" });
}

/** No number, because an answer is missing or differs in kind, is beyond every limit. */
function probeStatus({ state, got, allowed }: ProbeResult, { warn, fail }: Threshold) {
	if (state === "skipped" || state === "known" || (warn === undefined && fail === undefined)) return null;
	if (state === "agrees") return "pass";
	// A model that gives no finite number for generated inputs need not be wrong.
	if (got === "NaN") return "warn";
	const times = typeof got === "number" && allowed !== null ? got / allowed : Infinity;
	if (fail !== undefined && times > fail) return "fail";
	return warn !== undefined && times > warn ? "warn" : "pass";
}

export function judgeInterface(change: InterfaceChange, config: Config, level: Level): GateResult[] {
	const { rows, ...subject } = change;
	const more = rows.length > maxRows ? ` And ${rows.length - maxRows} more.` : "";
	const message = `The interface changed: ${rows.slice(0, maxRows).map(interfaceText).join("; ")}.${more}`;
	return placeVerdict(["interface", interfaceStatus(rows, level.gates), message], subject, {
		config,
		...level,
	});
}

/** A workload that no longer runs is not compared, whatever the gate on the interface says. */
function interfaceStatus(rows: InterfaceChange["rows"], gates: Gates) {
	if (gates.interface !== "fail" && rows.some(({ side }) => side === "workload"))
		return gates.notComparable === "fail" ? "fail" : "inconclusive";
	return orNone(gates.interface);
}

const maxRows = 4;
