import type { ArmKernels, ArmLayers, TimedLayer } from "../../generated/result.ts";

/** Milliseconds by layer's name. */
export function buildLayers(
	times: Readonly<Record<string, number>>,
	more: Readonly<Record<string, Partial<TimedLayer>>> = {},
): ArmLayers {
	const totalMs = Object.values(times).reduce((sum, ms) => sum + ms, 0);
	const layers = Object.entries(times).map(([name, meanMs]) => ({
		name,
		meanMs,
		share: totalMs > 0 ? meanMs / totalMs : 0,
		...more[name],
	}));
	return { iterations: 200, count: layers.length, totalMs, layers };
}

export function buildKernels(times: Readonly<Record<string, number>>): ArmKernels {
	const totalMs = Object.values(times).reduce((sum, ms) => sum + ms, 0);
	const kernels = Object.entries(times).map(([name, ms]) => ({
		name,
		calls: 50,
		totalMs: ms,
		share: ms / totalMs,
	}));
	return { count: kernels.length, totalMs, kernels };
}
