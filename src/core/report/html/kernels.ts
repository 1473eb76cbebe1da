// The table of kernels that a profiler saw, base and head side by side.
import type { Arm, TimedKernel, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatCount, formatMs, formatPercent } from "../../text/units.ts";
import { type Column, folded, html, moreText, type Piece, sortableTable } from "./markup.ts";

const maxRows = 30;

type KernelRow = { name: string } & Partial<Record<Arm, TimedKernel>>;

const figures = [
	["calls", "calls", formatCount],
	["total", "totalMs", formatMs],
	["share", "share", formatPercent],
] as const;

function armColumns(arm: Arm, before: string): Column<KernelRow>[] {
	return figures.map(([title, figure, format]) => ({
		title: `${before}${title}`,
		numeric: true,
		text: ({ [arm]: kernel }) => (kernel === undefined ? "–" : format(kernel[figure])),
		sortBy: (row) => row[arm]?.[figure] ?? null,
	}));
}

export function kernelsPart(workload: WorkloadResult): Piece {
	const { kernels } = workload;
	const arms = (["base", "head"] as const).filter((arm) => (kernels?.[arm]?.kernels.length ?? 0) > 0);
	if (kernels === undefined || arms.length === 0) return null;
	const found = new Map<string, KernelRow>();
	for (const arm of arms.toReversed())
		for (const kernel of kernels[arm]?.kernels ?? [])
			found.set(kernel.name, { ...(found.get(kernel.name) ?? { name: kernel.name }), [arm]: kernel });
	const longest = ({ base, head }: KernelRow) => Math.max(base?.totalMs ?? 0, head?.totalMs ?? 0);
	const rows = [...found.values()].sort((a, b) => longest(b) - longest(a));
	const columns: Column<KernelRow>[] = [
		{ title: "Kernel", heading: true, cell: ({ name }) => html`<code>${cleanName(name, 160)}</code>` },
		...arms.flatMap((arm) => armColumns(arm, arms.length > 1 ? `${arm} ` : "")),
	];
	const all = Math.max(...arms.map((arm) => kernels[arm]?.count ?? 0));
	return folded("Kernels by time, from Nsight Systems", [
		sortableTable(`kernels of ${subjectName(workload)}`, columns, rows.slice(0, maxRows)),
		moreText(Math.max(rows.length, all) - maxRows, "kernels"),
		html`<p class="legend">from a short run under nsys, which is slower than the timed runs; not used by any gate</p>`,
	]);
}
