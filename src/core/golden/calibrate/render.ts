// A calibration as text: each engine's own errors beside the limits, worst case first, and what is proposed.
import type { BackendFacts } from "../../schema/result.ts";
import { cleanName, cleanText } from "../../text/escape.ts";
import { counted, withCaveat } from "../../text/labels.ts";
import { formatValue, twoDigits } from "../../text/units.ts";
import { metricLabels } from "../metrics/measured.ts";
import { ofSlice } from "../tensor/slice.ts";
import type { CaseError, ComparatorErrors, EngineErrors } from "./errors.ts";
import type { ProposedLimit } from "./propose-limits.ts";

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

function engineText({ engine, precision, golden, errors, faults, limits }: CalibratedErrors, where: string): string {
	const heading = `${cleanName(engine)} at ${precision}, ${where}, golden ${cleanName(golden)}`;
	const rows = [...errors].sort((left, right) => worstShare(right) - worstShare(left)).flatMap((one) => rowsOf(one));
	const table = rows.length === 0 ? [] : alignColumns([["output", "check", "case", "error", "limit", "of the limit"], ...rows]);
	const shown = faults.slice(0, maxFaults).map((fault) => `not calibrated: ${cleanText(fault)}`);
	const more = faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : [];
	return [
		heading,
		...[...table, ...shown, ...more, ...limits.map((limit) => proposalText(limit, precision))].map((line) => `  ${line}`),
		"",
	].join("\n");
}

function worstShare({ cases }: ComparatorErrors): number {
	return cases[0]?.share ?? 0;
}

function rowsOf(errors: ComparatorErrors): string[][] {
	const { cases } = errors;
	const shown = cases.slice(0, maxCases).map((one, index) => [...(index === 0 ? nameCells(errors) : ["", ""]), ...caseCells(one)]);
	const more = cases.length - maxCases;
	return more > 0 ? [...shown, ["", "", `and ${counted(more, "case")} below`, "", "", ""]] : shown;
}

function nameCells({ output, kind, slice }: ComparatorErrors): string[] {
	return [cleanName(output, 40), `${metricLabels[kind]}${ofSlice(slice)}`];
}

function caseCells({ case: id, got, allowed, share }: CaseError): string[] {
	return [cleanName(id, 40), formatValue(got), formatValue(allowed), Number.isFinite(share) ? `${twoDigits(100 * share)} %` : "all of it"];
}

function proposalText({ errors, state, before, limit, why }: ProposedLimit, precision: string): string {
	const [output, check] = nameCells(errors);
	const what =
		state === "kept" ? `keeps ${formatValue(before)}` : state === "refused" ? "REFUSED" : `${formatValue(before)} → ${formatValue(limit)}`;
	return `${output}, ${check} at ${precision}: ${what}, ${why}`;
}

/** Numbers to the right. */
function alignColumns(rows: readonly (readonly string[])[]): string[] {
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
	return rows.map((row) =>
		row
			.map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
			.join("  ")
			.trimEnd(),
	);
}
