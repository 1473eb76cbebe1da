// The world, as stages see it: every port together. Types only.
import type { Backend } from "./backend.ts";
import type { Clock, CustomCommands, Files, GpuLease, Interrupt, ModelReader, Progress, Shell, Telemetry, TensorReader } from "./world.ts";

export interface Ports {
	files: Files;
	models: ModelReader;
	tensors: TensorReader;
	backend: Backend;
	clock: Clock;
	shell: Shell;
	/** Absent where no command of the user's own may run. */
	custom?: CustomCommands;
	telemetry: Telemetry;
	gpuLease: GpuLease;
	progress: Progress;
	interrupt: Interrupt;
	/** Wall time so far during which a child process was at work, milliseconds. */
	childMs(): number;
}
