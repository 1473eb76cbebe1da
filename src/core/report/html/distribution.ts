// The distribution of all iterations of both sides: shown, never tested.
import type { WorkloadResult } from "../../../../generated/result.ts";
import { subjectName } from "../../text/labels.ts";
import { at, drawing, html, type Markup } from "./markup.ts";
import { linearScale, roundTicks, timeLabels } from "./scale.ts";

const size = { width: 640, height: 220, left: 20, right: 620, top: 14, bottom: 182 } as const;
/** More bins than a plot of this width can show. */
const maxBins = 1000;

type Counts = readonly number[];

function sum(counts: Counts): number {
	return counts.reduce((total, count) => total + count, 0);
}

function merged(counts: Counts, by: number): number[] {
	return Array.from({ length: Math.ceil(counts.length / by) }, (_, bin) =>
		sum(counts.slice(bin * by, (bin + 1) * by)),
	);
}

/**
 * Bins narrower than the clock's tick draw a comb that is not there: stretches of all but empty bins with full bins at
 * both sides. One isolated empty bin shows it, or several wider gaps.
 */
function isComb(counts: Counts): boolean {
	const tallest = Math.max(...counts);
	const gaps: number[] = [];
	let width: number | null = null;
	for (const count of counts) {
		if (count > tallest * 0.1) {
			if (width !== null && width > 0) gaps.push(width);
			width = 0;
		} else if (count < tallest * 0.02) width = width === null ? null : width + 1;
		else width = null;
	}
	return gaps.includes(1) || gaps.length > 2;
}

/** Bins wide enough to hold at least one tick of the clock each. */
function mergeWidth(arms: readonly Counts[]): number {
	const widths = [1, 2, 3, 4, 5, 6].filter((by) => arms.every((counts) => counts.length / by >= 8));
	return widths.find((by) => !arms.some((counts) => isComb(merged(counts, by)))) ?? widths.at(-1) ?? 1;
}

function area(counts: Counts, arm: "base" | "head", tallest: number): Markup {
	const total = sum(counts) || 1;
	const y = linearScale([0, tallest], [size.bottom, size.top]);
	const step = (size.right - size.left) / counts.length;
	const points = counts.map(
		(count, bin) => `${at(size.left + (bin + 0.5) * step)},${at(y.place(count / total))}`,
	);
	return html`<polygon class="area ${arm}" points="${size.left},${size.bottom} ${points.join(" ")} ${size.right},${size.bottom}"/>`;
}

export function drawDistribution(workload: WorkloadResult): Markup | null {
	const { base = [], head = [], fromMs = 0, toMs = 0 } = workload.distribution ?? {};
	const hasBothSizes = head.length === 0 || head.length === base.length;
	const given = [base, head].filter((counts) => counts.some((count) => count > 0));
	if (given.length === 0 || base.length === 0 || base.length > maxBins || !hasBothSizes) return null;
	const by = mergeWidth(given);
	const drawn = [base, head].map((counts) => merged(counts, by));
	const shares = drawn.map((counts) => Math.max(0, ...counts) / Math.max(1, sum(counts)));
	const tallest = Math.max(...shares, 1e-9);
	const x = linearScale([fromMs, toMs], [size.left, size.right]);
	const ticks = roundTicks(x, 5);
	const { labels } = timeLabels(ticks, workload.base?.medianMs ?? fromMs);
	const marks = ticks.map((tick, index) => {
		const place = at(x.place(tick));
		return html`<line class="grid" x1="${place}" x2="${place}" y1="${size.bottom}" y2="${size.bottom + 5}"/><text class="tick" x="${place}" y="${size.bottom + 19}" text-anchor="middle">${labels[index] ?? ""}</text>`;
	});
	return drawing(size, `distribution of all iterations of ${subjectName(workload)}, base and head`, [
		drawn.map((counts, index) =>
			counts.length === 0 ? null : area(counts, index === 0 ? "base" : "head", tallest),
		),
		html`<line class="zero" x1="${size.left}" x2="${size.right}" y1="${size.bottom}" y2="${size.bottom}"/>`,
		marks,
	]);
}
