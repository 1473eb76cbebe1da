// Finds causes outside the layers, each with recorded evidence.
import type { Arm, Comparison, EngineCause, PerfRun, WorkloadGpu } from "../../../../generated/result.ts";
import { median } from "../../../core/stats/quantile.ts";
import { equalClocks } from "../../../core/telemetry/conditions.ts";
import { formatBytes, formatPercent } from "../../../core/text/units.ts";

/** trtexec's own limit, as a share of the GPU's time. */
export const launchLimit = 0.8;
/** Above this share, TensorRT's fastest kernels lack workspace. */
const fullMemory = 0.95;

export interface MachineFacts {
	runs: readonly PerfRun[];
	gpu?: WorkloadGpu;
	memoryBytes?: number;
	cudaGraph: boolean;
	latency?: Pick<Comparison, "estimate">;
}

const arms = ["base", "head"] as const;

export function machineCauses(facts: MachineFacts): EngineCause[] {
	return [launchCause(facts), clockCause(facts), memoryCause(facts)].filter((cause) => cause !== null);
}

export function enqueueNotes(runs: readonly PerfRun[], { cudaGraph }: { cudaGraph: boolean }): string[] {
	const bound = arms.filter((arm) => isBound(runs, arm));
	if (bound.length === 0) return [];
	const whose = bound.length === 2 || runs.every((run) => run.arm === bound[0]) ? "" : ` in the ${bound[0]}`;
	const what = `Launching the kernels takes the CPU about as long as running them takes the GPU${whose}, so that the CPU's speed and noise are measured as well.`;
	return [`${what} ${launchAdvice(cudaGraph)}`];
}

const launchAdvice = (cudaGraph: boolean) =>
	cudaGraph
		? "Check that this engine runs as a CUDA graph, or time a larger batch."
		: "`measure.cuda-graph: true` launches them all at once.";

const usable = (runs: readonly PerfRun[], arm: Arm) =>
	runs.filter((run) => run.arm === arm && run.state === "ok");

function isBound(runs: readonly PerfRun[], arm: Arm) {
	const own = usable(runs, arm);
	return own.filter((run) => run.enqueueBound === true).length * 2 > own.length;
}

function launchCause({ runs, cudaGraph }: MachineFacts): EngineCause | null {
	if (!isBound(runs, "head")) return null;
	const evidence = arms.flatMap((arm) => {
		const shares = usable(runs, arm).flatMap(({ enqueueShare }) => enqueueShare ?? []);
		return shares.length === 0
			? []
			: [`${arm}: launching takes ${formatPercent(median(shares), { digits: 0 })} of the GPU's time`];
	});
	const says = `launch-bound${isBound(runs, "base") ? "" : ", which the base is not"}: the CPU launches kernels no faster than the GPU runs them`;
	return { kind: "launch-bound", says, evidence, try: launchAdvice(cudaGraph) };
}

function clockCause({ gpu, latency }: MachineFacts): EngineCause | null {
	const [from, to, estimate] = [
		gpu?.base?.smClockMhz ?? 0,
		gpu?.head?.smClockMhz ?? 0,
		latency?.estimate ?? 0,
	];
	const cycles = gpu?.cycles ?? null;
	if (
		from <= 0 ||
		to <= 0 ||
		cycles === null ||
		Math.abs(to / from - 1) <= equalClocks ||
		Math.abs(cycles) >= Math.abs(estimate)
	)
		return null;
	const reasons = (gpu?.head?.throttleReasons ?? []).filter(
		(reason) => gpu?.base?.throttleReasons.includes(reason) !== true,
	);
	return {
		kind: "clocks",
		says: `the GPU ran at ${Math.round(from)} MHz for the base and ${Math.round(to)} MHz for the head`,
		evidence: [
			`in the GPU's cycles the change is ${formatPercent(cycles, { sign: true })}`,
			...(reasons.length === 0 ? [] : [`limited in the head by ${reasons.slice(0, 4).join(", ")}`]),
		],
		try: "Lock the clocks (`nvidia-smi --lock-gpu-clocks`), or check the GPU's cooling and power limit.",
	};
}

function memoryCause({ runs, gpu, memoryBytes = 0 }: MachineFacts): EngineCause | null {
	const used = gpu?.head?.memoryUsedBytes ?? 0;
	if (memoryBytes <= 0 || used < fullMemory * memoryBytes) return null;
	const before = gpu?.base?.memoryUsedBytes ?? null;
	const others = Math.max(0, ...usable(runs, "head").map((run) => run.gpu?.otherMemoryBytes ?? 0));
	return {
		kind: "memory",
		says: `the GPU's memory was ${formatPercent(used / memoryBytes, { digits: 0 })} full in the head`,
		evidence: [
			`${formatBytes(used)} of ${formatBytes(memoryBytes)}${before === null ? "" : `; ${formatBytes(before)} in the base`}`,
			...(others === 0 ? [] : [`other processes held ${formatBytes(others)}`]),
		],
		try: "Free memory, or time a smaller batch or fewer streams: TensorRT chooses slower kernels where workspace is short.",
	};
}
