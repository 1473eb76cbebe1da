// Bounds a profiler's table of kernels for the result.

import type { ArmKernels } from "../schema/result.ts";
import { shorten } from "../text/escape.ts";

export interface KernelFact {
	name: string;
	totalNs: number;
	instances: number;
}

const mostKernels = 100;
/** Templates spell out all their arguments. */
const mostNameChars = 400;

export function boundKernels(rows: readonly KernelFact[]): ArmKernels {
	const totalNs = rows.reduce((sum, row) => sum + Math.max(0, row.totalNs), 0);
	const kernels = [...rows]
		.sort((a, b) => b.totalNs - a.totalNs)
		.slice(0, mostKernels)
		.map((row) => ({
			name: shorten(row.name, mostNameChars),
			calls: Math.max(0, Math.round(row.instances)),
			totalMs: Math.max(0, row.totalNs) / 1e6,
			share: totalNs > 0 ? Math.max(0, row.totalNs) / totalNs : 0,
		}));
	return { count: rows.length, totalMs: totalNs / 1e6, kernels };
}
