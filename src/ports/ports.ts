// All ports together, as app composes them. Types only.
import type { Backend } from "./backend.ts";
import type { Reference } from "./reference.ts";
import type {
	Clock,
	CustomCommands,
	Files,
	GpuLease,
	Interrupt,
	KeptTimes,
	KeptVerdicts,
	ModelReader,
	Progress,
	Shell,
	Telemetry,
	TensorReader,
} from "./world.ts";

export interface Ports {
	files: Files;
	models: ModelReader;
	tensors: TensorReader;
	backend: Backend;
	/** Absent where no search for the tensor that deviates is possible. */
	reference?: Pick<Reference, "builds" | "run" | "mark">;
	/** Absent where nothing is taken over from earlier runs. */
	keptVerdicts?: KeptVerdicts;
	keptTimes?: KeptTimes;
	clock: Clock;
	shell: Shell;
	/** Absent where no command of the user may run. */
	custom?: CustomCommands;
	telemetry: Telemetry;
	gpuLease: GpuLease;
	progress: Progress;
	interrupt: Interrupt;
	/** Wall time so far with a child process running, in milliseconds. */
	childMs(): number;
}
