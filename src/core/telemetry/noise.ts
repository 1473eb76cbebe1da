// What a runner resolves, from runs of one engine against itself, and what disturbs it.
import type { Interval, PerfRun, WorkloadResult } from "../../../generated/result.ts";
import { runCv } from "../compare/pairs.ts";
import { sampleMean } from "../stats/quantile.ts";
import { counted, listNames } from "../text/labels.ts";
import { formatLimit, formatPercent } from "../text/units.ts";
import { equalClocks } from "./conditions.ts";

export interface NoiseFinding {
	name: string;
	ok: boolean;
	status: string;
	fix?: string;
}

/** The default of `gates.latency.warn`. */
const usualLimit = 0.02;
/** Of all runs; a little is as good as none. */
const launchShare = 1 / 2;
const powerShare = 0.1;

export function noiseFindings(row: WorkloadResult): NoiseFinding[] {
	const { latency } = row;
	if (latency.interval === null)
		return [
			{ name: "noise", ok: false, status: `not measured: ${latency.reason ?? "there were too few pairs"}` },
		];
	const causes = [replaced(row), setAside(row), clocks(row.runs), throttling(row.runs), launches(row.runs)];
	return [resolution(row, latency.interval), ...causes.flatMap((cause) => cause ?? []), telemetry(row.runs)];
}

function resolution({ latency }: WorkloadResult, [low, high]: Interval) {
	const { estimate, pairs } = latency;
	const half = (high - low) / 2;
	const found = `one engine against itself: ${formatPercent(estimate ?? 0, { sign: true })} (${formatPercent(low, { sign: true })} to ${formatPercent(high, { sign: true })})`;
	const status = `this runner resolves ± ${formatPercent(half)} in ${counted(pairs, "pair")}; ${found}`;
	if (low > 0 || high < 0)
		return {
			name: "noise",
			ok: false,
			status,
			fix: "The engine differs from itself beyond its noise: something changed from run to run. Remove what is listed below, and repeat.",
		};
	if (half <= usualLimit) return { name: "noise", ok: true, status };
	const fix = `A limit of ${formatLimit(usualLimit)} stays undecided more often than not: remove what is listed below, give \`measure.duration\` and \`measure.pairs\` more, or widen \`gates.latency\`.`;
	return { name: "noise", ok: false, status, fix };
}

function replaced({ runs }: WorkloadResult) {
	const reasons = runs.flatMap(({ state, reason }) =>
		state === "unusable" && reason !== undefined ? [reason] : [],
	);
	if (reasons.length === 0) return null;
	const distinct = [...new Set(reasons)];
	const isForeign = distinct.some((reason) => reason.startsWith("another process"));
	return {
		name: "disturbed runs",
		ok: false,
		status: `${counted(reasons.length, "run")} of ${runs.length} repeated: ${listNames(distinct, 3)}`,
		fix: isForeign
			? "Keep other programs off this GPU: one job at a time, no desktop, no other service."
			: "Lock the clocks below what heat and power allow, and keep other programs off this GPU.",
	};
}

function setAside({ latency: { setAside = 0, pairs } }: WorkloadResult) {
	if (setAside === 0) return null;
	return {
		name: "outliers",
		ok: false,
		status: `${counted(setAside, "pair")} of ${pairs} took longer than the others and did not count`,
		fix: "Look for work that comes and goes on this machine: other jobs, backups, a desktop.",
	};
}

function clocks(runs: readonly PerfRun[]) {
	const means = runs.flatMap(({ state, gpu }) =>
		state === "ok" && gpu?.smClockMhz ? [gpu.smClockMhz.mean] : [],
	);
	if (means.length < 2) return null;
	const [low, high] = [Math.min(...means), Math.max(...means)];
	const spread = high / low - 1;
	const range = `${Math.round(low)} to ${Math.round(high)} MHz`;
	if (spread <= equalClocks)
		return { name: "clocks", ok: true, status: `${Math.round(low)} MHz in all runs` };
	return {
		name: "clocks",
		ok: false,
		status: `${range} from run to run (${formatPercent(spread)})`,
		fix: `Lock the GPU's clock before jobs: \`sudo nvidia-smi --lock-gpu-clocks=${Math.floor(low / 15) * 15}\`, a frequency that it holds under load.`,
	};
}

function throttling(runs: readonly PerfRun[]) {
	const windows = runs.flatMap(({ gpu }) => gpu ?? []);
	const cap = sampleMean(windows.map(({ powerCapShare }) => powerCapShare ?? 0))?.mean ?? 0;
	const reasons = [...new Set(windows.flatMap(({ throttleReasons }) => throttleReasons))];
	const limiting = reasons.filter((reason) => reason !== "sw-power-cap" || cap > powerShare);
	if (limiting.length === 0) return null;
	const share =
		cap > powerShare ? `, the power limit for ${formatPercent(cap, { digits: 0 })} of the time` : "";
	return {
		name: "throttling",
		ok: false,
		status: `the clock was limited by ${listNames(limiting)}${share}`,
		fix: "Lock a lower clock, so that neither power nor heat decides, and check the cooling.",
	};
}

function launches(runs: readonly PerfRun[]) {
	const bound = runs.filter(({ enqueueBound }) => enqueueBound === true);
	if (bound.length <= runs.length * launchShare) return null;
	const cv = runCv(timesOf(runs, "base"), timesOf(runs, "head"));
	return {
		name: "launches",
		ok: false,
		status: `the CPU launches kernels about as slowly as the GPU runs them${cv === null ? "" : `; runs scatter by ${formatPercent(cv)}`}`,
		fix: "Leave `measure.cuda-graph` on, and time a model that keeps the GPU busy: --model FILE.",
	};
}

function timesOf(runs: readonly PerfRun[], arm: PerfRun["arm"]) {
	return runs.flatMap((run) => (run.arm === arm && run.state === "ok" ? (run.medianMs ?? []) : []));
}

function telemetry(runs: readonly PerfRun[]) {
	const seen = runs.filter(({ gpu }) => gpu !== undefined).length;
	const status = `clocks, power and processes were seen beside ${seen} of ${runs.length} runs`;
	if (seen > 0) return { name: "telemetry", ok: true, status };
	const fix =
		"Without nvidia-smi beside the runs, causes of noise stay unknown: check that it works for this user.";
	return { name: "telemetry", ok: false, status, fix };
}
