// The kinds of facts on which an upgrade is decided, and those on speed, memory, types and errors.
import type { BuildRecord, GoldenCheck, GoldenVerdict, WorkloadResult } from "../../../generated/result.ts";
import { typeChanges } from "../../engine/core/uncovered.ts";
import { comparedOf } from "../stats/summary.ts";
import { quoted } from "../text/escape.ts";
import { formatBytes, formatPercent, formatValue } from "../text/units.ts";

/** unknown: could not be measured. review: needs a reviewer. */
export const weights = ["stop", "unknown", "review", "note"] as const;

export const topics = {
	cutShort: ["unknown", "run that was cut short", "runs that were cut short"],
	buildsNow: ["review", "engine that builds only now", "engines that build only now"],
	buildsOnNeither: ["note", "engine that builds on neither", "engines that build on neither"],
	notBuilt: [
		"unknown",
		"engine that the machine failed to build",
		"engines that the machine failed to build",
	],
	noLongerBuilds: ["stop", "engine that no longer builds", "engines that no longer build"],
	noGolden: ["review", "engine without a golden", "engines without a golden"],
	grown: ["review", "engine whose errors grow", "engines whose errors grow"],
	drifts: ["stop", "engine that drifts", "engines that drift"],
	notJudged: ["unknown", "engine that was not judged on both", "engines that were not judged on both"],
	matchesOnNeither: ["review", "engine that matches on neither", "engines that match on neither"],
	notCompared: ["unknown", "workload that was not compared", "workloads that were not compared"],
	regressed: ["review", "workload that slows down", "workloads that slow down"],
	lostType: ["review", "engine that loses its types", "engines that lose their types"],
	otherTypes: ["note", "engine in other types", "engines in other types"],
	otherFile: ["note", "engine of another file", "engines of another file"],
	improved: ["note", "workload that speeds up", "workloads that speed up"],
	inconclusive: ["review", "inconclusive workload", "inconclusive workloads"],
	memoryGrows: ["review", "workload that takes more memory", "workloads that take more memory"],
	memoryFalls: ["note", "workload that takes less memory", "workloads that take less memory"],
	memoryUnknown: ["note", "workload of unknown memory", "workloads of unknown memory"],
	finding: ["review", "new finding of preflight", "new findings of preflight"],
} as const satisfies Readonly<Record<string, readonly [(typeof weights)[number], one: string, many: string]>>;

export type Fact = { kind: keyof typeof topics; says: string; model?: string | undefined };
export const fact = (kind: Fact["kind"], says: string): Fact[] => [{ kind, says }];

const speeds: Partial<Record<WorkloadResult["verdict"], Fact["kind"] | null>> = {
	...{ regressed: "regressed", improved: "improved", inconclusive: "inconclusive", unchanged: null },
};

export function speedFacts(row: WorkloadResult): Fact[] {
	const { verdict, estimate, interval, reason = "" } = comparedOf(row);
	const kind = speeds[verdict];
	if (kind === undefined || estimate === null)
		return fact("notCompared", `${quoted(row.id)} was not compared: ${reason}`);
	if (kind === null) return [];
	const percent = (share: number) => formatPercent(share, { sign: true });
	const range = interval === null ? "" : ` (${interval.map(percent).join(" … ")})`;
	const says = `${quoted(row.id)}: ${percent(estimate)} time${range}.`;
	return fact(kind, kind === "inconclusive" ? `Inconclusive: ${says}` : says);
}

export function memoryFacts({ id, memory, base, head }: WorkloadResult): Fact[] {
	const { verdict, estimate, reason = "" } = memory;
	if (verdict === "not-comparable") return fact("memoryUnknown", `${quoted(id)}: ${reason}`);
	if (estimate === null || (verdict !== "regressed" && verdict !== "improved")) return [];
	const sizes = [base, head].map((side) => formatBytes(side?.peakMemoryBytes ?? 0)).join(" → ");
	return fact(
		verdict === "regressed" ? "memoryGrows" : "memoryFalls",
		`${quoted(id)}: peak memory ${sizes} (${formatPercent(estimate, { sign: true })}).`,
	);
}

interface TypeFact {
	kind: "lostType" | "otherTypes" | "otherFile";
	says: string;
}

/** Of an engine that builds on both. Where the builder chose the kernels, their times decide. */
export function typeFacts(id: string, was: BuildRecord, is: BuildRecord): TypeFact[] {
	const facts: TypeFact[] = [];
	if (was.modelSha256 !== is.modelSha256)
		facts.push({ kind: "otherFile", says: `${quoted(id)} is built from another ONNX file.` });
	if (is.precisionCoverage === undefined) return facts;
	const { lost, gained, isOfFile } = typeChanges(is.precisionCoverage);
	if (lost !== null)
		facts.push({ kind: isOfFile ? "lostType" : "otherTypes", says: `${quoted(id)}: ${lost}` });
	if (gained !== null) facts.push({ kind: "otherTypes", says: `${quoted(id)}: ${gained}` });
	return facts;
}

/** Version-compatible plans run on later versions of their major one. */
export function isPortable(was: BuildRecord | undefined, is: BuildRecord | undefined) {
	if (was?.engineSha256 !== undefined && was.engineSha256 === is?.engineSha256) return true;
	const majors = [was, is].map((build) => Number.parseInt(build?.recipe?.tensorrt ?? "", 10));
	return majors[0] === majors[1] && / --versionCompatible\b/.test(was?.recipe?.flags ?? "");
}

function errorBefore(check: GoldenCheck, was: GoldenVerdict | undefined) {
	const keyOf = ({ output, metric, slice }: GoldenCheck) => JSON.stringify([output, metric, slice]);
	return was?.checks.find((other) => keyOf(other) === keyOf(check))?.got ?? null;
}

/** An error that grew by this factor, beyond this share of its limit, will soon be a failure. */
const growth = 2;

export function isGrown(check: GoldenCheck, was: GoldenVerdict | undefined) {
	const before = errorBefore(check, was);
	const { got, allowed, bound } = check;
	if (bound !== "at-most" || typeof got !== "number" || typeof before !== "number") return false;
	return allowed !== null && got > growth * before && got > allowed / growth;
}

export function errorText(check: GoldenCheck, was: GoldenVerdict | undefined) {
	const limit = check.allowed === null ? "" : ` (allowed: ${formatValue(check.allowed)})`;
	const change = `${formatValue(errorBefore(check, was))} → ${formatValue(check.got)}`;
	return `${quoted(check.output)} ${check.metric} ${change}${limit}`;
}
