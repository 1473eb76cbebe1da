import fc from "fast-check";

/** @param fromEnd changes mostly bytes near the end, where archives have their directory. */
export function damaged(seeds: readonly Uint8Array[], fromEnd = false) {
	const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
	return fc
		.tuple(fc.nat(seeds.length - 1), fc.array(change, { maxLength: 4 }), fc.nat(64))
		.map(([which, changes, cut]) => {
			const bytes = (seeds[which] ?? new Uint8Array()).slice(0, -cut || undefined);
			for (const [place, byte] of changes) {
				const at = place % Math.max(1, bytes.length);
				bytes[fromEnd ? bytes.length - 1 - at : at] = byte;
			}
			return { which, bytes };
		});
}
