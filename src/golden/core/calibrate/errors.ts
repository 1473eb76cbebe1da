// Shows how far an engine deviates from its golden, by comparator and case, beside each limit.
import type { ComparatorSpec, GoldenManifest, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { Bound, GoldenVerdict, Numeric } from "../../../../generated/result.ts";
import { isMetricSpec } from "../compare/comparators.ts";
import { type MetricKind, metrics } from "../compare/registry.ts";
import { emulatedRounding } from "../record/emulated-rounding.ts";

export interface CaseError {
	case: string;
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
	/** For relative L2: how far rounding to the precision moves the output, if the golden was recorded with that. */
	rounding?: number;
	/** Worst first. */
	cases: readonly CaseError[];
}

export interface EngineErrors {
	engine: string;
	precision: Precision;
	errors: readonly ComparatorErrors[];
	faults: readonly string[];
}

export function errorsOf(
	manifest: GoldenManifest,
	verdicts: readonly GoldenVerdict[],
): Pick<EngineErrors, "errors" | "faults"> {
	const cases = verdicts.filter(({ scope }) => scope === undefined);
	const outputs = [...new Set(manifest.cases.flatMap((golden) => Object.keys(golden.outputs)))];
	const errors = outputs.flatMap((output) => errorsOfOutput(output, manifest, cases));
	return { errors, faults: [...new Set(verdicts.flatMap(faultsOf))] };
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
		return checks.length === places.length ? [{ id: verdict.case, checks }] : [];
	});
	const precision = (verdicts[0]?.precision ?? "fp32") as Precision;
	return places.flatMap((comparator, index) => {
		const check = cases[0]?.checks[index];
		if (check === undefined) return [];
		const { metric, bound, slice } = check;
		const isL2 = metric === "relative-l2";
		const rounding = isL2 ? emulatedRounding(manifest.rounding, { output, slice, precision }) : undefined;
		const measured = cases.flatMap(({ id, checks }) => {
			const { got = null, allowed = null } = checks[index] ?? {};
			return allowed === null ? [] : [{ case: id, got, allowed, share: shareOf(got, allowed, bound) }];
		});
		measured.sort((left, right) => right.share - left.share);
		return [{ output, comparator, kind: metric as MetricKind, bound, slice, rounding, cases: measured }];
	});
}

/** Positions of the comparators that check each case; the default comparator has position 0. */
function placesOf(specs: readonly ComparatorSpec[] | undefined): number[] {
	return specs?.flatMap((spec, place) => (isMetricSpec(spec) && spec.scope !== "set" ? [place] : [])) ?? [0];
}

export function lossOf(value: number, bound: Bound): number {
	return bound === "at-most" ? value : 1 - value;
}

function shareOf(got: Numeric | null, allowed: number, bound: Bound): number {
	if (got === null) return 0;
	if (typeof got === "string") return Number.POSITIVE_INFINITY;
	const [error, limit] = [lossOf(got, bound), lossOf(allowed, bound)];
	// Decibels.
	if (bound === "at-least" && limit < 0) return got > 0 ? allowed / got : Number.POSITIVE_INFINITY;
	if (error <= 0) return 0;
	return limit > 0 ? error / limit : Number.POSITIVE_INFINITY;
}

const structural: ReadonlySet<string> = new Set(["missing", "dtype", "shape", "non-finite"]);

function faultsOf({ case: id, state, message, checks }: GoldenVerdict): string[] {
	if (state === "error" || state === "stale") return [`${id}: ${message ?? "it was not judged"}`];
	return checks
		.filter(({ pass, metric }) => !pass && structural.has(metric))
		.map(({ output, metric, detail }) => `${id}: output ${output}, ${metric}: ${detail ?? "it differs"}`);
}
