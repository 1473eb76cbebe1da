// Chooses the one kernel that is worth a closer look.
import type { ArmKernels, WorkloadKernels } from "../schema/result.ts";

/** The kernel that took so much more time in the head than in the base; where nothing can be compared, the slowest. */
export function kernelOfInterest({ base, head }: WorkloadKernels): string | undefined {
	const slowest = (head ?? base)?.kernels[0]?.name;
	if (base === null || head === null) return slowest;
	const before = totals(base);
	const gains = [...totals(head)].map(([name, totalMs]) => ({ name, gainMs: totalMs - (before.get(name) ?? 0) }));
	const most = gains.reduce<(typeof gains)[number] | null>((best, one) => (best !== null && best.gainMs >= one.gainMs ? best : one), null);
	return most !== null && most.gainMs > 0 ? most.name : slowest;
}

function totals({ kernels }: ArmKernels): Map<string, number> {
	const sums = new Map<string, number>();
	for (const { name, totalMs } of kernels) sums.set(name, (sums.get(name) ?? 0) + totalMs);
	return sums;
}
