// Where a limit goes between the noise and what a wrong weight does.

/** Never nearer to the noise than this, or goldens would fail by luck. */
const leastRoom = 1.5;

/** Half of what the change does, unless that is too near to the noise. null: nothing would notice it, safely. */
export function limitBetween(change: number, floor: number): number | null {
	const limit = Math.max(change / 2, leastRoom * floor);
	return limit < change ? roundDown(limit) : null;
}

/** Two digits. */
function roundDown(value: number): number {
	if (!(value > 0) || !Number.isFinite(value)) return 0;
	const step = 10 ** (Math.floor(Math.log10(value)) - 1);
	return Number((Math.floor(value / step + 1e-9) * step).toPrecision(2));
}
