// The distribution of all iterations of both sides: shown, never tested.
import type { WorkloadResult } from "../../../../generated/result.ts";
import { subjectName } from "../../text/labels.ts";
import { at, html, type Markup } from "./markup.ts";
import { linearScale, roundTicks, timeLabels } from "./scale.ts";

const size = { width: 640, height: 220, left: 20, right: 620, top: 14, bottom: 182 } as const;
/** More bins than a plot of this width can show. */
const maxBins = 1000;

function merged(counts: readonly number[], by: number): number[] {
	return Array.from({ length: Math.ceil(counts.length / by) }, (_, bin) =>
		counts.slice(bin * by, (bin + 1) * by).reduce((sum, count) => sum + count, 0),
	);
}

/** Widths of the stretches of all but empty bins that have full bins at both sides. */
function gapWidths(counts: readonly number[]): number[] {
	const tallest = Math.max(...counts);
	const widths: number[] = [];
	let width: number | null = null;
	for (const count of counts) {
		if (count > tallest * 0.1) {
			if (width !== null && width > 0) widths.push(width);
			width = 0;
		} else if (count < tallest * 0.02) width = width === null ? null : width + 1;
		else width = null;
	}
	return widths;
}

/** Bins narrower than the clock's tick draw a comb that is not there: one isolated empty bin shows it, or several wider gaps. */
function isComb(counts: readonly number[]): boolean {
	const gaps = gapWidths(counts);
	return gaps.includes(1) || gaps.length > 2;
}

/** Bins wide enough to hold at least one tick of the clock each. */
function mergeWidth(arms: readonly (readonly number[])[]): number {
	const widths = [1, 2, 3, 4, 5, 6].filter((by) => arms.every((counts) => counts.length / by >= 8));
	return widths.find((by) => !arms.some((counts) => isComb(merged(counts, by)))) ?? widths.at(-1) ?? 1;
}

function area(counts: readonly number[], arm: "base" | "head", tallest: number): Markup {
	const total = counts.reduce((sum, count) => sum + count, 0);
	const y = linearScale([0, tallest], [size.bottom, size.top]);
	const step = (size.right - size.left) / counts.length;
	const points = counts.map(
		(count, bin) => `${at(size.left + (bin + 0.5) * step)},${at(y.place(total === 0 ? 0 : count / total))}`,
	);
	return html`<polygon class="area ${arm}" points="${size.left},${size.bottom} ${points.join(" ")} ${size.right},${size.bottom}"/>`;
}

function tallestShare(arms: readonly (readonly number[])[]): number {
	const shares = arms.map(
		(counts) =>
			Math.max(...counts) /
			Math.max(
				1,
				counts.reduce((sum, count) => sum + count, 0),
			),
	);
	return Math.max(...shares, 1e-9);
}

/** Null where nothing was kept. */
export function drawDistribution(workload: WorkloadResult): Markup | null {
	const found = workload.distribution;
	if (found === null || found.base.length === 0 || found.base.length > maxBins || found.head.length > maxBins)
		return null;
	if (found.base.length !== found.head.length && found.head.length > 0) return null;
	const given = [found.base, found.head].filter((counts) => counts.some((count) => count > 0));
	if (given.length === 0) return null;
	const by = mergeWidth(given);
	const [base, head] = [merged(found.base, by), merged(found.head, by)];
	const tallest = tallestShare([base, head].filter((counts) => counts.length > 0));
	const x = linearScale([found.fromMs, found.toMs], [size.left, size.right]);
	const ticks = roundTicks(x, 5);
	const { labels } = timeLabels(ticks, workload.base?.medianMs ?? found.fromMs);
	const marks = ticks.map((tick, index) => {
		const place = at(x.place(tick));
		return html`<line class="grid" x1="${place}" x2="${place}" y1="${size.bottom}" y2="${size.bottom + 5}"/><text class="tick" x="${place}" y="${size.bottom + 19}" text-anchor="middle">${labels[index] ?? ""}</text>`;
	});
	const label = `distribution of all iterations of ${subjectName(workload)}, base and head`;
	return html`<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}"><title>${label}</title>${area(base, "base", tallest)}${head.length === 0 ? null : area(head, "head", tallest)}<line class="zero" x1="${size.left}" x2="${size.right}" y1="${size.bottom}" y2="${size.bottom}"/>${marks}</svg>`;
}
