// A soak in one sentence each: what changed, and what the GPU did.
import type { SoakResult } from "../schema/result.ts";
import { formatDuration, formatMs, formatPercent } from "../text/units.ts";

const ends: Readonly<Record<SoakResult["state"], string>> = {
	steady: "steady",
	"time-up": "not steady when the time was up",
	interrupted: "interrupted",
};

/** `After 6 min of load 1.0 % slower than fresh (0.800 → 0.808 ms), steady; +0.7 % at 13 s; P99 0.81 → 0.83 ms; throttled for 0 % of the time.` */
export function soakText(soak: SoakResult): string {
	const { seconds, drift, freshMs, steadyMs, state, steps, processes, throttledShare } = soak;
	const [first, last] = [processes[0], processes.at(-1)];
	return [
		`After ${formatDuration(seconds * 1000)} of load ${formatPercent(Math.abs(drift))} ${drift < 0 ? "faster" : "slower"} than fresh (${formatMs(freshMs)} → ${formatMs(steadyMs)}), ${ends[state]}`,
		...steps.slice(0, 3).map(({ atS, change }) => `${formatPercent(change, { sign: true })} at ${formatDuration(atS * 1000)}`),
		...(steps.length > 3 ? [`${steps.length - 3} more steps`] : []),
		...(first === undefined || last === undefined ? [] : [`P99 ${formatMs(first.p99Ms)} → ${formatMs(last.p99Ms)}`]),
		...(throttledShare === undefined ? [] : [`throttled for ${formatPercent(throttledShare)} of the time`]),
	]
		.join("; ")
		.concat(".");
}
