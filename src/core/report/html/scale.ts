// Maps values to coordinates, finds round ticks between two values, and labels ticks of time.
import { formatMs, formatPercent } from "../../text/units.ts";
import { at, html, type Piece } from "./markup.ts";

export interface Frame {
	width: number;
	left: number;
	right: number;
	top: number;
	bottom: number;
}

export interface Scale {
	from: number;
	to: number;
	/** The coordinate of a value; values outside stay on the edge. */
	place(value: number): number;
}

export function linearScale(domain: readonly [number, number], range: readonly [number, number]): Scale {
	const [from, to] = domain;
	const width = to - from;
	const place = (value: number) => {
		const share = width > 0 ? Math.min(1, Math.max(0, (value - from) / width)) : 0.5;
		return range[0] + share * (range[1] - range[0]);
	};
	return { from, to, place };
}

/** A step of 1, 2 or 5 times a power of ten, so that about `count` steps fill the width. */
function roundStep(width: number, count: number): number {
	const rough = width / count;
	const power = 10 ** Math.floor(Math.log10(rough));
	return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
}

export function roundTicks({ from, to }: Pick<Scale, "from" | "to">, count: number): number[] {
	const width = to - from;
	if (!(width > 0) || !Number.isFinite(width)) return [from];
	const step = roundStep(width, count);
	const first = Math.ceil(from / step - 1e-9);
	const last = Math.floor(to / step + 1e-9);
	// Multiples of the step, freed of the error of the multiplication.
	return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) =>
		Number(((first + index) * step).toPrecision(12)),
	);
}

/** The smallest and largest value with a margin on both sides; never of no width. */
export function paddedDomain(values: readonly number[], margin: number): [number, number] {
	const low = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY);
	const high = values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
	if (!(high >= low)) return [0, 1];
	const width = high - low || Math.abs(high) * 0.02 || 1;
	return [low - width * margin, high + width * margin];
}

interface TickLabels {
	labels: string[];
	unit: string;
}

/** As times, or as changes where times in four digits would look the same. */
export function timeLabels(ticksMs: readonly number[], referenceMs: number): TickLabels {
	const times = ticksMs.map(formatMs);
	if (new Set(times).size === times.length || referenceMs <= 0) return { labels: times, unit: "time" };
	const shares = ticksMs.map((tick) => formatPercent(tick / referenceMs - 1, { sign: true, digits: 2 }));
	return { labels: shares, unit: `change against ${formatMs(referenceMs)}` };
}

/** A line across the plot for each tick, with its label at the left. */
export function horizontalGrid(
	ticks: readonly number[],
	labels: readonly string[],
	y: Scale,
	{ left, right }: Frame,
): Piece {
	return ticks.map((tick, index) => {
		const level = at(y.place(tick));
		return html`<line class="grid" x1="${left}" x2="${right}" y1="${level}" y2="${level}"/><text class="tick" x="${left - 8}" y="${at(level + 4)}" text-anchor="end">${labels[index] ?? ""}</text>`;
	});
}
