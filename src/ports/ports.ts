// The bundle of all ports.
import type { Backend } from "./backend.ts";
import type { Reference } from "./reference.ts";
import type {
	Clock,
	CustomCommands,
	Files,
	GpuLease,
	Interrupt,
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
	/** Absent if deviating tensors cannot be searched for. */
	reference?: Pick<Reference, "builds" | "run" | "mark">;
	/** Absent if nothing is reused. */
	keptVerdicts?: KeptVerdicts;
	clock: Clock;
	shell: Shell;
	/** Absent if no user's command may run. */
	custom?: CustomCommands;
	telemetry: Telemetry;
	gpuLease: GpuLease;
	progress: Progress;
	interrupt: Interrupt;
	/** Wall time during which a child process ran. */
	childMs(): number;
}
