// The reasons that NVML gives for a GPU's clocks, and which of them spoil a measurement.

/** Bits of nvmlClocksEventReasons (NVML API reference, "Clocks Event Reasons"); bit 0x1 is idleness. */
const reasonBits: readonly (readonly [bigint, string])[] = [
	[0x2n, "applications-clocks"],
	[0x4n, "sw-power-cap"],
	[0x8n, "hw-slowdown"],
	[0x10n, "sync-boost"],
	[0x20n, "sw-thermal"],
	[0x40n, "hw-thermal"],
	[0x80n, "hw-power-brake"],
	[0x100n, "display-clocks"],
];

const idleBit = 0x1n;
const powerCapBit = 0x4n;
const known = reasonBits.reduce((mask, [bit]) => mask | bit, idleBit);

/**
 * Labels of those that make a run invalid. The power cap is not among them: a data-centre GPU in a large matrix
 * product is under it all the time (measured on an H200: 100 % of samples at 691 W of 700).
 */
const spoiling: ReadonlyMap<string, string> = new Map([
	["hw-slowdown", "a hardware slowdown"],
	["sw-thermal", "a thermal slowdown by the driver"],
	["hw-thermal", "a thermal slowdown by the hardware"],
	["hw-power-brake", "the power brake of the machine"],
]);

/** Names of the reasons in a mask, idleness left out; newer bits are shown as `bit-9`. */
export function reasonNames(mask: bigint): string[] {
	const names = reasonBits.filter(([bit]) => (mask & bit) !== 0n).map(([, name]) => name);
	const rest = BigInt.asUintN(64, mask & ~known);
	for (let index = 0n; index < 64n; index += 1n) if ((rest >> index) & 1n) names.push(`bit-${index}`);
	return names;
}

export function isIdle(mask: bigint | null): boolean {
	return mask !== null && (mask & idleBit) !== 0n;
}

export function isPowerCapped(mask: bigint | null): boolean {
	return mask !== null && (mask & powerCapBit) !== 0n;
}

/** The label of the reason that spoils a run; null where none does. */
export function spoilingReason(names: readonly string[]): string | null {
	for (const name of names) {
		const label = spoiling.get(name);
		if (label !== undefined) return label;
	}
	return null;
}
