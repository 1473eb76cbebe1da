// How far an engine deviates from its golden, comparator by comparator and case by case, beside each limit.
import type { ComparatorSpec, GoldenManifest, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { Bound, GoldenVerdict, Numeric } from "../../../../generated/result.ts";
import { isMetricSpec, type MetricSpec } from "../compare/comparators.ts";
import { type MetricKind, metrics } from "../compare/registry.ts";
import { emulatedRounding } from "../record/emulated-rounding.ts";

export interface CaseError {
	case: string;
	/** What the comparator measured; null where nothing could be measured. */
	got: Numeric | null;
	allowed: number;
	share: number;
}

export interface ComparatorErrors {
	output: string;
	comparator: number;
	kind: MetricKind;
	slice?: OutputSlice;
	bound: Bound;
	/** Of relative L2: how far rounding to the precision moves the output, where the golden was recorded with that. */
	rounding?: number;
	cases: readonly CaseError[];
}

export interface EngineErrors {
	engine: string;
	precision: Precision;
	errors: readonly ComparatorErrors[];
	faults: readonly string[];
}

/** @param verdicts on this engine alone, of the head. */
export function errorsOf(
	manifest: GoldenManifest,
	verdicts: readonly GoldenVerdict[],
): Pick<EngineErrors, "errors" | "faults"> {
	const cases = verdicts.filter(({ scope }) => scope === undefined);
	const errors = outputsOf(manifest).flatMap((output) => errorsOfOutput(output, manifest, cases));
	return { errors, faults: [...new Set(verdicts.flatMap(faultsOf))] };
}

function outputsOf({ cases }: GoldenManifest): string[] {
	return [...new Set(cases.flatMap(({ outputs }) => Object.keys(outputs)))];
}

function errorsOfOutput(
	output: string,
	manifest: GoldenManifest,
	verdicts: readonly GoldenVerdict[],
): ComparatorErrors[] {
	const named = Object.hasOwn(manifest.outputs, output) ? manifest.outputs[output]?.comparators : undefined;
	const places = placesOf(named);
	const cases = verdicts.flatMap((verdict) => {
		const checks = verdict.checks.filter(
			(check) => check.output === output && Object.hasOwn(metrics, check.metric),
		);
		return checks.length === (places?.length ?? 1) ? [{ id: verdict.case, checks }] : [];
	});
	const count = places?.length ?? 1;
	const precision = (verdicts[0]?.precision ?? "fp32") as Precision;
	return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
		const [first] = cases;
		const check = first?.checks[index];
		if (check === undefined) return [];
		const { metric, bound, slice } = check;
		const rounding =
			metric === "relative-l2"
				? emulatedRounding(manifest.rounding, { output, slice, precision })
				: undefined;
		const measured = cases.flatMap(({ id, checks }) => {
			const { got = null, allowed = null } = checks[index] ?? {};
			return allowed === null ? [] : [{ case: id, got, allowed, share: shareOf(got, allowed, bound) }];
		});
		return [
			{
				...{ output, comparator: places?.[index] ?? 0, kind: metric as MetricKind, bound },
				slice,
				rounding,
				cases: measured.sort((left, right) => right.share - left.share),
			},
		];
	});
}

function placesOf(specs: readonly ComparatorSpec[] | undefined): number[] | undefined {
	return specs?.flatMap((spec, place) => (isMetricSpec(spec) && spec.scope !== "set" ? [place] : []));
}

export function lossOf(value: number, bound: Bound): number {
	return bound === "at-most" ? value : 1 - value;
}

function shareOf(got: Numeric | null, allowed: number, bound: Bound): number {
	if (got === null) return 0;
	if (typeof got === "string") return Number.POSITIVE_INFINITY;
	const [error, limit] = [lossOf(got, bound), lossOf(allowed, bound)];
	if (bound === "at-least" && limit < 0) return got > 0 ? allowed / got : Number.POSITIVE_INFINITY;
	if (error <= 0) return 0;
	return limit > 0 ? error / limit : Number.POSITIVE_INFINITY;
}

function faultsOf({ case: id, state, message, checks }: GoldenVerdict): string[] {
	if (state === "error" || state === "stale") return [`${id}: ${message ?? "it was not judged"}`];
	const structural = checks.filter(
		({ pass, metric }) => !pass && (metric === "missing" || metric === "dtype" || metric === "shape"),
	);
	const infinite = checks.filter(({ pass, metric }) => !pass && metric === "non-finite");
	return [...structural, ...infinite].map(
		({ output, metric, detail }) => `${id}: output ${output}, ${metric}: ${detail ?? "it differs"}`,
	);
}

export function isProposable({ kind, bound }: Pick<MetricSpec, "kind"> & { bound: Bound }): boolean {
	return bound === "at-most" || metrics[kind].range.most === 1;
}
