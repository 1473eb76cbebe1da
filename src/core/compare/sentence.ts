// Formats a comparison as a sentence with its uncertainty.
import type { Comparison, Interval } from "../../../generated/result.ts";
import { formatPercent, formatWork, percentDigits } from "../text/units.ts";

/** `−0.2 % (99 % interval −0.9 to +0.5 %)`. */
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

/** `19.35 M → 27.45 M instructions, +41.9 %`. */
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
