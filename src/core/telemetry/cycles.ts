// Restates a change in time as a change in GPU clock cycles, which a difference in clocks cannot feign.

interface Clocked {
	smClockMhz: number | null;
}

/** The change in time × SM clock, a fraction of the base, from `ratio`, the change in time; null where a part is not known. */
export function inCycles(base: Clocked | null, head: Clocked | null, ratio: number | null): number | null {
	const [from, to] = [base?.smClockMhz ?? 0, head?.smClockMhz ?? 0];
	if (ratio === null || !(from > 0) || !(to > 0)) return null;
	return (1 + ratio) * (to / from) - 1;
}
