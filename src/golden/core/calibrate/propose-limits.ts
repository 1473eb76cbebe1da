// Shows how far an engine deviates from its golden beside each limit, and proposes limits from these errors.

import type { ComparatorSpec, GoldenManifest, OutputSlice, Precision } from "../../../../generated/golden.ts";
import type { BackendFacts, Bound, GoldenVerdict, Numeric } from "../../../../generated/result.ts";
import { cleanName, cleanText } from "../../../core/text/escape.ts";
import { withCaveat } from "../../../core/text/labels.ts";
import { formatValue, twoDigits } from "../../../core/text/units.ts";
import { isMetricSpec } from "../compare/comparators.ts";
import { type MetricKind, metricLabels, metrics } from "../compare/registry.ts";
import { defaultTolerances } from "../compare/tolerances.ts";
import { roundedUp, rules } from "../record/limits.ts";
import { emulatedRounding, usualRoundings } from "../record/noise-floor.ts";
import { ofSlice, own } from "../tensor/tensor.ts";

/** Too tight if the error takes more of the limit, too loose if it is more than so many times too wide. */
const tightShare = 0.5;
const looseTimes = 5;
/** An error this many times as large as rounding or the precision explains shows that the engine is wrong. */
const suspectTimes = 4;

/** ONNX Runtime computes in fp32 whatever the engine's precision; only integer weights are in the model itself. */
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

/** Decibels have no loss, and that of accuracy is the golden's too: they get no limit. */
export function proposeLimits({ errors, precision }: EngineErrors, rule: CalibrationRule): ProposedLimit[] {
	return errors.flatMap((one): ProposedLimit[] => {
		const [worst] = one.cases;
		const hasLoss =
			one.kind !== "accuracy" && (one.bound === "at-most" || metrics[one.kind].range.most === 1);
		if (worst === undefined || !hasLoss) return [];
		const before = Math.max(...one.cases.map(({ allowed }) => allowed));
		const limit = one.kind === "relative-l2" ? rule.given.get(one.output) : undefined;
		if (limit === undefined) return [{ errors: one, before, ...judgeOn(one, before, precision, rule) }];
		const why = `set by --limit; the engine's own error is ${formatValue(worst.got)}`;
		return [{ errors: one, state: "given", before, limit, why }];
	});
}

type Judged = Pick<ProposedLimit, "state" | "limit" | "why">;

/** An engine on a CPU keeps the limits that it cannot judge. */
function judgeOn(
	errors: ComparatorErrors,
	before: number,
	precision: Precision,
	{ multiple, backend }: CalibrationRule,
) {
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
	const { bound, kind, cases, rounding } = errors;
	const got = cases[0]?.got ?? null;
	const keep = (why: string): Judged => ({ state: "kept", limit: before, why });
	if (got === null) return keep("nothing was measured");
	const error = typeof got === "number" ? lossOf(got, bound) : Infinity;
	const allowed = lossOf(before, bound);
	const isL2 = kind === "relative-l2";
	const usual = defaultTolerances[precision].relativeL2;
	const expected = rounding === undefined ? usual : Math.max(rounding, usualRoundings[precision]);
	const suspect = suspectTimes * (isL2 ? expected : allowed);
	if (!(error <= suspect)) {
		const why = `an error of ${formatValue(got)} at ${precision} says that the engine is wrong: above ${formatValue(suspect)}, a limit would hide defects`;
		return { state: "refused", limit: before, why };
	}
	if (error <= 0) return keep("no error");
	const floor = isL2 ? rules.usualFp32 : 0;
	// The limit stays above what rounding alone may do on another GPU.
	const loss = roundedUp(Math.max(multiple * Math.max(error, floor), rules.room * (rounding ?? 0)));
	const limit = bound === "at-most" ? loss : Math.max(0, Number((1 - loss).toPrecision(6)));
	const allowsAll = bound === "at-most" ? limit >= metrics[kind].range.most : limit === 0;
	if (allowsAll) return keep(`${multiple} times its own error would allow any output`);
	const share = allowed > 0 ? error / allowed : Infinity;
	const takes = `its own error takes ${percent(share)} of the limit`;
	if (share > tightShare) return { state: "raised", limit, why: `too tight: ${takes}` };
	if (allowed / lossOf(limit, bound) <= looseTimes) return keep(`fits: ${takes}`);
	const why = `too loose: the limit is ${twoDigits(allowed / error)}× its own error`;
	return { state: "lowered", limit, why };
}

function percent(share: number) {
	return Number.isFinite(share) ? `${twoDigits(100 * share)} %` : "all";
}

export interface CalibratedErrors extends EngineErrors {
	golden: string;
	limits: readonly ProposedLimit[];
}

const maxFaults = 5;

export function renderCalibration(engines: readonly CalibratedErrors[], backend: BackendFacts): string {
	const where = withCaveat(`${cleanName(backend.name)} ${cleanName(backend.version)}`, backend);
	const texts = engines.map(({ engine, precision, golden, faults, limits }) => {
		const more = faults.length - maxFaults;
		const lines = [
			`${cleanName(engine)} at ${precision}, ${where} on ${cleanName(backend.device)}, golden ${cleanName(golden)}`,
			...faults.slice(0, maxFaults).map((fault) => `  not calibrated: ${cleanText(fault)}`),
			...(more > 0 ? [`  and ${more} more`] : []),
			...limits.map((limit) => `  ${proposalText(limit, precision)}`),
		];
		return `${lines.join("\n")}\n`;
	});
	return texts.join("\n");
}

function proposalText({ errors, state, before, limit, why }: ProposedLimit, precision: string) {
	const { output, kind, slice, cases } = errors;
	let what = `${formatValue(before)} → ${formatValue(limit)}`;
	if (state === "kept") what = `keeps ${formatValue(before)}`;
	if (state === "refused") what = "REFUSED";
	const worst =
		cases[0] === undefined ? "" : ` (${formatValue(cases[0].got)} in ${cleanName(cases[0].case, 40)})`;
	return `${cleanName(output, 40)}, ${metricLabels[kind]}${ofSlice(slice)} at ${precision}: ${what}, ${why}${worst}`;
}

export interface ComparatorErrors {
	output: string;
	comparator: number;
	kind: MetricKind;
	slice?: OutputSlice;
	bound: Bound;
	/** For relative L2: how far rounding to the precision moves the output. */
	rounding?: number;
	cases: readonly { case: string; got: Numeric | null; allowed: number; share: number }[];
}

interface EngineErrors {
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
	const named = own(manifest.outputs, output)?.comparators;
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

function placesOf(specs: readonly ComparatorSpec[] | undefined) {
	return specs?.flatMap((spec, place) => (isMetricSpec(spec) && spec.scope !== "set" ? [place] : [])) ?? [0];
}

export function lossOf(value: number, bound: Bound): number {
	return bound === "at-most" ? value : 1 - value;
}

function shareOf(got: Numeric | null, allowed: number, bound: Bound) {
	if (got === null) return 0;
	if (typeof got === "string") return Infinity;
	const [error, limit] = [lossOf(got, bound), lossOf(allowed, bound)];
	if (bound === "at-least" && limit < 0) return got > 0 ? allowed / got : Infinity;
	if (error <= 0) return 0;
	return limit > 0 ? error / limit : Infinity;
}

const structural: ReadonlySet<string> = new Set(["missing", "dtype", "shape", "non-finite"]);

function faultsOf({ case: id, state, message, checks }: GoldenVerdict) {
	if (state === "error" || state === "stale") return [`${id}: ${message ?? "it was not judged"}`];
	return checks
		.filter(({ pass, metric }) => !pass && structural.has(metric))
		.map(({ output, metric, detail }) => `${id}: output ${output}, ${metric}: ${detail ?? "it differs"}`);
}
