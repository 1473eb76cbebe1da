// The bundle of all ports.
import type { Backend } from "./backend.ts";
import type { Reference } from "./reference.ts";
import type {
	CalibrationFinder,
	Clock,
	CustomCommands,
	Files,
	GpuLease,
	Interrupt,
	KeptVerdicts,
	ModelReader,
	PatternReader,
	Progress,
	Shell,
	Telemetry,
	TensorReader,
} from "./world.ts";

export interface Ports {
	files: Files;
	models: ModelReader & PatternReader;
	tensors: TensorReader;
	calibrationData: CalibrationFinder;
	backend: Backend;
	/** Absent if deviating tensors cannot be searched for. */
	reference?: Pick<Reference, "builds" | "run" | "mark">;
	keptVerdicts?: KeptVerdicts;
	clock: Clock;
	shell: Shell;
	custom?: CustomCommands;
	telemetry: Telemetry;
	gpuLease: GpuLease;
	progress: Progress;
	interrupt: Interrupt;
	childMs(): number;
}
