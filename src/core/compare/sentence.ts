// Formats comparisons with their uncertainty, as sentences and for cells.
import type { Arm, BackendFacts, Comparison, Interval, WorkloadResult } from "../../../generated/result.ts";
import { cleanMessage } from "../text/escape.ts";
import { counted, present, withCaveat } from "../text/labels.ts";
import { formatCount, formatLimit, formatPercent, formatWork, percentDigits } from "../text/units.ts";

export function renderChange(estimate: number, interval: Interval, level: number): string {
	const digits = percentDigits((interval[1] - interval[0]) / 2);
	const percent = (fraction: number) => formatPercent(fraction, { sign: true, digits });
	const low = percent(interval[0]).replace(" %", "");
	return `${percent(estimate)} (${Number((level * 100).toPrecision(4))} % interval ${low} to ${percent(interval[1])})`;
}

function excludedPercent(excluded: number, digits: number) {
	const steps = 10 ** (digits + 2);
	return formatPercent(Math.ceil(excluded * steps - 1e-9) / steps, { digits });
}

function renderMeasured(comparison: Comparison, estimate: number, interval: Interval) {
	const { verdict, level, setAside, reason = "" } = comparison;
	const pairs = `${comparison.pairs} pairs${setAside === undefined ? "" : ` (${setAside} disturbed and set aside)`}`;
	const change = renderChange(estimate, interval, level);
	switch (verdict) {
		case "regressed":
			return `Slower: ${change}, ${pairs}.`;
		case "improved":
			return `Faster: ${change}, ${pairs}.`;
		case "unchanged": {
			const excluded = excludedPercent(
				comparison.excluded ?? 0,
				percentDigits((interval[1] - interval[0]) / 2),
			);
			return `No relevant change: ${change}, ${pairs}; changes of ${excluded} or more are ruled out.`;
		}
		default:
			return `Inconclusive after ${pairs}: ${change}. ${reason} Not a pass.`;
	}
}

export function workText({ base, head, estimate, interval }: Comparison): string {
	if (base === undefined || head === undefined || estimate === null) return "";
	const percent = (fraction: number) => formatPercent(fraction, { sign: true });
	const [low, high] = interval ?? [estimate, estimate];
	const range =
		low === high
			? ""
			: ` (${percent(low).replace(" %", "")} to ${percent(high)} by the values of the inputs)`;
	return `${formatWork(base)} → ${formatWork(head)} instructions, ${percent(estimate)}${range}`;
}

const workVerdicts: Partial<Record<Comparison["verdict"], string>> = {
	regressed: "More work",
	improved: "Less work",
	unchanged: "No relevant change of work",
};

export function renderWork(work: Comparison, doubt: string | undefined): string {
	const says = workVerdicts[work.verdict];
	if (says === undefined || work.base === undefined)
		return `${says ?? "Not compared"}: ${work.reason ?? "nothing was counted."}`;
	const warns = doubt === undefined || work.verdict !== "regressed" ? "" : ` ${doubt} It only warns.`;
	return `${says}: ${workText(work)}.${warns}`;
}

export function renderVerdict(comparison: Comparison): string {
	const { verdict, estimate, interval, reason = "" } = comparison;
	if (verdict === "missing") return `Nothing to compare: ${reason}`;
	if (verdict === "not-comparable") return `Not comparable: ${reason}`;
	if (verdict === "unchanged" && comparison.pairs === 0) return `No change: ${reason}`;
	if (estimate !== null && interval !== null) return renderMeasured(comparison, estimate, interval);
	const seen =
		estimate === null ? "" : ` The runs so far differ by ${formatPercent(estimate, { sign: true })}.`;
	return `Inconclusive: ${reason}${seen} Not a pass.`;
}

export const dash = "–";

/** A counted change has no width. */
function intervalDigits({ interval, pairs }: Pick<Comparison, "interval" | "pairs">) {
	return interval === null || pairs === 0 ? 1 : percentDigits((interval[1] - interval[0]) / 2);
}

export function changeText(comparison: Comparison): string {
	if (comparison.estimate === null) return dash;
	return formatPercent(comparison.estimate, { sign: true, digits: intervalDigits(comparison) });
}

export function intervalText(comparison: Comparison): string {
	const { interval } = comparison;
	if (interval === null) return "no interval";
	const digits = intervalDigits(comparison);
	return interval.map((bound) => formatPercent(bound, { sign: true, digits })).join(" … ");
}

export function levelText(comparison: Comparison): string {
	return `${Number((comparison.level * 100).toPrecision(4))} %`;
}

export function changeWithInterval(comparison: Comparison): string {
	if (comparison.interval === null) return changeText(comparison);
	return `${changeText(comparison)} (${levelText(comparison)} interval ${intervalText(comparison)})`;
}

export function pairsText({ pairs, setAside }: Comparison): string {
	const aside = setAside === undefined ? "" : `, ${formatCount(setAside)} of them disturbed and set aside`;
	return `${counted(pairs, "interleaved pair")}${aside}`;
}

export function noiseTexts({ noise, latency }: WorkloadResult): string[] {
	const { builds } = latency;
	return present([
		noise.runCv !== null && `run noise ${formatPercent(noise.runCv)}`,
		builds &&
			`builds of the same model differ by ±${formatPercent(builds.sd)} (${builds.count} of each side)`,
	]);
}

/** Rounded up, so that the claim is never too strong. */
export function excludedText(excluded: number): string {
	return formatPercent(Math.ceil(excluded * 1000 - 1e-9) / 1000);
}

/** Never `0.0 %`, which no job can detect. */
export function formatDetectable(share: number): string {
	return share < 0.0005 ? excludedText(share) : formatPercent(share);
}

export function sidesOf<One extends Record<Arm, unknown>>(one: One) {
	type Stats = NonNullable<One[Arm]>;
	return (["base", "head"] as const).flatMap((side) => {
		const stats = one[side];
		return stats == null ? [] : [{ ...one, side, stats: stats as Stats }];
	});
}

export function sideChange({ side, comparison }: { side: Arm; comparison: Comparison }): string {
	return side === "head" ? changeWithInterval(comparison) : "";
}

export function codeSentences(what: string, name: string | undefined): string[] {
	return name === undefined ? [] : [`${what}: \`${cleanMessage(name, 200).replaceAll("`", "'")}\`.`];
}

export function limitsText(workload: WorkloadResult): string | null {
	const { warn, fail } = workload.limits ?? {};
	if (warn === undefined) return fail === undefined ? null : `Fails at ${formatLimit(fail)}.`;
	return `Warns at ${formatLimit(warn)}${fail === undefined ? "" : `, fails at ${formatLimit(fail)}`}.`;
}

export function unchangedText(workload: WorkloadResult, backend: BackendFacts): string {
	const { latency, work } = workload;
	const title = withCaveat("No relevant change", backend);
	if (work?.base !== undefined) return `${title}: work ${workText(work)}.`;
	if (work !== undefined || latency.estimate === null || latency.pairs === 0)
		return `${title}: ${cleanMessage((work ?? latency).reason ?? "not timed")}`;
	const excluded =
		latency.excluded === null ? "" : `; changes of ${excludedText(latency.excluded)} or more are ruled out`;
	return `${title}: ${changeWithInterval(latency)}${excluded}.`;
}

export function openRangeText(comparison: Comparison): string {
	const { interval } = comparison;
	if (interval === null) return "no change can be ruled out";
	if (interval[1] > 0) return `a slowdown of up to ${formatPercent(interval[1])} cannot be ruled out`;
	return `a speedup of up to ${formatPercent(-interval[0])} cannot be ruled out`;
}
