// Watches the GPU that engines run on, once it is known which; nothing is watched on a CPU.
import { noTelemetry } from "../../adapters/gpu/no-gpu.ts";
import { gpuTelemetry } from "../../adapters/gpu/sampler.ts";
import type { Processes } from "../../adapters/process/processes.ts";
import type { Clock, Telemetry } from "../../ports/world.ts";
import type { Machine } from "../choose-backend.ts";

export interface GpuWatchOptions {
	gpu(): Promise<Machine["gpu"]>;
	processes: Processes;
	clock: Clock;
	/** As in CUDA_VISIBLE_DEVICES. */
	device: string | undefined;
}

export function gpuWatch({ gpu, processes, clock, device }: GpuWatchOptions): Telemetry {
	let chosen = noTelemetry();
	return {
		async start() {
			if ((await gpu()) !== "none") {
				const smi = { argv: ["nvidia-smi"] as const, processes };
				chosen = gpuTelemetry({ smi, clock, ...(device === undefined ? {} : { device }) });
			}
			await chosen.start();
		},
		window: (fromMs, toMs) => chosen.window(fromMs, toMs),
		neighbours: (fromMs, toMs) => chosen.neighbours(fromMs, toMs),
		degradations: () => chosen.degradations(),
		stop: () => chosen.stop(),
	};
}
