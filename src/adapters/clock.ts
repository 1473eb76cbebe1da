// The machine's clock: monotonic milliseconds and UTC timestamps.
import type { Clock } from "../ports/world.ts";

export function systemClock(): Clock {
	return { now: () => performance.now(), timestamp: () => new Date().toISOString() };
}
