// The table of kernels that a profiler saw, base and head side by side.
import type { TimedKernel, WorkloadKernels, WorkloadResult } from "../../../../generated/result.ts";
import { cleanName } from "../../text/escape.ts";
import { subjectName } from "../../text/labels.ts";
import { formatCount, formatMs, formatPercent } from "../../text/units.ts";
import { type Column, folded, html, moreText, type Piece, sortableTable } from "./markup.ts";

const maxRows = 30;

interface KernelRow {
	name: string;
	base: TimedKernel | null;
	head: TimedKernel | null;
}

function rowsOf({ base, head }: WorkloadKernels): KernelRow[] {
	const rows = new Map<string, KernelRow>();
	for (const [arm, kernels] of [
		["head", head],
		["base", base],
	] as const) {
		for (const kernel of kernels?.kernels ?? []) {
			rows.set(kernel.name, {
				...(rows.get(kernel.name) ?? { name: kernel.name, base: null, head: null }),
				[arm]: kernel,
			});
		}
	}
	const longest = ({ base: one, head: other }: KernelRow): number =>
		Math.max(one?.totalMs ?? 0, other?.totalMs ?? 0);
	return [...rows.values()].sort((a, b) => longest(b) - longest(a));
}

function armColumns(arm: "base" | "head", title: string): Column<KernelRow>[] {
	const figure = (
		name: string,
		show: (kernel: TimedKernel) => string,
		of: (kernel: TimedKernel) => number,
	): Column<KernelRow> => ({
		title: `${title}${name}`,
		numeric: true,
		cell: (row) => {
			const kernel = row[arm];
			return kernel === null ? "–" : show(kernel);
		},
		sortBy: (row) => {
			const kernel = row[arm];
			return kernel === null ? null : of(kernel);
		},
	});
	return [
		figure(
			"calls",
			({ calls }) => formatCount(calls),
			({ calls }) => calls,
		),
		figure(
			"total",
			({ totalMs }) => formatMs(totalMs),
			({ totalMs }) => totalMs,
		),
		figure(
			"share",
			({ share }) => formatPercent(share),
			({ share }) => share,
		),
	];
}

/** Folded; null where no kernel was seen. */
export function kernelsPart(workload: WorkloadResult): Piece {
	const { kernels } = workload;
	const arms = (["base", "head"] as const).filter((arm) => (kernels?.[arm]?.kernels.length ?? 0) > 0);
	if (kernels === undefined || arms.length === 0) return null;
	const rows = rowsOf(kernels);
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
