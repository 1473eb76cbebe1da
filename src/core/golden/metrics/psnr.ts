// Peak signal-to-noise ratio of an image.
import type { Pair } from "../compare/difference.ts";
import type { Measured, Question } from "./measured.ts";

/**
 * 10 · log10(R² / MSE) in dB, R the range of the data (skimage: `peak_signal_noise_ratio(g, c, data_range=R)`).
 * Infinite where nothing differs. Pairs that are not finite are left out.
 */
export function psnr(pair: Pair, question: Question): Measured {
	const { differenceNorm, elements, maxAbs, maxAbsAt } = pair.difference();
	// Logarithms are subtracted, because the ratio may leave binary64.
	const logOfError = Math.log10(differenceNorm.sumSquared / elements) / 2 - Math.log10(differenceNorm.scale);
	const value = elements === 0 ? Number.NaN : 20 * (Math.log10(question.dataRange) - logOfError);
	const same = maxAbs === 0 && elements > 0;
	const detail = `data range ${Number(question.dataRange.toPrecision(6))}`;
	return { value: same ? Number.POSITIVE_INFINITY : value, elements, worstAt: maxAbsAt, detail };
}
