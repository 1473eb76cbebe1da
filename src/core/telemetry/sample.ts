// One reading of a GPU. Times are on the Clock port's scale.

/** One reading, about ten a second; null where the GPU or its driver does not report it. */
export interface TelemetrySample {
	atMs: number;
	smClockMhz: number | null;
	memoryClockMhz: number | null;
	powerW: number | null;
	temperatureC: number | null;
	memoryUsedBytes: number | null;
	/** Share of time in which any kernel ran, 0 to 1. */
	kernelTime: number | null;
	/** Share of time in which memory was touched, 0 to 1. */
	memoryTime: number | null;
	eventReasons: bigint | null;
}

/** The hardware counters over the time since the previous reading, fractions from 0 to 1. */
export interface UseSample {
	atMs: number;
	smUtilisation: number | null;
	memoryBandwidth: number | null;
	smOccupancy: number | null;
	tensorActivity: number | null;
}

export interface ProcessSample {
	atMs: number;
	processes: readonly GpuProcess[];
}

export interface GpuProcess {
	pid: number | null;
	name: string;
	memoryBytes: number | null;
	/** resident: not ours, but here and idle before we began. */
	owner: "ours" | "resident" | "foreign" | "unknown";
}

export interface GpuTrace {
	samples: readonly TelemetrySample[];
	use: readonly UseSample[];
	processes: readonly ProcessSample[];
	source?: "nvidia-smi" | "tegrastats";
}
