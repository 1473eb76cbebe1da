// Gates of sweeps: every gate of a workload, at the size where it is worst.
import type { GateResult, GateStatus, SweepResult } from "../../../generated/result.ts";
import { groupBy } from "../group.ts";
import { cleanName } from "../text/escape.ts";
import { counted } from "../text/labels.ts";
import { judgeWorkload } from "./figures.ts";

const order: readonly GateStatus[] = ["error", "fail", "inconclusive", "warn", "pass"];

export function judgeSweep(
	{ dim, points }: SweepResult,
	...[level, around]: [Parameters<typeof judgeWorkload>[1], Parameters<typeof judgeWorkload>[2]]
): GateResult[] {
	const judged = points.flatMap(({ size, row }) =>
		judgeWorkload(row, level, around).map((result) => ({
			result,
			size,
			change: row.latency.estimate ?? -Infinity,
		})),
	);
	return [...groupBy(judged, ({ result }) => result.gate).values()].flatMap((group) => {
		const [worst] = group.toSorted(
			(a, b) => order.indexOf(a.result.status) - order.indexOf(b.result.status) || b.change - a.change,
		);
		if (worst === undefined) return [];
		const of = group.length > 1 ? `Worst of ${counted(group.length, "size")}, ` : "";
		const message = `${of}${cleanName(dim)} ${worst.size}: ${worst.result.message}`;
		return [{ ...worst.result, message }];
	});
}
