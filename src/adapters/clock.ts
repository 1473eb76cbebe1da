// The machine's clock: monotonic milliseconds and UTC timestamps.
import type { Clock } from "../ports/world.ts";

export function systemClock(): Clock {
	return { now: () => performance.now(), timestamp: () => new Date().toISOString() };
}

export function everyMs(periodMs: number): (tick: () => void) => void {
	return (tick) => {
		setInterval(tick, periodMs).unref();
	};
}
