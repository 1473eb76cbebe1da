// Readings of a GPU; times are those of the Clock port.
/** About ten a second; null if not reported. */
export interface TelemetrySample {
	atMs: number;
	smClockMhz: number | null;
	memoryClockMhz: number | null;
	powerW: number | null;
	temperatureC: number | null;
	memoryUsedBytes: number | null;
	kernelTime: number | null;
	memoryTime: number | null;
	eventReasons: bigint | null;
}

/** Hardware counters since the previous reading, 0 to 1. */
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
	/** resident: there and idle before we began. */
	owner: "ours" | "resident" | "foreign" | "unknown";
}

export interface GpuTrace {
	samples: readonly TelemetrySample[];
	use: readonly UseSample[];
	processes: readonly ProcessSample[];
	source?: "nvidia-smi" | "tegrastats";
}
