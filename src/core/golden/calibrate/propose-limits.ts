// Proposes limits from an engine's own errors: a stated multiple of them where the limit is far from it.
import type { Precision } from "../../../../generated/golden.ts";
import type { BackendFacts } from "../../../../generated/result.ts";
import { cleanName, cleanText } from "../../text/escape.ts";
import { counted, withCaveat } from "../../text/labels.ts";
import { formatValue, twoDigits } from "../../text/units.ts";
import { metricLabels } from "../compare/registry.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { usualRoundings } from "../record/emulated-rounding.ts";
import { roundedUp, rules } from "../record/limits.ts";
import { ofSlice } from "../tensor/slice.ts";
import { type CaseError, type ComparatorErrors, type EngineErrors, isProposable, lossOf } from "./errors.ts";

export const tightShare = 0.5;
const looseTimes = 5;
/** An error this many times what rounding does to the output, or what engines of the precision usually reach, says that the engine is wrong. */
const suspectTimes = 4;

/** ONNX Runtime computes in fp32 whatever an engine is named for; only weights that the model itself holds as integers are so. */
const honestOnCpu: ReadonlySet<Precision> = new Set(["fp32", "int8"]);

export interface ProposedLimit {
	errors: ComparatorErrors;
	state: "kept" | "raised" | "lowered" | "refused" | "given";
	before: number;
	limit: number;
	why: string;
}

export interface CalibrationRule {
	multiple: number;
	backend: BackendFacts["kind"];
	given: ReadonlyMap<string, number>;
}

/** One for each comparator that a limit can be proposed for, in the order of the outputs. */
export function proposeLimits({ errors, precision }: EngineErrors, rule: CalibrationRule): ProposedLimit[] {
	return errors.flatMap((one): ProposedLimit[] => {
		const [worst] = one.cases;
		if (worst === undefined || !isProposable(one)) return [];
		const before = Math.max(...one.cases.map(({ allowed }) => allowed));
		const limit = one.kind === "relative-l2" ? rule.given.get(one.output) : undefined;
		if (limit === undefined) return [{ errors: one, before, ...judgeOn(one, before, precision, rule) }];
		const why = `set by --limit; the engine's own error is ${text(worst.got)}`;
		return [{ errors: one, state: "given", before, limit, why }];
	});
}

type Judged = Pick<ProposedLimit, "state" | "limit" | "why">;

/** What an engine on a CPU does not show stays. */
function judgeOn(
	errors: ComparatorErrors,
	before: number,
	precision: Precision,
	{ multiple, backend }: CalibrationRule,
): Judged {
	const judged = judge(errors, before, precision, multiple);
	if (backend === "tensorrt" || judged.state === "refused") return judged;
	const keep = (why: string): Judged => ({ state: "kept", limit: before, why });
	if (!honestOnCpu.has(precision))
		return keep(`ONNX Runtime computes in fp32 here, which says nothing of ${precision}`);
	return judged.state === "lowered"
		? keep(`${judged.why}, but only TensorRT shows whether it may be lower`)
		: judged;
}

function judge(errors: ComparatorErrors, before: number, precision: Precision, multiple: number): Judged {
	const { bound, kind, cases, rounding = 0 } = errors;
	const got = cases[0]?.got ?? null;
	const keep = (why: string): Judged => ({ state: "kept", limit: before, why });
	if (got === null) return keep("nothing was measured");
	const error = typeof got === "number" ? lossOf(got, bound) : Number.POSITIVE_INFINITY;
	const allowed = lossOf(before, bound);
	const suspect = suspectError(errors, allowed, precision);
	if (!(error <= suspect)) {
		const why = `an error of ${text(got)} at ${precision} says that the engine is wrong: above ${twoDigits(suspect)}, a limit would hide defects`;
		return { state: "refused", limit: before, why };
	}
	if (error <= 0) return keep("no error");
	const floor = kind === "relative-l2" ? rules.usualFp32 : 0;
	// What rounding alone may do on another GPU stays allowed, whatever this engine keeps.
	const loss = roundedUp(Math.max(multiple * Math.max(error, floor), rules.room * rounding));
	const limit = bound === "at-most" ? loss : Math.max(0, Number((1 - loss).toPrecision(6)));
	const share = allowed > 0 ? error / allowed : Number.POSITIVE_INFINITY;
	const takes = `its own error takes ${percent(share)} of the limit`;
	if (share > tightShare) return { state: "raised", limit, why: `too tight: ${takes}` };
	if (allowed / lossOf(limit, bound) <= looseTimes) return keep(`fits: ${takes}`);
	const why = `too loose: the limit is ${twoDigits(allowed / error)}× its own error`;
	return { state: "lowered", limit, why };
}

function suspectError({ kind, rounding }: ComparatorErrors, limit: number, precision: Precision): number {
	if (kind !== "relative-l2") return suspectTimes * limit;
	return (
		suspectTimes *
		(rounding === undefined
			? defaultTolerances[precision].relativeL2
			: Math.max(rounding, usualRoundings[precision]))
	);
}

function text(value: ComparatorErrors["cases"][number]["got"]): string {
	return typeof value === "number" ? twoDigits(value) : (value ?? "none");
}

function percent(share: number): string {
	return Number.isFinite(share) ? `${twoDigits(100 * share)} %` : "all";
}

// A calibration as text: each engine's own errors beside the limits, worst case first, and what is proposed.

export interface CalibratedErrors extends EngineErrors {
	golden: string;
	limits: readonly ProposedLimit[];
}

const maxCases = 5;
const maxFaults = 5;

export function renderCalibration(engines: readonly CalibratedErrors[], backend: BackendFacts): string {
	const where = withCaveat(`${cleanName(backend.name)} ${cleanName(backend.version)}`, backend);
	return engines.map((engine) => engineText(engine, `${where} on ${cleanName(backend.device)}`)).join("\n");
}

function engineText(calibrated: CalibratedErrors, where: string): string {
	const { engine, precision, golden, errors, faults, limits } = calibrated;
	const worstShare = ({ cases }: ComparatorErrors): number => cases[0]?.share ?? 0;
	const rows = errors.toSorted((left, right) => worstShare(right) - worstShare(left)).flatMap(rowsOf);
	const head = ["output", "check", "case", "error", "limit", "of the limit"];
	const lines = rows.length === 0 ? [] : alignColumns([head, ...rows]);
	lines.push(...faults.slice(0, maxFaults).map((fault) => `not calibrated: ${cleanText(fault)}`));
	if (faults.length > maxFaults) lines.push(`and ${faults.length - maxFaults} more`);
	lines.push(...limits.map((limit) => proposalText(limit, precision)));
	const heading = `${cleanName(engine)} at ${precision}, ${where}, golden ${cleanName(golden)}`;
	return [heading, ...lines.map((line) => `  ${line}`), ""].join("\n");
}

function rowsOf(errors: ComparatorErrors): string[][] {
	const { cases } = errors;
	const shown = cases
		.slice(0, maxCases)
		.map((one, index) => [...(index === 0 ? nameCells(errors) : ["", ""]), ...caseCells(one)]);
	const more = cases.length - maxCases;
	return more > 0 ? [...shown, ["", "", `and ${counted(more, "case")} below`, "", "", ""]] : shown;
}

function nameCells({ output, kind, slice }: ComparatorErrors): string[] {
	return [cleanName(output, 40), `${metricLabels[kind]}${ofSlice(slice)}`];
}

function caseCells({ case: id, got, allowed, share }: CaseError): string[] {
	return [
		cleanName(id, 40),
		formatValue(got),
		formatValue(allowed),
		Number.isFinite(share) ? `${twoDigits(100 * share)} %` : "all of it",
	];
}

function proposalText({ errors, state, before, limit, why }: ProposedLimit, precision: string): string {
	const [output, check] = nameCells(errors);
	const what =
		state === "kept"
			? `keeps ${formatValue(before)}`
			: state === "refused"
				? "REFUSED"
				: `${formatValue(before)} → ${formatValue(limit)}`;
	return `${output}, ${check} at ${precision}: ${what}, ${why}`;
}

function alignColumns(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) =>
		Math.max(...rows.map((row) => (row[column] ?? "").length)),
	);
	return rows.map((row) =>
		row
			.map((cell, column) =>
				column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
			)
			.join("  ")
			.trimEnd(),
	);
}
