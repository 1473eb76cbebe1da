// What each figure's noise and changes are at least.
import type { Metric } from "./series.ts";

export interface MetricRules {
	/** Noise that is believed at least. */
	minSd: number;
	/** Smallest change that an alarm is worth. */
	minSize: number;
	/** Pairs can be measured again; other figures hardly scatter, and must only persist. */
	confirms: boolean;
}

export const rules: Readonly<Record<Metric, MetricRules>> = {
	latency: { minSd: 2e-4, minSize: 5e-4, confirms: true },
	control: { minSd: 2e-4, minSize: 5e-4, confirms: true },
	memory: { minSd: 2e-3, minSize: 5e-3, confirms: false },
	size: { minSd: 1e-3, minSize: 5e-3, confirms: false },
	// Another choice of kernels moves an error by some percent.
	error: { minSd: 2e-2, minSize: 5e-2, confirms: false },
};
