// Attaches telemetry to the runs, and discards invalid pairs.
import type { PerfRun } from "../core/schema/result.ts";
import { judgeValidity, type RunConditions } from "../core/telemetry/validity.ts";
import type { Telemetry, ToolFailure } from "../ports/world.ts";

/** Number of replaced runs after which a workload is abandoned, since the environment is unstable (reference: paired designs, replacement cap). */
export const replacementCap = 3;

export interface WatchedRun {
	run: PerfRun;
	/** When its process ran, in the time of the Clock port. */
	fromMs: number;
	toMs: number;
	timedMs: number | undefined;
}

/** Records GPU telemetry on the run. Readings arrive up to a second late, so observe again later. */
export function observe({ run, fromMs, toMs, timedMs }: WatchedRun, telemetry: Telemetry): RunConditions {
	const window = telemetry.window(fromMs, toMs);
	if (window !== null) {
		run.gpu = window;
		const { iterations, medianMs } = run;
		const wallMs = timedMs ?? run.wallMs;
		if (iterations !== undefined && medianMs !== undefined && wallMs > 0) run.computeShare = (iterations * medianMs) / wallMs;
	}
	return { window: run.gpu ?? null, computeShare: run.computeShare ?? null, foreignProcesses: telemetry.foreignProcesses(fromMs, toMs) };
}

/** Judges every usable run, discards both runs of each pair with an invalid one, and returns those pairs. */
export function discardInvalid(taken: readonly WatchedRun[], telemetry: Telemetry): { pair: number; reason: string }[] {
	const counting = taken.filter(({ run }) => run.state === "ok");
	const conditions = counting.map((watched) => observe(watched, telemetry));
	const reasons = new Map<PerfRun, string>();
	counting.forEach(({ run }, index) => {
		const own = conditions[index];
		const validity = own === undefined ? null : judgeValidity(own, conditions);
		if (validity?.state === "invalid") reasons.set(run, validity.reason);
	});
	const invalid = new Map([...reasons].map(([run, reason]) => [run.pair, reason]));
	for (const { run } of counting) {
		if (!invalid.has(run.pair)) continue;
		discard(run, reasons.get(run) ?? "the other run of its pair did not count");
	}
	return [...invalid].map(([pair, reason]) => ({ pair, reason }));
}

export function discard(run: PerfRun, reason: string): void {
	run.state = "unusable";
	run.reason = reason;
}

/** The fault of a workload whose replacements are used up. */
export function unstable(reason: string): ToolFailure {
	return {
		code: "runs-unstable",
		message: `More than ${replacementCap} pairs of runs were invalid, the last because ${reason}.`,
		fix: "Keep other work off this GPU, let it cool, and run again; the report lists the reason for each run.",
	};
}
