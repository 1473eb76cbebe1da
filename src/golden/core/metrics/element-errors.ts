// Metrics of single elements' errors: relative L2, largest difference, allclose, PSNR.
import { normRatio, type Pair } from "../compare/difference.ts";
import type { Measured, MetricOptions } from "./measured.ts";

/** ‖got − expected‖ / ‖expected‖ in binary64 (numpy: `norm(c - g) / norm(g)`). For a golden of zeros: 0 or infinite. */
export function relativeL2(pair: Pair): Measured {
	const { differenceNorm, expectedNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	return { value: maxAbs === 0 ? 0 : normRatio(differenceNorm, expectedNorm), elements, worstAt: maxAbsAt };
}

/** max |got − expected|, at the lowest flat index that has it (numpy: `argmax(abs(c - g))`). */
export function maxAbs(pair: Pair): Measured {
	const difference = pair.difference();
	return { value: difference.maxAbs, elements: difference.elements, worstAt: difference.maxAbsAt };
}

/** #{not (|got − expected| ≤ atol + rtol · |expected|)} / n, as in numpy.isclose(got, expected). */
export function allclose(pair: Pair, options: MetricOptions): Measured {
	const { outside, elements, maxAbsAt } = pair.difference(options);
	const detail = outside === 0 ? undefined : `${outside} of ${elements} elements are out of tolerance`;
	return { value: outside / elements, elements, worstAt: maxAbsAt, ...(detail ? { detail } : {}) };
}

/**
 * 10 · log10(R² / MSE) in dB, R the data range (skimage: `peak_signal_noise_ratio(g, c, data_range=R)`). Infinite if
 * nothing differs; pairs that are not finite are left out.
 */
export function psnr(pair: Pair, { dataRange }: MetricOptions): Measured {
	const { differenceNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	// Logarithms are subtracted because the ratio may leave binary64.
	const logOfError = Math.log10(differenceNorm.sumSquared / elements) / 2 - Math.log10(differenceNorm.scale);
	let value = 20 * (Math.log10(dataRange) - logOfError);
	if (maxAbs === 0) value = Number.POSITIVE_INFINITY;
	if (elements === 0) value = Number.NaN;
	return { value, elements, worstAt: maxAbsAt, detail: `data range ${Number(dataRange.toPrecision(6))}` };
}
