// Stands in for telemetry where no GPU is measured.
import type { Telemetry } from "../../ports/world.ts";

export function noTelemetry(): Telemetry {
	return {
		start: () => Promise.resolve(),
		window: () => null,
		neighbours: () => [],
		degradations: () => [],
		stop: () => Promise.resolve(),
	};
}
