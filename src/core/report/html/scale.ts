export interface Scale {
	from: number;
	to: number;
	place(value: number): number;
}

export function linearScale(domain: readonly [number, number], range: readonly [number, number]): Scale {
	const [from, to] = domain;
	const width = to - from;
	const place = (value: number) => {
		const share = width > 0 ? Math.min(1, Math.max(0, (value - from) / width)) : 0.5;
		return range[0] + share * (range[1] - range[0]);
	};
	return { from, to, place };
}

/** A step of 1, 2 or 5 times a power of ten, so that about `count` steps fill the width. */
function roundStep(width: number, count: number): number {
	const rough = width / count;
	const power = 10 ** Math.floor(Math.log10(rough));
	return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
}

export function roundTicks({ from, to }: Pick<Scale, "from" | "to">, count: number): number[] {
	const width = to - from;
	if (!(width > 0) || !Number.isFinite(width)) return [from];
	const step = roundStep(width, count);
	const first = Math.ceil(from / step - 1e-9);
	const last = Math.floor(to / step + 1e-9);
	// Multiples of the step, freed of the error of the multiplication.
	return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
		Number(((first + index) * step).toPrecision(12)),
	);
}
