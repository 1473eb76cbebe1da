// Selects kernels for the result.
import type { ArmKernels, WorkloadKernels } from "../../../../generated/result.ts";
import { shorten } from "../../../core/text/escape.ts";

export interface KernelFact {
	name: string;
	totalNs: number;
	instances: number;
}

const maxKernels = 100;
const maxNameChars = 400;

export function boundKernels(rows: readonly KernelFact[]): ArmKernels {
	const totalNs = rows.reduce((sum, row) => sum + Math.max(0, row.totalNs), 0);
	const kernels = [...rows]
		.sort((a, b) => b.totalNs - a.totalNs)
		.slice(0, maxKernels)
		.map((row) => ({
			name: shorten(row.name, maxNameChars),
			calls: Math.max(0, Math.round(row.instances)),
			totalMs: Math.max(0, row.totalNs) / 1e6,
			share: totalNs > 0 ? Math.max(0, row.totalNs) / totalNs : 0,
		}));
	return { count: rows.length, totalMs: totalNs / 1e6, kernels };
}

/** The kernel whose time grew most; if nothing can be compared, the slowest. */
export function kernelOfInterest({ base, head }: WorkloadKernels): string | undefined {
	const slowest = (head ?? base)?.kernels[0]?.name;
	if (base === null || head === null) return slowest;
	const before = totals(base);
	const [most] = [...totals(head)]
		.map(([name, totalMs]) => ({ name, gainMs: totalMs - (before.get(name) ?? 0) }))
		.sort((a, b) => b.gainMs - a.gainMs);
	return most !== undefined && most.gainMs > 0 ? most.name : slowest;
}

function totals({ kernels }: ArmKernels) {
	const sums = new Map<string, number>();
	for (const { name, totalMs } of kernels) sums.set(name, (sums.get(name) ?? 0) + totalMs);
	return sums;
}
